internal import AssetModel
internal import ServiceMachines
internal import ServiceProtocol

/// Settings by name and text, as `outrider settings` has them.
enum SettingsText {
  static let keys = [
    "isBackgroundActivityAllowed", "isContentBeforeLaunchAllowed", "isLowPower", "isMetered", "language", "memoryBytes",
    "runtimeSeconds", "callSeconds", "periodicSeconds", "essentialWaitSeconds", "backgroundWaitSeconds",
  ]

  static func summary(_ settings: ServiceSettings, _ conditions: Conditions) -> SettingsSummary {
    SettingsSummary(
      isBackgroundActivityAllowed: settings.isBackgroundActivityAllowed,
      isContentBeforeLaunchAllowed: settings.isContentBeforeLaunchAllowed, isLowPower: conditions.isLowPower,
      isMetered: conditions.isMetered, isLowPowerSet: settings.isLowPower != nil,
      isMeteredSet: settings.isMetered != nil, language: conditions.language,
      isLanguageSet: settings.language != nil, memoryBytes: settings.memory,
      runtimeSeconds: settings.dailyRuntime.inSeconds,
      callSeconds: settings.callLimit.inSeconds,
      periodicSeconds: settings.periodicInterval?.inSeconds,
      essentialWaitSeconds: (settings.essentialWait ?? ServiceSettings.defaultEssentialWait).inSeconds,
      backgroundWaitSeconds: (settings.backgroundWait ?? ServiceSettings.defaultBackgroundWait).inSeconds,
      apps: settings.apps.mapValues { own in
        var app = SettingsSummary.App()
        app.isBackgroundActivityAllowed = own.isBackgroundActivityAllowed
        app.isContentBeforeLaunchAllowed = own.isContentBeforeLaunchAllowed
        app.runtimeSeconds = own.dailyRuntime?.inSeconds
        app.callSeconds = own.callLimit?.inSeconds
        app.periodicSeconds = own.periodicInterval?.inSeconds
        app.memoryBytes = own.memory
        return app
      })
  }

  /// `text` nil: as it was.
  static func set(
    _ key: String, _ text: String?, _ app: String?, _ settings: inout ServiceSettings
  ) throws(ServiceFailure) {
    let defaults = ServiceSettings()
    var own = app.map { settings.apps[$0] ?? .init() }
    switch key {
    case "isBackgroundActivityAllowed":
      let value = try flag(key, text)
      if own != nil {
        own?.isBackgroundActivityAllowed = value
      } else {
        settings.isBackgroundActivityAllowed = value ?? defaults.isBackgroundActivityAllowed
      }
    case "isContentBeforeLaunchAllowed":
      let value = try flag(key, text)
      if own != nil {
        own?.isContentBeforeLaunchAllowed = value
      } else {
        settings.isContentBeforeLaunchAllowed = value ?? defaults.isContentBeforeLaunchAllowed
      }
    case "runtimeSeconds":
      let value = try seconds(key, text)
      if own != nil { own?.dailyRuntime = value } else { settings.dailyRuntime = value ?? defaults.dailyRuntime }
    case "callSeconds":
      let value = try seconds(key, text)
      if own != nil { own?.callLimit = value } else { settings.callLimit = value ?? defaults.callLimit }
    case "periodicSeconds":
      let value = try seconds(key, text)
      if own != nil { own?.periodicInterval = value } else { settings.periodicInterval = value }
    case "essentialWaitSeconds":
      guard app == nil else { throw .command(64, "\(key) is for all apps, and not for one") }
      settings.essentialWait = try seconds(key, text)
    case "backgroundWaitSeconds":
      guard app == nil else { throw .command(64, "\(key) is for all apps, and not for one") }
      settings.backgroundWait = try seconds(key, text)
    case "isLowPower", "isMetered":
      guard app == nil else { throw .command(64, "\(key) is of the machine, and not of one app") }
      let value = try flag(key, text)
      if key == "isMetered" { settings.isMetered = value } else { settings.isLowPower = value }
    case "language":
      guard app == nil else { throw .command(64, "\(key) is of the user, and not of one app") }
      settings.language = try text.map { text throws(ServiceFailure) in
        guard let tag = PreferredLanguage.tag(text) else {
          throw .command(64, "\(key) is a language tag such as de-DE (RFC 5646), not \(Printable.text(text))")
        }
        return tag
      }
    case "memoryBytes":
      let value = try bytes(key, text)
      if own != nil { own?.memory = value } else { settings.memory = value ?? defaults.memory }
    default:
      throw .command(
        64, "there is no setting \(Printable.text(key))", remedy: "choose one of \(keys.joined(separator: ", "))")
    }
    if let app { settings.apps[app] = own == ServiceSettings.Override() ? nil : own }
  }

  private static func flag(_ key: String, _ text: String?) throws(ServiceFailure) -> Bool? {
    switch text?.lowercased() {
    case nil: nil
    case "true", "yes", "on", "1": true
    case "false", "no", "off", "0": false
    default: throw .command(64, "\(key) is true or false, not \(Printable.text(text ?? ""))")
    }
  }

  private static func bytes(_ key: String, _ text: String?) throws(ServiceFailure) -> Int64? {
    guard let text else { return nil }
    let range = SettingRange.memoryBytes
    guard let value = Int64(text), range.contains(value) else {
      throw .command(
        64,
        "\(key) is a number of bytes from \(range.lowerBound) to \(range.upperBound), not \(Printable.text(text))")
    }
    return value
  }

  private static func seconds(_ key: String, _ text: String?) throws(ServiceFailure) -> Duration? {
    guard let text, let range = SettingRange.seconds[key] else { return nil }
    guard let value = Double(text), range.contains(value) else {
      throw .command(
        64, "\(key) is a number of seconds from \(SettingRange.text(range)), not \(Printable.text(text))")
    }
    return .nanoseconds(Int64(value * 1e9))
  }
}
