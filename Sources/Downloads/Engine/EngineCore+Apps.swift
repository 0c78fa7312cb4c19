public import AssetModel

/// An app is removed or updated while its downloads are under way.
extension EngineCore {
  /// Open jobs of an app as the journal has them, those included whose addition was asked for before this.
  func openJobs(of app: String, _ completion: @escaping @Sendable (Result<[JobRecord], any Error>) -> Void) {
    guard !isClosing else { return completion(.failure(EngineClosed())) }
    let mailbox = mailbox
    outstanding += 1
    // Adding nothing waits its turn behind every other addition, and comes back after what follows from those.
    journal.add([], now: clock.now) { _ in
      mailbox.post { core in
        core.outstanding -= 1
        completion(
          Result {
            var ids: [JobID] = []
            // Equal to the byte: canonically equivalent names are different apps.
            try core.journal.journal.forEachOpenJob { if $0.app.utf8.elementsEqual(app.utf8) { ids.append($0.id) } }
            return try ids.compactMap { try core.journal.journal.job($0) }
          })
      }
    }
  }

  /// Puts `specification` in the place of an open job and lets it go on with the bytes that are there, which a digest
  /// proves to be the same file's. A running job makes them durable first.
  func supersede(
    _ id: JobID, with specification: DownloadSpecification,
    _ completion: @escaping @Sendable (Result<AddResult, any Error>) -> Void
  ) {
    outstanding += 1
    let request = number()
    replies[request] = completion
    perform(.supersede(Supersession(specification: specification, request: request)), on: id)
  }

  func reply(to supersession: Supersession, _ result: Result<AddResult, any Error>) {
    outstanding -= 1
    replies.removeValue(forKey: supersession.request)?(result)
  }

  /// For a job without an activation.
  func takeOver(_ id: JobID, _ supersession: Supersession) {
    let specification = supersession.specification
    guard !isClosing else { return reply(to: supersession, .failure(EngineClosed())) }
    let record: JobRecord
    do {
      guard let found = try currentRecord(id), !found.state.isSettled, found.state != .verified else {
        return add(supersession, inheriting: nil)
      }
      record = found
    } catch {
      return reply(to: supersession, .failure(error))
    }
    let inherited = record.specification.provesTheSame(as: specification) ? record.partial : nil
    let update = pendingUpdates[id]
    forget(id)
    committing[id] = CommandQueue()
    let commit: @Sendable (EngineCore) -> Void = { core in
      let mailbox = core.mailbox
      var changed = record
      changed.state = .cancelled
      core.journal.commit([.job(changed)]) { failure in
        mailbox.post { core in
          let commands = core.committing.removeValue(forKey: id) ?? CommandQueue()
          if let failure {
            core.holdForJournal(core.entry(of: record), failure)
            core.pendingUpdates[id] = update
            core.reply(to: supersession, .failure(failure))
          } else {
            core.events.send(.cancelled(id))
            core.add(supersession, inheriting: inherited)
          }
          core.perform(commands, on: id)
        }
      }
    }
    if inherited == nil { removeStaging(of: record, commit) } else { commit(self) }
  }

  private func add(_ supersession: Supersession, inheriting partial: Partial?) {
    let mailbox = mailbox
    let moment = clock.now
    let specification = supersession.specification
    journal.add([specification], now: moment) { result in
      mailbox.post { core in
        switch result {
        case .failure(let error): core.reply(to: supersession, .failure(error))
        case .success(let results):
          guard let first = results.first else { return core.reply(to: supersession, .failure(EngineClosed())) }
          guard case .added(let id, let generation) = first else {
            return core.reply(to: supersession, .success(first))
          }
          let record = JobRecord(id: id, specification: specification, generation: generation, enqueued: moment)
          core.inherit(partial, record) { $0.reply(to: supersession, .success(first)) }
        }
      }
    }
  }

  private func inherit(
    _ partial: Partial?, _ record: JobRecord, _ completion: @escaping @Sendable (EngineCore) -> Void
  ) {
    var record = record
    let mailbox = mailbox
    if var partial {
      // Validators belong to the old address; the digest is what identifies the file.
      partial.entity = Entity(
        total: partial.entity.total, coding: partial.entity.coding, finalURL: record.specification.url)
      record.partial = partial
    }
    let inherited = record
    journal.commit([.job(inherited)]) { failure in
      mailbox.post { core in
        // Without it the new job starts from the first byte, or finds chunks by their digests.
        if let failure { core.events.send(.note(inherited.id, "nothing was taken over: \(failure)")) }
        core.scheduler.enqueue(core.entry(of: inherited), now: core.clock.boot)
        core.needsSchedule = true
        completion(core)
      }
    }
  }
}

extension DownloadEngine {
  /// The app is gone: every open download of it is cancelled, and its partial files are removed. Returns which those are;
  /// each is told as `cancelled`. One that is being published at this moment finishes, and belongs to the store.
  @discardableResult
  public func cancelAll(app: String) async throws -> [JobID] {
    let jobs = try await openJobs(of: app)
    for job in jobs { cancel(job.id) }
    return jobs.map(\.id)
  }

  /// The app is another version now and wants exactly these: what asks for the same goes on untouched; what has another
  /// address but the same digest goes on with the bytes that are there; everything else of the app is cancelled.
  public func update(app: String, to specifications: [DownloadSpecification]) async throws -> [AddResult] {
    let wanted = Dictionary(specifications.map { (Array($0.identifier.utf8), $0) }) { first, _ in first }
    var replaced: [[UInt8]: JobID] = [:]
    for job in try await openJobs(of: app) {
      let name = Array(job.specification.identifier.utf8)
      guard let new = wanted[name], new.app.utf8.elementsEqual(app.utf8) else {
        cancel(job.id)
        continue
      }
      if !job.specification.asksForTheSame(as: new) { replaced[name] = job.id }
    }
    var results: [AddResult] = []
    for specification in specifications {
      if specification.rejectionReason == nil,
        let id = replaced.removeValue(forKey: Array(specification.identifier.utf8))
      {
        results.append(try await supersede(id, with: specification))
      } else {
        results += try await add([specification])
      }
    }
    return results
  }

  private func openJobs(of app: String) async throws -> [JobRecord] {
    try await withCheckedThrowingContinuation { continuation in
      let isOpen = mailbox.post { core in core.openJobs(of: app) { continuation.resume(with: $0) } }
      if !isOpen { continuation.resume(throwing: EngineClosed()) }
    }
  }

  package func supersede(_ id: JobID, with specification: DownloadSpecification) async throws -> AddResult {
    try await withCheckedThrowingContinuation { continuation in
      let isOpen = mailbox.post { core in
        core.supersede(id, with: specification) { continuation.resume(with: $0) }
      }
      if !isOpen { continuation.resume(throwing: EngineClosed()) }
    }
  }
}
