/// Names where messages come from. Corresponds to Apple's `OSLog`.
public final class OSLog: Sendable {
  /// A category of messages that the system treats in its own way. Here it is the category's name and no more.
  public struct Category: Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public static let pointsOfInterest = Category(rawValue: "PointsOfInterest")
    public static let dynamicTracing = Category(rawValue: "DynamicTracing")
    public static let dynamicStackTracing = Category(rawValue: "DynamicStackTracing")
  }

  let subsystem: String
  let category: String
  private let isSilent: Bool

  /// - Parameters:
  ///   - subsystem: Usually the bundle identifier.
  ///   - category: The part of the subsystem.
  public init(subsystem: String, category: String) {
    self.subsystem = subsystem
    self.category = category
    self.isSilent = false
  }

  public convenience init(subsystem: String, category: Category) {
    self.init(subsystem: subsystem, category: category.rawValue)
  }

  private init(silent: Bool) {
    self.subsystem = ""
    self.category = ""
    self.isSilent = silent
  }

  public static let `default` = OSLog(silent: false)
  public static let disabled = OSLog(silent: true)

  /// Whether messages go anywhere. Which levels are kept is the host's affair.
  public func isEnabled(type: OSLogType) -> Bool { !isSilent }

  /// False: there is no profiler that would take them.
  public var signpostsEnabled: Bool { false }

  func write(_ type: OSLogType, _ message: String) {
    if !isSilent { LogSink.write(type, subsystem: subsystem, category: category, message: message) }
  }
}
