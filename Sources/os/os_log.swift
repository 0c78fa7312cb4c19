// The names are those of Apple's os.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// Writes a message. Corresponds to Apple's `os_log(_:)`.
public func os_log(_ message: OSLogMessage) { OSLog.default.write(.default, message.text) }

/// Writes a message of a level to a log. Corresponds to Apple's `os_log(_:log:_:)`.
public func os_log(_ type: OSLogType, log: OSLog = .default, _ message: OSLogMessage) { log.write(type, message.text) }

/// Writes a message with a C format. Corresponds to Apple's `os_log(_:dso:log:type:_:)`.
///
/// - Parameters:
///   - message: A `printf` format, with `%@` for objects and `%{public}`, `%{private}` before a conversion.
///   - args: The values. Of any type, because strings aren't variadic C arguments on Linux.
@_disfavoredOverload
public func os_log(
  _ message: StaticString, dso: UnsafeRawPointer? = nil, log: OSLog = .default, type: OSLogType = .default,
  _ args: Any?...
) {
  let code = errno
  log.write(type, FormattedMessage.text(message.description, args, code: code))
}

/// As above, with the level first.
/// Corresponds to Apple's `os_log(_:dso:log:_:_:)`.
@_disfavoredOverload
public func os_log(
  _ type: OSLogType, dso: UnsafeRawPointer? = nil, log: OSLog = .default, _ message: StaticString, _ args: Any?...
) {
  let code = errno
  log.write(type, FormattedMessage.text(message.description, args, code: code))
}
