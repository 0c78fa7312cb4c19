internal import AssetModel

/// Login pages, which come instead of files, servers and certificates.
extension NetworkWatch {
  static let portalCheck: Duration = .seconds(30)

  /// Whether the failure waits for an answer: a login page may have come instead of the file, its server or its certificate.
  func suspectsPortal(_ job: ActiveJob, _ failure: TransferFailure) -> Bool {
    guard let ask = engine.options.isBehindPortal, job.hasRequested, !job.hasLookedForPortal, Self.mayBePortals(failure)
    else { return false }
    job.hasLookedForPortal = true
    let (activation, mailbox) = (job.activation, mailbox)
    TimedQuestion(timeout: engine.options.challengeTimeout, otherwise: false, ask: ask).put {
      mailbox.post(.job(activation, .lookedForPortal(failure, isThere: $0)))
    }
    return true
  }

  static func mayBePortals(_ failure: TransferFailure) -> Bool {
    switch failure.reason {
    // A redirect, or an address, may be the portal's.
    case .trust, .sizeMismatch, .digestMismatch, .hostileResponse, .gone, .refused, .notAllowed: failure.errno == nil
    case .noProgress, .challenge, .volume, .allowance, .offline: false
    }
  }

  func foundPortal() {
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
