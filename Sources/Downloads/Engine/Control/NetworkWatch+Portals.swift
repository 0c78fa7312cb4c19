internal import AssetModel

/// Login pages, which come instead of files, servers and certificates.
extension NetworkWatch {
  static let portalCheck: Duration = .seconds(30)

  /// Whether the failure waits for an answer: a login page may have come instead of the file, its server or its certificate.
  func suspectsPortal(_ job: ActiveJob, _ failure: TransferFailure) -> Bool {
    guard let ask = engine.options.isBehindPortal, job.hasRequested, !job.hasLookedForPortal, Self.mayBePortals(failure)
    else { return false }
    job.hasLookedForPortal = true
    // Commands wait until the slot is free.
    endings.handle(.suspectedPortal(failure), job)
    let (activation, mailbox) = (job.activation, mailbox)
    TimedQuestion(timeout: engine.options.challengeTimeout, otherwise: false, ask: ask).put {
      mailbox.post(.job(activation, .lookedForPortal(failure, isThere: $0)))
    }
    return true
  }

  func lookedForPortal(_ job: ActiveJob, _ failure: TransferFailure, isThere: Bool) {
    if isThere { waitForLogin(job, failure) } else { endings.fail(job, failure) }
  }

  static func mayBePortals(_ failure: TransferFailure) -> Bool {
    switch failure.reason {
    // A redirect, or an address, may be the portal's.
    case .trust, .sizeMismatch, .digestMismatch, .hostileResponse, .gone, .refused, .notAllowed: failure.errno == nil
    case .noProgress, .challenge, .volume, .allowance, .offline: false
    }
  }

  /// Nothing that came since the slot was given counts, neither bytes nor mistakes.
  private func waitForLogin(_ job: ActiveJob, _ failure: TransferFailure) {
    if job.file.chunks == nil, job.file.written.bytes > 0 || job.record.generation != job.start.generation {
      endings.startAfresh(job, reason: "a login page came instead of it")
    }
    job.record.history = job.start.history
    job.record.noteError(failure.detail, failure.cause)
    endings.handle(.ended(Retirement(.queuedBehindPortal)), job)
    portalCheckAt = clock.boot + Self.portalCheck
    var conditions = conditions
    conditions.isBehindPortal = true
    setConditions(conditions)
  }

  /// Looks again whether the network leads somewhere by now.
  func checkPortal(_ now: Duration) {
    guard let moment = portalCheckAt, moment <= now, let ask = engine.options.isBehindPortal else { return }
    portalCheckAt = nil
    guard conditions.isBehindPortal, !engine.isClosing else { return }
    let mailbox = mailbox
    // Silence is no way out of a portal.
    TimedQuestion(timeout: engine.options.challengeTimeout, otherwise: true, ask: ask).put {
      mailbox.post(.control(.lookedForPortal(isThere: $0)))
    }
  }

  func lookedForPortal(isThere: Bool) {
    guard conditions.isBehindPortal else { return }
    if isThere {
      portalCheckAt = clock.boot + Self.portalCheck
    } else {
      var conditions = conditions
      conditions.isBehindPortal = false
      setConditions(conditions)
    }
  }
}
