internal import AssetModel

/// Networks that lead elsewhere, and machines that slept.
extension EngineCore {
  static let portalCheck: Duration = .seconds(30)

  /// Old connections are dead after a sleep, though nobody says so; addresses may be others.
  func noticeSleep() {
    let slept = clock.slept
    // Both clocks are read one after the other, so that less than a second may be the scheduler's doing.
    guard slept - lastSlept >= .seconds(1) else { return }
    lastSlept = slept
    networkChanged()
  }

  func setProxy(_ proxy: String?, except noProxy: String) {
    guard proxy != options.transport.proxy || noProxy != options.transport.noProxy else { return }
    options.transport.proxy = proxy
    options.transport.noProxy = noProxy
    transport.follow(options.transport)
    // What the old one did is nothing to the new one.
    proxyHealth = ProxyHealth()
    networkChanged()
  }

  /// No connection or no head came in time, or the rest of an answer that nobody wants: then what it says is enough.
  func giveUp(_ segment: Segment) {
    if segment.plan != nil {
      var end = TransportEnd()
      end.receivedBytes = transport.cancel(segment.transfer)
      return transfer(segment.transfer, ended: end)
    }
    guard !segment.link.isConnected else { return fail(segment, .headTimeout) }
    let (text, isProxied) = ("no connection in time", isProxied(segment.request.url))
    fail(segment, isProxied ? .proxy("\(proxyName): \(text)") : .connect("\(segment.request.url.origin): \(text)"))
  }

  /// Somebody wants to know soon that there is no network. What is verified needs none.
  func failWithoutNetwork(_ now: Duration) {
    patienceEndsAt = nil
    guard let offlineSince else { return }
    for (transferClass, patience) in connectivityPatience {
      for (id, since) in scheduler.waiting(in: transferClass) {
        let end = max(since, offlineSince) + patience
        if end > now {
          patienceEndsAt = min(end, patienceEndsAt ?? end)
        } else {
          failWithoutNetwork(id, now)
        }
      }
    }
  }

  private var connectivityPatience: [TransferClass: Duration] {
    guard let own = conditions.essentialPatience else { return options.connectivityPatience }
    return options.connectivityPatience.merging([.essential: own]) { $1 }
  }

  private func failWithoutNetwork(_ id: JobID, _ now: Duration) {
    let record: JobRecord?
    do { record = try currentRecord(id) } catch {
      // Its patience is over all the same, as soon as the journal says whose it is.
      patienceEndsAt = min(patienceEndsAt ?? now + Self.journalDelay, now + Self.journalDelay)
      return
    }
    guard let record, record.state == .open else { return }
    let failure = TransferFailure(.offline, detail: "there is no network")
    proxyHealth.forget(id)
    take(record, .failed(failure), removesFiles: true, .failed(failure))
  }

  // MARK: Portals

  /// Whether the failure waits for an answer: a login page may have come instead of the file, its server or its certificate.
  func suspectsPortal(_ job: ActiveJob, _ failure: TransferFailure) -> Bool {
    guard let ask = options.isBehindPortal, job.hasRequested, !job.hasLookedForPortal, Self.mayBePortals(failure)
    else { return false }
    job.hasLookedForPortal = true
    // Commands wait until the slot is free.
    job.phase = .retiring
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    TimedQuestion(timeout: options.challengeTimeout, otherwise: false, ask: ask).put { isBehindPortal in
      mailbox.post { core in
        guard let job = core.job(id, run) else { return }
        if isBehindPortal { core.waitForLogin(job, failure) } else { core.fail(job, failure) }
      }
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

  /// Nothing that came since the slot was given counts, neither bytes nor mistakes.
  private func waitForLogin(_ job: ActiveJob, _ failure: TransferFailure) {
    if job.file.chunks == nil, job.file.written.bytes > 0 || job.record.generation != job.start.generation {
      startAfresh(job, reason: "a login page came instead of it")
    }
    job.record.history = job.start.history
    job.record.lastError = failure.detail
    commitAndRetire(job, .queuedBehindPortal)
    portalCheckAt = clock.boot + Self.portalCheck
    var conditions = conditions
    conditions.isBehindPortal = true
    setConditions(conditions)
  }

  /// Looks again whether the network leads somewhere by now.
  func checkPortal(_ now: Duration) {
    guard let due = portalCheckAt, due <= now, let ask = options.isBehindPortal else { return }
    portalCheckAt = nil
    guard conditions.isBehindPortal, !isClosing else { return }
    let mailbox = mailbox
    // Silence is no way out of a portal.
    TimedQuestion(timeout: options.challengeTimeout, otherwise: true, ask: ask).put { isBehindPortal in
      mailbox.post { core in
        guard core.conditions.isBehindPortal else { return }
        if isBehindPortal {
          core.portalCheckAt = core.clock.boot + EngineCore.portalCheck
        } else {
          var conditions = core.conditions
          conditions.isBehindPortal = false
          core.setConditions(conditions)
        }
      }
    }
  }
}
