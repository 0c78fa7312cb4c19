package import AssetModel

extension Explanation {
  /// What the journal alone tells, for a download that no engine has in hand.
  package init(of job: JobRecord, now: StoredMoment) {
    guard job.state == .open, let wait = job.wait, case let remaining = wait.remaining(at: now), remaining > 0 else {
      self.init(Cause(stored: job))
      return
    }
    self.init(
      Cause(waiting: job), since: Double(wait.since.elapsed(until: now)) / 1e9, endsIn: Double(remaining) / 1e9)
  }
}

extension Cause {
  /// `job`: as the journal has it; it waits for no moment.
  fileprivate init(stored job: JobRecord) {
    self =
      switch job.state {
      case .finished: .finished
      case .cancelled: .cancelled
      case .failed(let failure): .failed(failure)
      case .paused: .paused(by: "user")
      case .verified: .stored(.publish)
      case .open: .stored(.fetch(job.transferClass, lastError: job.lastError))
      }
  }

  fileprivate init(waiting job: JobRecord) {
    let history = job.history
    guard history.publicationRetests > 0, job.lastCause == .httpStatus(404) else {
      self = .stored(.retry(attempts: history.fruitlessAttempts, lastError: job.lastError))
      return
    }
    self = .publication(
      retest: history.publicationRetests, limit: AttemptPolicy.maxRetests, lastError: job.lastError)
  }
}
