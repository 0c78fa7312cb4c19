/// Names where messages come from. Corresponds to Apple's `OSLog`.
public final class OSLog: Sendable {
  /// A category of messages that the system treats in its own way. Here it is the category's name and no more.
  public struct Category: Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// Intervals that matter to a user. Corresponds to Apple's `OSLog.Category.pointsOfInterest`.
    public static let pointsOfInterest = Category(rawValue: "PointsOfInterest")
    /// For tracing that is switched on. Corresponds to Apple's `OSLog.Category.dynamicTracing`.
    public static let dynamicTracing = Category(rawValue: "DynamicTracing")
    /// The same, with stacks. Corresponds to Apple's `OSLog.Category.dynamicStackTracing`.
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

  /// Creates a log of a category with a name of the system's. Corresponds to Apple's
  /// `OSLog.init(subsystem:category:)`.
  public convenience init(subsystem: String, category: Category) {
    self.init(subsystem: subsystem, category: category.rawValue)
  }

  private init(silent: Bool) {
    self.subsystem = ""
    self.category = ""
    self.isSilent = silent
  }

  /// A log without subsystem and category. Corresponds to Apple's `OSLog.default`.
  public static let `default` = OSLog(silent: false)
  /// A log that drops everything. Corresponds to Apple's `OSLog.disabled`.
  public static let disabled = OSLog(silent: true)

  /// Whether messages go anywhere. Which levels are kept is the host's affair.
  /// Corresponds to Apple's `OSLog.isEnabled(type:)`.
  public func isEnabled(type: OSLogType) -> Bool { !isSilent }

  /// False: there is no profiler that would take them.
  public var signpostsEnabled: Bool { false }

  func write(_ type: OSLogType, _ message: String) {
    if !isSilent { LogSink.write(type, subsystem: subsystem, category: category, message: message) }
  }
}
