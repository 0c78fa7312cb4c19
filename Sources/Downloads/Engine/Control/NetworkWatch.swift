internal import AssetModel
internal import Basics
internal import LinuxSystem

/// What the machine and its network are like: gates, sleep, proxies, clocks that nobody believes, and networks that lead
/// elsewhere. Network thread only.
final class NetworkWatch: EnginePart {
  unowned let engine: TransferEngine
  var conditions: MachineConditions
  /// How long the machine had slept when that was last looked at.
  var lastSlept: Duration
  /// When a portal that was found is looked for again.
  var portalCheckAt: Duration?
  /// Boot time since which there is no network, and at which a download has waited for one long enough.
  var offlineSince: Duration?
  var patienceEndsAt: Duration?
  /// The journal couldn't say of a job whose patience is over what it is: it isn't asked before then.
  var readAgainAt: Duration?
  var proxyHealth = ProxyHealth()

  init(_ engine: TransferEngine) {
    self.engine = engine
    conditions = engine.options.conditions
    lastSlept = engine.services.clock.slept
  }

  func setConditions(_ conditions: MachineConditions) {
    self.conditions = conditions
    let now = clock.boot
    offlineSince = conditions.isOnline ? nil : offlineSince ?? now
    for job in Array(engine.active.values)
    where job.machine.phase == .transferring && conditions.gate(for: job.record.transferClass, now: now) != nil {
      endings.stop(job, then: .yield)
    }
    engine.needsSchedule = true
  }

  func networkChanged() {
    for job in Array(engine.active.values) where job.machine.phase == .transferring { endings.stop(job, then: .yield) }
    transport.forgetConnections()
    if portalCheckAt != nil { portalCheckAt = clock.boot }
    for (id, hold) in engine.holds {
      if case .retry = hold.reason { engine.release(id) }
    }
    engine.origins.probeNow(now: clock.boot)
    engine.needsSchedule = true
  }

  /// Old connections are dead after a sleep, though nobody says so; addresses may be others.
  func noticeSleep() {
    let slept = clock.slept
    // Both clocks are read one after the other, so that less than a second may be the scheduler's doing.
    guard slept - lastSlept >= .seconds(1) else { return }
    lastSlept = slept
    networkChanged()
  }

  func setProxy(_ proxy: String?, except noProxy: String) {
    guard proxy != engine.options.transport.proxy || noProxy != engine.options.transport.noProxy else { return }
    engine.options.transport.proxy = proxy
    engine.options.transport.noProxy = noProxy
    transport.follow(engine.options.transport)
    // What the old one did is nothing to the new one.
    proxyHealth = ProxyHealth()
    networkChanged()
  }

  func isProxied(_ url: ParsedURL) -> Bool {
    engine.options.transport.proxy != nil && !ProxyRules.isDirect(url.host, noProxy: engine.options.transport.noProxy)
  }

  /// The proxy, in messages.
  var proxyName: String { "the proxy \(ProxyRules.name(of: engine.options.transport.proxy ?? ""))" }

  /// The rules of hosts for a job: the administrator's, and the download's own list.
  func hostRules(_ specification: DownloadSpecification) -> HostRules {
    var rules = engine.options.transport.hosts
    rules.ownDomains = specification.allowedDomains
    if engine.options.transport.proxy != nil {
      rules.proxiedExcept = engine.options.transport.noProxy
      rules.namesLoopback = (try? ParsedURL(specification.url)).map { HostRules.isLoopback($0.host) } ?? false
    }
    return rules
  }

  /// Why a URL isn't asked.
  struct RefusedURL: Error {
    var text: String
    var cause: FailureCause?
  }

  /// One of a job's URLs, as it is asked.
  func validatedURL(_ text: String, _ specification: DownloadSpecification) throws(RefusedURL) -> ParsedURL {
    let url: ParsedURL
    do throws(ParsedURL.Failure) { url = try ParsedURL(text) } catch {
      throw RefusedURL(text: "\(Printable.text(text)) isn't a URL: \(error)")
    }
    if let rejection = hostRules(specification).rejection(of: url) {
      throw RefusedURL(text: rejection.sentence(), cause: rejection.cause())
    }
    return url
  }

  /// Somebody wants to know soon that there is no network. What is verified needs none.
  func failWithoutNetwork(_ now: Duration) {
    patienceEndsAt = nil
    guard let offlineSince else { return }
    if let moment = readAgainAt, moment <= now { readAgainAt = nil }
    for (transferClass, patience) in connectivityPatience {
      for (id, since) in engine.scheduler.waiting(in: transferClass) {
        let end = max(since, offlineSince) + patience
        if end > now {
          patienceEndsAt = min(end, patienceEndsAt ?? end)
        } else if let record = commands.decidedRecord(id) {
          failWithoutNetwork(record)
        } else if let readAgainAt {
          patienceEndsAt = min(readAgainAt, patienceEndsAt ?? readAgainAt)
        } else {
          records.reads.fail(id, withoutNetworkSince: offlineSince)
        }
      }
    }
  }

  func failWithoutNetwork(_ record: JobRecord) {
    guard record.state == .open, engine.scheduler.isWaiting(record.id) else { return }
    let failure = TransferFailure(.offline, detail: "there is no network")
    proxyHealth.forget(record.id)
    commands.take(record, .failed(failure), removesFiles: true, .failed(failure))
  }

  var connectivityPatience: [TransferClass: Duration] {
    guard let own = conditions.essentialPatience else { return engine.options.connectivityPatience }
    return engine.options.connectivityPatience.merging([.essential: own]) { $1 }
  }
}
