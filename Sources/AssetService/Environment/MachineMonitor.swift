internal import LinuxSystem

/// Watches the machine's power, network and language, on a thread of its own: an answer of the bus may take seconds.
final class MachineMonitor: Sendable {
  private let stop: StopSignal

  /// `told` is called with the first reading and with each that differs from the one before; `hasSlept`: the machine was
  /// suspended since.
  init(
    _ sources: AssetService.MachineSources, told: @escaping @Sendable (_ state: MachineState, _ hasSlept: Bool) -> Void
  ) throws(SystemCallError) {
    let stop = try StopSignal()
    self.stop = stop
    try Threads.detach("outrider.machine") { Self.watch(sources, stop, told) }
  }

  deinit { stop.raise() }

  /// Looked at without being told: the kernel's files say nothing by themselves, and a bus that wasn't there may be.
  private static let period: Duration = .seconds(60)
  /// The same after a reading that isn't whole: a service answered too late, or the connection to the bus was lost. Twice as
  /// long after each further one.
  private static let retry: Duration = .seconds(1)
  /// What changes together is read once.
  private static let pause: Duration = .milliseconds(100)

  private static func watch(
    _ sources: AssetService.MachineSources, _ stop: StopSignal, _ told: (MachineState, Bool) -> Void
  ) {
    var last: MachineState?
    var bus: SystemBus?
    var hasSlept = false
    var untilNext = retry
    while true {
      if bus == nil { bus = try? SystemBus(address: sources.systemBus) }
      let (facts, isWhole) = read(sources, bus)
      let state = facts.state
      if state != last || hasSlept { told(state, hasSlept) }
      last = state
      hasSlept = false
      var due = BootClock.now + (isWhole ? period : untilNext)
      untilNext = isWhole ? retry : min(untilNext * 2, period)
      while BootClock.now < due {
        do {
          // Before waiting: what came while something was asked is here already.
          if let news = try bus?.take() {
            hasSlept = hasSlept || news.hasSlept
            if news.hasChanged {
              guard stop.wait(-1, 0, for: pause) != .stopped else { return }
              break
            }
          }
        } catch {
          // It is looked for again with the next reading.
          bus = nil
          due = min(due, BootClock.now + retry)
        }
        let ready = bus?.readiness
        guard stop.wait(ready?.descriptor ?? -1, ready?.events ?? 0, for: due - BootClock.now) != .stopped else {
          return
        }
      }
    }
  }

  private static func read(_ sources: AssetService.MachineSources, _ bus: borrowing SystemBus?) -> (
    facts: MachineFacts, isWhole: Bool
  ) {
    var facts = MachineFacts()
    facts.supplies = PowerSupply.all(in: sources.powerSupplies)
    let isWhole = bus?.read(into: &facts) ?? true
    facts.language = PreferredLanguage.read(file: sources.localeFile)
    if facts.networkState != nil { facts.hasDefaultRoute = DefaultRoute.exists(in: sources.network) }
    return (facts, isWhole)
  }
}

extension AssetService {
  /// Where the machine's power, network and language are read.
  public struct MachineSources: Sendable, Equatable {
    /// One folder for each power supply, as the kernel shows them.
    public var powerSupplies = "/sys/class/power_supply"
    /// The routes, as the kernel shows them.
    public var network = "/proc/net"
    /// The system's locale (locale.conf(5)).
    public var localeFile = "/etc/locale.conf"
    /// Address of the bus with UPower, power-profiles-daemon, NetworkManager, logind and localed (D-Bus specification, "Server
    /// Addresses"); nil: the system's.
    public var systemBus: String?

    /// Creates the sources of a whole machine.
    public init() {}
  }
}
