package struct SettingsSummary: Sendable, Equatable, Codable {
  /// What is set for one app; nil: as for all.
  package struct App: Sendable, Equatable, Codable {
    package var isBackgroundActivityAllowed: Bool?
    package var isContentBeforeLaunchAllowed: Bool?
    package var memoryBytes: Int64?
    package var runtimeSeconds: Double?
    package var callSeconds: Double?
    package var periodicSeconds: Double?

    package init() {}
  }

  package var isBackgroundActivityAllowed: Bool
  package var isContentBeforeLaunchAllowed: Bool
  package var isLowPower: Bool
  package var isMetered: Bool
  /// Whether it was set by an operator; otherwise it is the machine's.
  package var isLowPowerSet: Bool
  package var isMeteredSet: Bool
  /// The language tag that extensions are asked for (RFC 5646); nil: unknown.
  package var language: String?
  package var isLanguageSet: Bool
  /// 6.3: bytes and seconds.
  package var memoryBytes: Int64
  package var runtimeSeconds: Double
  package var callSeconds: Double
  /// Between periodic wakes of an app; nil: as the app is used.
  package var periodicSeconds: Double?
  /// L11.
  package var essentialWaitSeconds: Double
  package var backgroundWaitSeconds: Double
  package var apps: [String: App]

  package init(
    isBackgroundActivityAllowed: Bool = true, isContentBeforeLaunchAllowed: Bool = true, isLowPower: Bool = false,
    isMetered: Bool = false, isLowPowerSet: Bool = false, isMeteredSet: Bool = false, language: String? = nil,
    isLanguageSet: Bool = false, memoryBytes: Int64 = 8 << 20, runtimeSeconds: Double = 600, callSeconds: Double = 30,
    periodicSeconds: Double? = nil, essentialWaitSeconds: Double = 10, backgroundWaitSeconds: Double = 1_209_600,
    apps: [String: App] = [:]
  ) {
    self.periodicSeconds = periodicSeconds
    self.essentialWaitSeconds = essentialWaitSeconds
    self.backgroundWaitSeconds = backgroundWaitSeconds
    self.isBackgroundActivityAllowed = isBackgroundActivityAllowed
    self.isContentBeforeLaunchAllowed = isContentBeforeLaunchAllowed
    self.isLowPower = isLowPower
    self.isMetered = isMetered
    self.isLowPowerSet = isLowPowerSet
    self.isMeteredSet = isMeteredSet
    self.language = language
    self.isLanguageSet = isLanguageSet
    self.memoryBytes = memoryBytes
    self.runtimeSeconds = runtimeSeconds
    self.callSeconds = callSeconds
    self.apps = apps
  }
}
