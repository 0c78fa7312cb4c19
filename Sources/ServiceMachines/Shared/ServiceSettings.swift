/// What users set for all apps and for one.
package struct ServiceSettings: Sendable, Equatable, Codable {
  /// For one app; nil: as for all.
  package struct Override: Sendable, Equatable, Codable {
    package var isBackgroundActivityAllowed: Bool?
    package var isContentBeforeLaunchAllowed: Bool?
    package var dailyRuntime: Duration?
    package var callLimit: Duration?
    package var memory: Int64?
    package var periodicInterval: Duration?

    package init(
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
  package var isBackgroundActivityAllowed = true
  /// B9.
  package var isContentBeforeLaunchAllowed = true
  /// B18, 6.3.
  package var dailyRuntime: Duration = .minutes(10)
  /// B24, 6.3: wall time of one call.
  package var callLimit: Duration = .seconds(30)
  /// B16, 6.3: bytes beyond the runner's own.
  package var memory: Int64 = 8 << 20
  /// How far periodic wakes of an app lie apart; nil: as it is used (B22, B23).
  package var periodicInterval: Duration?
  /// L11: how long an essential download waits for a network, and how long any goes on trying without progress. nil: as
  /// `defaultEssentialWait` and `defaultBackgroundWait` say.
  package var essentialWait: Duration?
  package var backgroundWait: Duration?
  /// nil: as the machine says.
  package var isLowPower: Bool?
  package var isMetered: Bool?
  /// A language tag (RFC 5646).
  package var language: String?
  /// Wakes at a time, over all apps.
  package var maxWakes = 2
  package var apps: [String: Override] = [:]

  package static let defaultEssentialWait: Duration = .seconds(10)
  package static let defaultBackgroundWait: Duration = .days(14)

  package init() {}

  /// What holds for one app, overrides applied.
  package subscript(app: String) -> Override {
    let own = apps[app]
    return Override(
      // Switched off for all apps is off for each of them (B10).
      isBackgroundActivityAllowed: isBackgroundActivityAllowed && own?.isBackgroundActivityAllowed ?? true,
      isContentBeforeLaunchAllowed: own?.isContentBeforeLaunchAllowed ?? isContentBeforeLaunchAllowed,
      dailyRuntime: own?.dailyRuntime ?? dailyRuntime, callLimit: own?.callLimit ?? callLimit,
      memory: own?.memory ?? memory, periodicInterval: own?.periodicInterval ?? periodicInterval)
  }
}
