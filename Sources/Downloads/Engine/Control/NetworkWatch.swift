internal import AssetModel
internal import Basics
internal import LinuxSystem

/// What the machine and its network are like: gates, sleep, proxies, clocks in doubt, and networks that lead
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
  var connectivityDeadline: Duration?
  /// The journal couldn't say of a job whose timeout has passed what it is: it isn't asked before then.
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
    where job.machine.isTransferring && conditions.gate(for: job.record.transferClass, now: now) != nil {
      endings.stop(job, then: .yield)
    }
    engine.needsSchedule = true
  }

  func networkChanged() {
    for job in Array(engine.active.values) where job.machine.isTransferring { endings.stop(job, then: .yield) }
    transport.forgetConnections()
    if portalCheckAt != nil { portalCheckAt = clock.boot }
    for (id, hold) in engine.holds {
      if case .retry = hold.reason { engine.release(id) }
    }
    engine.origins.probeNow(now: clock.boot)
    engine.needsSchedule = true
  }

  /// Old connections are dead after a sleep, though nothing reports it; addresses may be others.
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

  /// Fails downloads that waited for a network as long as their class may. What is verified needs none.
  func failWithoutNetwork(_ now: Duration) {
    connectivityDeadline = nil
    guard let offlineSince else { return }
    if let moment = readAgainAt, moment <= now { readAgainAt = nil }
    for (transferClass, timeout) in connectivityTimeouts {
      for (id, since) in engine.scheduler.waiting(in: transferClass) {
        let end = max(since, offlineSince) + timeout
        if end > now {
          connectivityDeadline = min(end, connectivityDeadline ?? end)
        } else if let record = commands.decidedRecord(id) {
          failWithoutNetwork(record)
        } else if let readAgainAt {
          connectivityDeadline = min(readAgainAt, connectivityDeadline ?? readAgainAt)
        } else {
          records.reads.fail(id, withoutNetworkSince: offlineSince)
        }
      }
    }
  }

  func failWithoutNetwork(_ record: JobRecord) {
    guard record.state == .open, engine.scheduler.isWaiting(record.id) else { return }
    let failure = TransferFailure(.offline, detail: "there is no network")
    var record = record
    record.state = .failed(failure)
    commands.handle(.begin(.update(PendingUpdate(record: record, disposition: .failed(failure)), removesFiles: true)))
  }

  var connectivityTimeouts: [TransferClass: Duration] {
    guard let own = conditions.essentialTimeout else { return engine.options.connectivityTimeouts }
    return engine.options.connectivityTimeouts.merging([.essential: own]) { $1 }
  }
}
