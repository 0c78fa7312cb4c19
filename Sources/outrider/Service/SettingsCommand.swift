internal import ArgumentParser
internal import AssetModel
internal import Basics
internal import Foundation
internal import Sandbox
internal import ServiceProtocol

struct SettingsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "settings", abstract: "Prints and changes what extensions may do, for all apps or for one.",
    discussion: """
      What is set for one app counts for it instead of what is set for all; 'default' takes a setting back. isLowPower \
      and isMetered are of the machine and never of one app: by default they follow the power profile, the battery \
      (low below 20 %) and NetworkManager. The language is the one that the service was started with, until the \
      system's changes; extensions are asked anew when it does.

      KEYS
        isBackgroundActivityAllowed   extensions may run, downloads be scheduled
        isContentBeforeLaunchAllowed  also before their app was launched
        isLowPower                    nothing runs in the background
        isMetered                     background downloads wait
        language                      what the user prefers, for example de-DE
        memoryBytes                   memory of an extension, for example 16MiB
        runtimeSeconds                of an extension in a day, for example 10m
        callSeconds                   time of one call, for example 30s
        periodicSeconds               between an app's periodic wakes; by use
        essentialWaitSeconds          of an essential download without a network
        backgroundWaitSeconds         of a background one without progress

      EXAMPLES
        outrider settings
        outrider settings get isMetered
        outrider settings set isMetered true
        outrider settings set memoryBytes 16MiB --app com.example.sessions
        outrider settings set memoryBytes default --app com.example.sessions
      """,
    subcommands: [SettingsShowCommand.self, SettingsGetCommand.self, SettingsSetCommand.self],
    defaultSubcommand: SettingsShowCommand.self)
}

struct SettingsShowCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Prints all settings, or those of one app.",
    usage: "outrider settings show [<options>]",
    discussion: """
      EXAMPLES
        outrider settings show
        outrider settings --app com.example.sessions
        outrider settings --json
      """)
  @Option(help: ArgumentHelp("As they are for that app.", valueName: "id"), completion: .apps) var app: String?
  @OptionGroup var service: ServiceOptions
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func run() async {
    do {
      let settings = try await ServiceOperator.connect(try service.place()).settings(readFor: app)
      if json {
        // The whole shape for all apps, what is set for one.
        if let app { try Output.json(settings.apps[app] ?? .init()) } else { try Output.json(settings) }
      } else {
        var table = FittedTable([.fixed("SETTING"), .fixed("VALUE"), .text("OF")])
        for key in SettingKey.allCases where app == nil || key.isForApps {
          let own = app.flatMap { key.value(settings, app: $0) }
          table.add([
            key.rawValue, (own ?? key.value(settings)).text,
            own != nil ? app ?? "" : key.isLive(settings) ? "the machine" : "all apps",
          ])
        }
        if app == nil {
          for (app, own) in settings.apps.sorted(by: { $0.key < $1.key }) {
            for key in SettingKey.allCases {
              if let value = key.value(own) { table.add([key.rawValue, value.text, app]) }
            }
          }
        }
        table.print()
      }
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }
}

struct SettingsGetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get", abstract: "Prints one setting.",
    usage: "outrider settings get [<options>] <key>",
    discussion: """
      EXAMPLES
        outrider settings get isMetered
        outrider settings get memoryBytes --app com.example.sessions
      """)
  @Argument(help: "One of the keys that outrider settings lists.") var key: SettingKey
  @Option(help: ArgumentHelp("As it is for that app.", valueName: "id"), completion: .apps) var app: String?
  @OptionGroup var service: ServiceOptions
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func run() async {
    do {
      let settings = try await ServiceOperator.connect(try service.place()).settings(readFor: app)
      let own = app.flatMap { key.value(settings, app: $0) }
      let value = own ?? key.value(settings)
      if json { try Output.json([key.rawValue: value]) } else { Output.line(value.text) }
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }
}

struct SettingsSetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set", abstract: "Changes one setting, for all apps or for one; 'default' takes it back.",
    usage: "outrider settings set [<options>] <key> <value>",
    discussion: """
      EXAMPLES
        outrider settings set isMetered true
        outrider settings set runtimeSeconds 20m --app com.example.sessions
        outrider settings set isMetered default
      """)
  @Argument(help: "One of the keys that outrider settings lists.") var key: SettingKey
  // So that a number below zero is one, and no unknown option.
  @Argument(parsing: .allUnrecognized, help: "true or false, a size, a time, a language tag, or default.") var value:
    [String]
  @Option(help: ArgumentHelp("For that app only.", valueName: "id"), completion: .apps) var app: String?
  @OptionGroup var service: ServiceOptions
  @Flag(help: "Print one JSON object on standard output.") var json = false

  func validate() throws {
    guard value.count == 1 else {
      if let option = value.first(where: { $0.hasPrefix("--") }) {
        throw ValidationError("Unknown option '\(option)'.")
      }
      throw ValidationError("\(key.rawValue) takes one value, and \(value.count) were given.")
    }
    _ = try key.normalized(value[0])
    if app != nil, !key.isForApps { throw ValidationError("\(key.rawValue) is for all apps, not for one.") }
  }

  func run() async {
    do {
      let service = try await ServiceOperator.connect(try service.place())
      _ = try await service.ask(.set(key: key.rawValue, value: try key.normalized(value[0]), app: app))
      let settings = try await service.settings()
      let now = app.flatMap { key.value(settings, app: $0) } ?? key.value(settings)
      if json {
        try Output.json([key.rawValue: now])
      } else {
        Output.note("\(key.rawValue) is \(now.text)\(app.map { " for \(Printable.text($0))" } ?? "")")
      }
      Exit.leave(0)
    } catch {
      Exit.with(error)
    }
  }
}

/// The settings by their names in `SettingsSummary`.
enum SettingKey: String, CaseIterable, ExpressibleByArgument {
  case isBackgroundActivityAllowed, isContentBeforeLaunchAllowed, isLowPower, isMetered, language
  case memoryBytes, runtimeSeconds, callSeconds, periodicSeconds, essentialWaitSeconds, backgroundWaitSeconds

  enum Value: Encodable {
    case flag(Bool)
    case tag(String?)
    case bytes(Int64)
    case seconds(Double)
    /// As the app is used.
    case byUse

    var text: String {
      switch self {
      case .flag(let value): "\(value)"
      case .tag(let value): value ?? "unknown"
      case .bytes(let value): "\(value)"
      case .byUse: "as the app is used"
      case .seconds(let value): value == value.rounded() ? String(format: "%.0f", value) : "\(value)"
      }
    }

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      switch self {
      case .flag(let value): try container.encode(value)
      case .tag(let value): try container.encode(value)
      case .bytes(let value): try container.encode(value)
      case .seconds(let value): try container.encode(value)
      case .byUse: try container.encodeNil()
      }
    }
  }

  /// Power and network are the machine's, and the language is the user's.
  var isForApps: Bool {
    ![.isLowPower, .isMetered, .language, .essentialWaitSeconds, .backgroundWaitSeconds].contains(self)
  }

  /// It isn't set: it is as the machine says.
  func isLive(_ settings: SettingsSummary) -> Bool {
    switch self {
    case .isLowPower: !settings.isLowPowerSet
    case .isMetered: !settings.isMeteredSet
    case .language: !settings.isLanguageSet
    default: false
    }
  }

  func value(_ settings: SettingsSummary) -> Value {
    switch self {
    case .isBackgroundActivityAllowed: .flag(settings.isBackgroundActivityAllowed)
    case .isContentBeforeLaunchAllowed: .flag(settings.isContentBeforeLaunchAllowed)
    case .isLowPower: .flag(settings.isLowPower)
    case .isMetered: .flag(settings.isMetered)
    case .language: .tag(settings.language)
    case .memoryBytes: .bytes(settings.memoryBytes)
    case .runtimeSeconds: .seconds(settings.runtimeSeconds)
    case .callSeconds: .seconds(settings.callSeconds)
    case .periodicSeconds: settings.periodicSeconds.map(Value.seconds) ?? .byUse
    case .essentialWaitSeconds: .seconds(settings.essentialWaitSeconds)
    case .backgroundWaitSeconds: .seconds(settings.backgroundWaitSeconds)
    }
  }

  func value(_ settings: SettingsSummary, app: String) -> Value? { settings.apps[app].flatMap(value) }

  /// nil: as for all.
  func value(_ app: SettingsSummary.App) -> Value? {
    switch self {
    case .isBackgroundActivityAllowed: app.isBackgroundActivityAllowed.map(Value.flag)
    case .isContentBeforeLaunchAllowed: app.isContentBeforeLaunchAllowed.map(Value.flag)
    case .isLowPower, .isMetered, .language, .essentialWaitSeconds, .backgroundWaitSeconds: nil
    case .periodicSeconds: app.periodicSeconds.map(Value.seconds)
    case .memoryBytes: app.memoryBytes.map(Value.bytes)
    case .runtimeSeconds: app.runtimeSeconds.map(Value.seconds)
    case .callSeconds: app.callSeconds.map(Value.seconds)
    }
  }

  /// What the service is told: true or false, bytes, seconds; nil: the default again.
  func normalized(_ text: String) throws -> String? {
    if text == "default" { return nil }
    switch self {
    case .isBackgroundActivityAllowed, .isContentBeforeLaunchAllowed, .isLowPower, .isMetered:
      switch text.lowercased() {
      case "true", "yes", "on": return "true"
      case "false", "no", "off": return "false"
      default: throw ValidationError("\(rawValue) is true, false or default.")
      }
    case .language: return text
    case .memoryBytes:
      let range = SettingRange.memoryBytes
      guard let bytes = Quantity.bytes(text), range.contains(Int64(bytes)) else {
        throw ValidationError(
          "\(rawValue) is a size from \(range.lowerBound >> 20)MiB to \(range.upperBound >> 20)MiB, or default, not '\(Printable.text(text, limit: 40))'."
        )
      }
      return "\(bytes)"
    case .runtimeSeconds, .callSeconds, .periodicSeconds, .essentialWaitSeconds, .backgroundWaitSeconds:
      let seconds = text == "0" ? 0 : Quantity.duration(text).map { $0 / .seconds(1) }
      guard let seconds, let range = SettingRange.seconds[rawValue], range.contains(seconds) else {
        let range = SettingRange.seconds[rawValue].map(SettingRange.text) ?? ""
        throw ValidationError(
          "\(rawValue) is a time from \(range) seconds, for example 30s or 10m, or default, not '\(Printable.text(text, limit: 40))'."
        )
      }
      return Value.seconds(seconds).text
    }
  }
}
