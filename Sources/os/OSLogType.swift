/// How much a message matters. Corresponds to Apple's `OSLogType`, with the same raw values.
public struct OSLogType: RawRepresentable, Equatable, Hashable, Sendable {
  public let rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }
  /// Creates a type of its raw value. Corresponds to Apple's `OSLogType.init(_:)`.
  public init(_ rawValue: UInt8) { self.rawValue = rawValue }

  /// What may matter. Corresponds to Apple's `OSLogType.default`.
  public static let `default` = OSLogType(0x00)
  /// What helps. Corresponds to Apple's `OSLogType.info`.
  public static let info = OSLogType(0x01)
  /// For those who look for a mistake. Corresponds to Apple's `OSLogType.debug`.
  public static let debug = OSLogType(0x02)
  /// Something failed. Corresponds to Apple's `OSLogType.error`.
  public static let error = OSLogType(0x10)
  /// A mistake in the program. Corresponds to Apple's `OSLogType.fault`.
  public static let fault = OSLogType(0x11)

  var name: String {
    switch self {
    case .debug: "debug"
    case .info: "info"
    case .error: "error"
    case .fault: "fault"
    default: "default"
    }
  }
}
