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
  /// Boot time since which there is no network.
  var offlineSince: Duration?
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
    engine.yieldTransfers { conditions.gate(for: $0.record.transferClass, now: now) != nil }
    engine.needsSchedule = true
  }

  func networkChanged() {
    engine.yieldTransfers { _ in true }
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
    guard
      proxy != engine.options.transport.proxy || noProxy != engine.options.transport.noProxy
        || engine.options.transport.plainProxy != nil
    else { return }
    engine.options.transport.proxy = proxy
    engine.options.transport.plainProxy = nil
    engine.options.transport.noProxy = noProxy
    transport.follow(engine.options.transport)
    // What the old one did is nothing to the new one.
    proxyHealth = ProxyHealth()
    networkChanged()
  }
}
