/// What users set for all apps and for one.
public struct ServiceSettings: Sendable, Equatable, Codable {
  /// For one app; nil: as for all.
  public struct Override: Sendable, Equatable, Codable {
    public var isBackgroundActivityAllowed: Bool?
    public var isContentBeforeLaunchAllowed: Bool?
    public var dailyRuntime: Duration?
    public var callLimit: Duration?
    public var memory: Int64?
    public var periodicInterval: Duration?

    public init(
      isBackgroundActivityAllowed: Bool? = nil, isContentBeforeLaunchAllowed: Bool? = nil,
      dailyRuntime: Duration? = nil, callLimit: Duration? = nil, memory: Int64? = nil,
      periodicInterval: Duration? = nil
    ) {
      self.periodicInterval = periodicInterval
      self.memory = memory
      self.isBackgroundActivityAllowed = isBackgroundActivityAllowed
      self.isContentBeforeLaunchAllowed = isContentBeforeLaunchAllowed
      self.dailyRuntime = dailyRuntime
      self.callLimit = callLimit
    }
  }

  /// B10.
  public var isBackgroundActivityAllowed = true
  /// B9.
  public var isContentBeforeLaunchAllowed = true
  /// B18, 6.3.
  public var dailyRuntime: Duration = .minutes(10)
  /// B24, 6.3: wall time of one call.
  public var callLimit: Duration = .seconds(30)
  /// B16, 6.3: bytes beyond the runner's own.
  public var memory: Int64 = 8 << 20
  /// How far periodic wakes of an app lie apart; nil: as it is used (B22, B23).
  public var periodicInterval: Duration?
  /// L11: how long an essential download waits for a network, and how long any goes on trying without progress. nil: as
  /// `defaultEssentialWait` and `defaultBackgroundWait` say.
  public var essentialWait: Duration?
  public var backgroundWait: Duration?
  /// nil: as the machine says.
  public var isLowPower: Bool?
  public var isMetered: Bool?
  /// A language tag (RFC 5646).
  public var language: String?
  /// Wakes at a time, over all apps.
  public var maxWakes = 2
  public var apps: [String: Override] = [:]

  public static let defaultEssentialWait: Duration = .seconds(10)
  public static let defaultBackgroundWait: Duration = .days(14)

  public init() {}

  /// What holds for one app, overrides applied.
  public subscript(app: String) -> Override {
    let own = apps[app]
    return Override(
      // Switched off for all apps is off for each of them (B10).
      isBackgroundActivityAllowed: isBackgroundActivityAllowed && own?.isBackgroundActivityAllowed ?? true,
      isContentBeforeLaunchAllowed: own?.isContentBeforeLaunchAllowed ?? isContentBeforeLaunchAllowed,
      dailyRuntime: own?.dailyRuntime ?? dailyRuntime, callLimit: own?.callLimit ?? callLimit,
      memory: own?.memory ?? memory, periodicInterval: own?.periodicInterval ?? periodicInterval)
  }
}
