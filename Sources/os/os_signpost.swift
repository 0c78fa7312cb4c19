// The names are those of Apple's os.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// What a signpost marks. Corresponds to Apple's `OSSignpostType`, with the same raw values.
public struct OSSignpostType: RawRepresentable, Equatable, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }
  public init(_ rawValue: UInt8) { self.rawValue = rawValue }

  public static let event = OSSignpostType(0x00)
  public static let begin = OSSignpostType(0x01)
  public static let end = OSSignpostType(0x02)
}

/// Marks a moment for a profiler. Corresponds to Apple's `os_signpost(_:dso:log:name:signpostID:)`.
///
/// Like those of ``OSSignposter``, the call compiles and measures nothing.
public func os_signpost(
  _ type: OSSignpostType, dso: UnsafeRawPointer? = nil, log: OSLog, name: StaticString,
  signpostID: OSSignpostID = .exclusive
) {}

/// As above, with a C format and its values.
@_disfavoredOverload
public func os_signpost(
  _ type: OSSignpostType, dso: UnsafeRawPointer? = nil, log: OSLog, name: StaticString,
  signpostID: OSSignpostID = .exclusive, _ format: StaticString, _ arguments: Any?...
) {}

/// As above, with a message.
public func os_signpost(
  _ type: OSSignpostType, dso: UnsafeRawPointer? = nil, log: OSLog, name: StaticString,
  signpostID: OSSignpostID = .exclusive, _ message: OSLogMessage
) {}
