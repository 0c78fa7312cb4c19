/// What the services and files of a machine say of its power, network and language; nil: unknown.
struct MachineFacts: Sendable, Equatable {
  /// Of power-profiles-daemon or what stands for it, for example "power-saver".
  var powerProfile: String?
  /// Of UPower, which knows better than the kernel's files what several batteries and UPSs come to.
  var isOnBattery: Bool?
  /// Of UPower's display device: percent.
  var batteryLevel: Double?
  /// Of the kernel.
  var supplies: [PowerSupply] = []
  /// NMState, NMConnectivityState and NMMetered of NetworkManager's D-Bus API.
  var networkState: UInt32?
  var connectivity: UInt32?
  var metered: UInt32?
  /// Whether packets for elsewhere go anywhere: NetworkManager knows nothing of interfaces that others set up.
  var hasDefaultRoute = true
  /// Of locale.conf: a language tag.
  var language: String?

  var state: MachineState {
    var state = MachineState()
    state.language = language
    state.savesPower = powerProfile == "power-saver"
    state.battery = battery
    // NM_STATE_ASLEEP to NM_STATE_CONNECTING; 0 is "unknown".
    state.isOnline = !(networkState.map { (10..<50).contains($0) } ?? false) || hasDefaultRoute
    // NM_CONNECTIVITY_PORTAL.
    state.isBehindPortal = connectivity == 2 && state.isOnline
    // NM_METERED_YES and NM_METERED_GUESS_YES.
    state.isMetered = metered == 1 || metered == 3
    return state
  }

  private var battery: Int? {
    if let isOnBattery {
      guard isOnBattery else { return nil }
      if let batteryLevel, (0...100).contains(batteryLevel) { return Int(batteryLevel) }
    }
    let own = supplies.filter { !$0.isOfDevice }
    let batteries = own.filter { $0.isBattery && $0.isPresent }
    let isDischarging =
      batteries.contains { $0.status == "Discharging" } && !own.contains { $0.isOnline && !$0.isBattery }
    guard isOnBattery ?? isDischarging else { return nil }
    let levels = batteries.compactMap(\.capacity)
    return levels.isEmpty ? nil : levels.reduce(0, +) / levels.count
  }
}

/// What follows for the service.
struct MachineState: Sendable, Equatable {
  /// The user, or the desktop for them, has asked to save power.
  var savesPower = false
  /// Percent, while the machine runs on it; nil: it doesn't, or that is unknown.
  var battery: Int?
  var isOnline = true
  /// The network leads to a login page and nowhere else.
  var isBehindPortal = false
  var isMetered = false
  /// A language tag; nil: unknown.
  var language: String?

  /// Below it, background activity waits: where desktops begin to save power by themselves.
  static let lowBattery = 20

  var isLowPower: Bool { savesPower || battery.map { $0 < Self.lowBattery } ?? false }
}
