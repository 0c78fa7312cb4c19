// The names are those of Apple's os.
// swift-format-ignore-file: AlwaysUseLowerCamelCase

/// What a signpost marks. Corresponds to Apple's `OSSignpostType`, with the same raw values.
public struct OSSignpostType: RawRepresentable, Equatable, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }
  /// Creates a type of its raw value. Corresponds to Apple's `OSSignpostType.init(_:)`.
  public init(_ rawValue: UInt8) { self.rawValue = rawValue }

  /// A moment. Corresponds to Apple's `OSSignpostType.event`.
  public static let event = OSSignpostType(0x00)
  /// The beginning of an interval. Corresponds to Apple's `OSSignpostType.begin`.
  public static let begin = OSSignpostType(0x01)
  /// The end of an interval. Corresponds to Apple's `OSSignpostType.end`.
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
/// Corresponds to Apple's `os_signpost(_:dso:log:name:signpostID:_:_:)`.
@_disfavoredOverload
public func os_signpost(
  _ type: OSSignpostType, dso: UnsafeRawPointer? = nil, log: OSLog, name: StaticString,
  signpostID: OSSignpostID = .exclusive, _ format: StaticString, _ arguments: Any?...
) {}

/// As above, with a message.
/// Corresponds to Apple's `os_signpost(_:dso:log:name:signpostID:_:)`.
public func os_signpost(
  _ type: OSSignpostType, dso: UnsafeRawPointer? = nil, log: OSLog, name: StaticString,
  signpostID: OSSignpostID = .exclusive, _ message: OSLogMessage
) {}
