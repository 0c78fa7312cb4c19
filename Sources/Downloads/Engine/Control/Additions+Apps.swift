internal import AssetModel
internal import Basics

/// Updates of apps.
extension Additions {
  /// Open jobs of an app as the journal has them, those included whose addition was asked for before this.
  func openJobs(of app: String, _ reply: EngineReply<[JobRecord]>) {
    guard !engine.isClosing else { return reply.refuse() }
    let mailbox = mailbox
    engine.outstanding += 1
    let open: @Sendable (any DownloadJournal) throws -> [JobRecord] = { journal in
      var ids: [JobID] = []
      // Equal to the byte: canonically equivalent names are different apps.
      try journal.forEachOpenJob { if $0.app.utf8.elementsEqual(app.utf8) { ids.append($0.id) } }
      return try journal.jobs(ids)
    }
    // It comes back after what follows from every addition before it.
    journal.read(open) { mailbox.post(.control(.openJobsRead($0, reply))) }
  }

  func openJobsRead(_ result: Result<[JobRecord], any Error>, _ reply: EngineReply<[JobRecord]>) {
    engine.outstanding -= 1
    reply.answer(result)
  }

  /// What puts `specification` in the place of an open job and lets it go on with the bytes that are there, which a digest
  /// proves to be the same file's. A running job makes them durable first. nil: the engine is closing.
  func supersession(
    _ specification: DownloadSpecification, isRenewed: Bool, _ reply: EngineReply<AddResult>
  ) -> Supersession? {
    guard !engine.isClosing else {
      reply.refuse()
      return nil
    }
    engine.outstanding += 1
    let request = engine.number()
    replies[request] = reply
    return Supersession(specification: specification, request: request, isRenewed: isRenewed)
  }

  func reply(to supersession: Supersession, _ result: Result<AddResult, any Error>) {
    engine.outstanding -= 1
    replies.removeValue(forKey: supersession.request)?.answer(result)
  }

  func add(_ supersession: Supersession, inheriting partial: Partial?) {
    let (mailbox, moment) = (mailbox, clock.now)
    journal.add([supersession.specification], now: moment) {
      mailbox.post(.control(.superseded(supersession, inheriting: partial, moment, $0)))
    }
  }

  func superseded(
    _ supersession: Supersession, inheriting partial: Partial?, _ moment: StoredMoment,
    _ result: Result<[AddResult], any Error>
  ) {
    switch result {
    case .failure(let error): reply(to: supersession, .failure(error))
    case .success(let results):
      guard let first = results.first else { return reply(to: supersession, .failure(EngineClosed())) }
      guard case .added(let id, let generation) = first else { return reply(to: supersession, .success(first)) }
      let record = JobRecord(
        id: id, specification: supersession.specification, generation: generation, enqueued: moment)
      inherit(partial, record, for: supersession)
    }
  }

  private func inherit(_ partial: Partial?, _ record: JobRecord, for supersession: Supersession) {
    var record = record
    record.partial = partial
    let (inherited, mailbox) = (record, mailbox)
    journal.commit([.job(inherited)]) { failure in
      mailbox.post(.control(.inherited(inherited, supersession, failure)))
    }
  }

  func inherited(_ record: JobRecord, for supersession: Supersession, _ failure: (any Error)?) {
    // Without it the new job starts from the first byte, or finds chunks by their digests.
    if let failure { events.send(.note(record.id, "nothing was taken over: \(failure)")) }
    engine.scheduler.enqueue(engine.entry(of: record), now: clock.boot)
    engine.needsSchedule = true
    reply(to: supersession, .success(.added(record.id, generation: record.generation)))
  }
}
