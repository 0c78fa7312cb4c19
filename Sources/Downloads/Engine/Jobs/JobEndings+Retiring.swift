internal import AssetModel
internal import Basics
internal import Dispatch

/// The slot is given back when the journal knows why.
extension JobEndings {
  /// The attempt that it failed with is remembered like those before it, if anything was asked for.
  func fail(_ job: ActiveJob, _ failure: TransferFailure, _ attempt: Attempt? = nil) {
    // Commands wait until the slot is free.
    if network.suspectsPortal(job, failure) { return handle(.suspectedPortal(failure), job) }
    let own = job.hasRequested ? job.attempt(until: clock, failure.status, failure.detail) : nil
    if let failure = keepingBytes(job, failure) { return failAndKeep(job, failure, attempt ?? own) }
    let failure = failure.losing(job.durableBytes, as: ResumePolicy.reasonForLoss(failure, job.record))
    // The journal knows of no byte that is removed.
    job.record.partial = nil
    failed(job, failure, Retirement(.failed(failure), removing: .everything, attempt: attempt ?? own))
  }

  func lookedForPortal(_ job: ActiveJob, _ failure: TransferFailure, isThere: Bool) {
    guard isThere else { return fail(job, failure) }
    // Nothing that came since the slot was given counts, neither bytes nor mistakes.
    if job.file.chunks == nil, job.file.written.bytes > 0 || job.record.generation != job.start.generation {
      startAfresh(job, reason: "a login page came instead of it")
    }
    job.record.history = job.start.history
    job.record.noteError(failure.detail, failure.cause)
    handle(.ended(Retirement(.queuedBehindPortal)), job)
    network.foundPortal()
  }

  /// The file stays, and the newest download of it is one that finished with it.
  func finishUnchanged(_ job: ActiveJob, _ known: KnownVersion) {
    guard !job.machine.isDecided else { return continueStopping(job) }
    job.record.state = .finished
    job.record.wait = nil
    job.record.partial = known.partial
    (job.record.publishedInode, job.record.finalSize) = (known.inode, known.size)
    handle(.ended(Retirement(.unchanged(size: known.size), removing: .everything)), job)
  }

  /// The failure, where what arrived is worth keeping for the next request. nil: it isn't.
  private func keepingBytes(_ job: ActiveJob, _ failure: TransferFailure) -> TransferFailure? {
    guard job.file.failure == nil, job.record.partial != nil, job.durableBytes > 0 else { return nil }
    return ResumePolicy.outlives(failure, job.record, durableBytes: job.durableBytes)
      ? failure.keeping(job.durableBytes) : nil
  }

  func failAndKeep(_ job: ActiveJob, _ failure: TransferFailure, _ attempt: Attempt? = nil) {
    failed(job, failure, Retirement(.failed(failure), attempt: attempt))
  }

  private func failed(_ job: ActiveJob, _ failure: TransferFailure, _ retirement: Retirement) {
    job.record.state = .failed(failure)
    job.record.noteError(failure.detail, failure.cause)
    handle(.ended(retirement), job)
  }

  func removeFiles(of job: ActiveJob, _ removal: Retirement.Removal) {
    guard removal != .nothing, let destination = job.file.destination else { return handle(.filesRemoved, job) }
    let file = job.file.staging
    let names =
      removal == .everything ? engine.options.stagingNames(job.record.specification, upTo: job.record.generation) : []
    let (activation, mailbox) = (job.activation, mailbox)
    job.file.lane.async {
      file?.discard()
      for name in names { destination.removeStaging(name) }
      mailbox.post(.job(activation, .filesRemoved))
    }
  }

  func commit(_ job: ActiveJob, _ attempt: Attempt?) {
    let (activation, mailbox) = (job.activation, mailbox)
    journal.commit([.job(job.record)] + (attempt.map { [.attempt($0, job.id)] } ?? [])) { failure in
      mailbox.post(.job(activation, .committed(failure.map(JournalFailure.init))))
    }
  }
}
