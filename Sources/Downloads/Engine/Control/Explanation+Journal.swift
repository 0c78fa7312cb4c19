package import AssetModel

extension Explanation {
  /// What the journal alone tells, for a download that no engine has in hand.
  package init(of job: JobRecord, now: StoredMoment) {
    switch job.state {
    case .finished: self.init(.finished, remedy: "nothing: the file is at its place")
    case .cancelled: self.init(.cancelled, remedy: "add it again")
    case .failed(let failure): self.init(of: failure)
    case .paused: self.init(.paused, data: ["by": "user"], remedy: "resume it")
    case .verified: self.init(.delivering, remedy: "an engine takes it up and publishes the file")
    case .open:
      var data: [String: String] = [:]
      if let error = job.lastError { data["lastError"] = Printable.text(error) }
      if let wait = job.wait, wait.remaining(at: now) > 0 {
        let (since, endsIn) = (Double(wait.since.elapsed(until: now)) / 1e9, Double(wait.remaining(at: now)) / 1e9)
        if job.history.publicationRetests > 0, job.lastCause == .httpStatus(404) {
          data["retest"] = "\(job.history.publicationRetests) of \(AttemptPolicy.maxRetests)"
          self.init(.publication, data: data, since: since, endsIn: endsIn, remedy: "the server publishes the file")
        } else {
          if job.history.fruitlessAttempts > 0 { data["attempt"] = "\(job.history.fruitlessAttempts)" }
          self.init(.retrying, data: data, since: since, endsIn: endsIn, remedy: "time, or fetch it again")
        }
      } else {
        data["class"] = job.transferClass.name
        self.init(.queued, data: data, remedy: "an engine takes it up: the same fetch, run again")
      }
    }
  }

  /// A terminal state.
  init(of failure: TransferFailure) {
    var data = ["detail": failure.detail]
    if let status = failure.status { data["status"] = "\(status)" }
    if let errno = failure.errno { data["errno"] = "\(errno)" }
    let code: Explanation.Code =
      switch failure.reason {
      case .noProgress: .noProgress
      case .sizeMismatch: .sizeMismatch
      case .digestMismatch: .digestMismatch
      case .hostileResponse: .hostileResponse
      case .notAllowed: .notAllowed
      case .trust: .trust
      case .gone: .gone
      case .challenge: .challenge
      case .volume: .volume
      case .allowance: .allowance
      case .refused: .refused
      case .offline: .offline
      }
    self.init(
      code, data: data,
      remedy: failure.isForWantOfPlace
        ? "what is there is moved away, and it is added again: no byte is fetched twice"
        : "nothing by itself: it failed; add it again")
  }
}
