internal import AssetModel
internal import Basics
internal import Dispatch

/// The slot is given back when the journal knows why.
extension JobEndings {
  /// The attempt that it failed with is remembered like those before it, if anything was asked for.
  func fail(_ job: ActiveJob, _ failure: TransferFailure, _ attempt: Attempt? = nil) {
    if network.suspectsPortal(job, failure) { return }
    let own = job.hasRequested ? job.attempt(until: clock, failure.status, failure.detail) : nil
    if failure.isRefusedAccess {
      if let failure = keptForAnotherURL(job, failure) { return failAndKeep(job, failure, attempt ?? own) }
      job.record.partial = nil
    }
    failed(job, failure, Retirement(.failed(failure), removing: .everything, attempt: attempt ?? own))
  }

  /// Access was refused: what a digest proves is good for another URL of the same file, or for this one when it
  /// grants access again; what a strong entity tag tells apart is good for the same place. nil: nothing is worth keeping.
  private func keptForAnotherURL(_ job: ActiveJob, _ failure: TransferFailure) -> TransferFailure? {
    guard job.file.failure == nil, let entity = job.record.partial?.entity, job.durableBytes > 0,
      ResumePolicy.isIdentified(job.record) || entity.strongTag != nil
    else { return nil }
    return failure.keeping(job.durableBytes)
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
      removal == .everything ? commands.stagingNames(job.record.specification, upTo: job.record.generation) : []
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
