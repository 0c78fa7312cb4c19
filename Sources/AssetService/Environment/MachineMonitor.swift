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
  /// What changes together is read once.
  private static let pause: Duration = .milliseconds(100)

  private static func watch(
    _ sources: AssetService.MachineSources, _ stop: StopSignal, _ told: (MachineState, Bool) -> Void
  ) {
    var last: MachineState?
    var bus: SystemBus?
    var hasSlept = false
    while true {
      if bus == nil { bus = try? SystemBus(address: sources.systemBus) }
      let state = read(sources, bus).state
      if state != last || hasSlept { told(state, hasSlept) }
      last = state
      hasSlept = false
      let due = BootClock.now + period
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
        }
        let ready = bus?.readiness
        guard stop.wait(ready?.descriptor ?? -1, ready?.events ?? 0, for: due - BootClock.now) != .stopped else {
          return
        }
      }
    }
  }

  private static func read(_ sources: AssetService.MachineSources, _ bus: borrowing SystemBus?) -> MachineFacts {
    var facts = MachineFacts()
    facts.supplies = PowerSupply.all(in: sources.powerSupplies)
    bus?.read(into: &facts)
    facts.language = PreferredLanguage.read(file: sources.localeFile)
    if facts.networkState != nil { facts.hasDefaultRoute = DefaultRoute.exists(in: sources.network) }
    return facts
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
