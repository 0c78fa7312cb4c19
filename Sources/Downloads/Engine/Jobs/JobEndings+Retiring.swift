internal import AssetModel
internal import Basics
internal import Dispatch

/// The slot is given back when the journal knows why.
extension JobEndings {
  /// Whoever opens the next file of that name finds nothing of this one, and commands wait until the slot is free.
  func afterFileWork(
    _ job: ActiveJob, _ work: @escaping @Sendable () -> Void,
    _ then: @escaping @Sendable (TransferEngine, ActiveJob) -> Void
  ) {
    _ = job.machine.handle(.retiring)
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    job.file.lane.async {
      work()
      mailbox.post { engine in
        guard let job = engine.job(id, run) else { return }
        then(engine, job)
      }
    }
  }

  /// The attempt that it failed with is remembered like those before it, if anything was asked for.
  func fail(_ job: ActiveJob, _ failure: TransferFailure, _ attempt: Attempt? = nil) {
    if network.suspectsPortal(job, failure) { return }
    let own = job.hasRequested ? job.attempt(until: clock, failure.status, failure.detail) : nil
    if failure.isRefusedAccess {
      if let failure = keptForAnotherURL(job, failure) { return failAndKeep(job, failure, attempt ?? own) }
      job.record.partial = nil
    }
    job.record.state = .failed(failure)
    job.record.noteError(failure.detail, failure.cause)
    let last = attempt ?? own
    discard(job) { engine, job in engine.endings.commitAndRetire(job, attempt: last, .failed(failure)) }
  }

  /// Access was refused: what a digest proves is good for another URL of the same file, or for this one when it lets
  /// somebody in again; what a strong entity tag tells apart is good for the same place. nil: nothing is worth keeping.
  func keptForAnotherURL(_ job: ActiveJob, _ failure: TransferFailure) -> TransferFailure? {
    guard job.file.failure == nil, let entity = job.record.partial?.entity, job.durableBytes > 0,
      ResumePolicy.isIdentified(job.record) || entity.strongTag != nil
    else { return nil }
    return failure.keeping(job.durableBytes)
  }

  func failAndKeep(_ job: ActiveJob, _ failure: TransferFailure, _ attempt: Attempt? = nil) {
    job.record.state = .failed(failure)
    job.record.noteError(failure.detail, failure.cause)
    commitAndRetire(job, attempt: attempt, .failed(failure))
  }

  func discard(_ job: ActiveJob, _ then: @escaping @Sendable (TransferEngine, ActiveJob) -> Void) {
    guard let destination = job.file.destination else { return then(engine, job) }
    let specification = job.record.specification
    let file = job.file.staging
    let names = commands.stagingNames(specification, upTo: job.record.generation)
    let work = { @Sendable in
      file?.discard()
      for name in names { destination.removeStaging(name) }
    }
    afterFileWork(job, work, then)
  }

  /// The slot is free when the journal knows why.
  func commitAndRetire(_ job: ActiveJob, attempt: Attempt? = nil, _ disposition: Disposition) {
    _ = job.machine.handle(.retiring)
    let (id, run, mailbox, record) = (job.id, job.run, mailbox, job.record)
    journal.commit([.job(record)] + (attempt.map { [.attempt($0, id)] } ?? [])) { failure in
      mailbox.post { engine in
        guard let job = engine.job(id, run) else { return }
        engine.retire(job)
        if let failure {
          engine.commands.holdUpdate(record, failure, disposition)
        } else {
          engine.enter(disposition, record)
        }
        engine.commands.perform(job.machine.commands, on: id)
      }
    }
  }
}
