internal import AssetModel

/// What the machine is like at the moment; the service tells it at every change.
public struct MachineConditions: Sendable, Equatable {
  /// There is a network.
  public var isOnline = true
  /// The network interface in use, or the one that should be, for those who ask why nothing moves.
  public var interface: String?
  /// Every byte costs.
  public var isMetered = false
  /// Background transfers wait.
  public var isSavingPower = false
  /// The user's setting: essential downloads may use a metered line.
  public var essentialMayBeMetered = true
  /// The network leads to a login page and nowhere else.
  public var isBehindPortal = false
  /// nil: there is none, or it is being charged.
  public var battery: Battery?
  /// What the service is being changed by at the moment, for example a migration; nothing is transferred meanwhile.
  public var upgradeStep: String?
  /// How long an essential download waits for a network; nil: as the options say.
  public var essentialTimeout: Duration?
  /// How long a download goes on trying without a byte of progress; nil: 14 days.
  public var progressTimeout: Duration?
  /// Boot time at which background transfers may run again; nil: now.
  public var windowOpensAt: Duration?

  /// How full a battery in use is.
  public struct Battery: Sendable, Equatable {
    /// Percent.
    public var level: Int
    /// Percent below which background transfers wait.
    public var threshold: Int

    /// Creates the state of a battery.
    public init(level: Int, threshold: Int) {
      self.level = level
      self.threshold = threshold
    }
  }

  /// Creates the conditions of a machine that nothing holds back.
  public init() {}

  /// The gate that holds a class, or nil.
  func gate(for transferClass: TransferClass, now: Duration) -> Explanation.Code? {
    if upgradeStep != nil { return .upgrading }
    if !isOnline { return .offline }
    if isBehindPortal { return .captivePortal }
    if isMetered, transferClass.isBackground || transferClass == .essential && !essentialMayBeMetered {
      return .metered
    }
    if isSavingPower, transferClass.isBackground { return .powerSaver }
    if let battery, battery.level < battery.threshold, transferClass.isBackground { return .battery }
    if let windowOpensAt, windowOpensAt > now, transferClass.isBackground { return .window }
    return nil
  }

  /// What `explain` tells beside the code.
  func data(of gate: Explanation.Code, remaining: Int64?) -> [String: String] {
    switch gate {
    case .offline, .captivePortal: interface.map { ["interface": Printable.text($0, limit: 60)] } ?? [:]
    case .metered:
      ["essentialMayBeMetered": "\(essentialMayBeMetered)"].merging(remaining.map { ["bytes": "\($0)"] } ?? [:]) { $1 }
    case .battery: battery.map { ["level": "\($0.level)", "threshold": "\($0.threshold)"] } ?? [:]
    case .upgrading: upgradeStep.map { ["step": Printable.text($0, limit: 60)] } ?? [:]
    default: [:]
    }
  }
}
