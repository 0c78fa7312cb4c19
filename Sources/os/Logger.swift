/// Writes messages to the log of the host, or to standard error in a process that no host has loaded.
///
/// Corresponds to Apple's `Logger`. Safe to use from any thread; a call returns when the host has taken the message.
public struct Logger: Sendable {
  private let log: OSLog

  /// A logger without subsystem and category.
  public init() { log = .default }

  /// - Parameters:
  ///   - subsystem: Usually the bundle identifier.
  ///   - category: The part of the subsystem.
  public init(subsystem: String, category: String) { log = OSLog(subsystem: subsystem, category: category) }

  /// A logger that writes where a log does. Corresponds to Apple's `Logger.init(_:)`.
  public init(_ logObj: OSLog) { log = logObj }

  /// Writes a message of the level default. Corresponds to Apple's `Logger.log(_:)`.
  public func log(_ message: OSLogMessage) { log.write(.default, message.text) }
  /// Writes a message of a level. Corresponds to Apple's `Logger.log(level:_:)`.
  public func log(level: OSLogType, _ message: OSLogMessage) { log.write(level, message.text) }

  /// Writes a message of the level debug. Corresponds to Apple's `Logger.trace(_:)`.
  public func trace(_ message: OSLogMessage) { log.write(.debug, message.text) }
  /// Writes a message of the level debug. Corresponds to Apple's `Logger.debug(_:)`.
  public func debug(_ message: OSLogMessage) { log.write(.debug, message.text) }
  /// Writes a message of the level info. Corresponds to Apple's `Logger.info(_:)`.
  public func info(_ message: OSLogMessage) { log.write(.info, message.text) }
  /// Writes a message of the level default. Corresponds to Apple's `Logger.notice(_:)`.
  public func notice(_ message: OSLogMessage) { log.write(.default, message.text) }
  /// Writes a message of the level error. Corresponds to Apple's `Logger.warning(_:)`.
  public func warning(_ message: OSLogMessage) { log.write(.error, message.text) }
  /// Writes a message of the level error. Corresponds to Apple's `Logger.error(_:)`.
  public func error(_ message: OSLogMessage) { log.write(.error, message.text) }
  /// Writes a message of the level fault. Corresponds to Apple's `Logger.critical(_:)`.
  public func critical(_ message: OSLogMessage) { log.write(.fault, message.text) }
  /// Writes a message of the level fault. Corresponds to Apple's `Logger.fault(_:)`.
  public func fault(_ message: OSLogMessage) { log.write(.fault, message.text) }
}
