/// A log message with interpolated values. Corresponds to Apple's `OSLogMessage`.
///
/// Composed at once, when it is created: there is no separate store of formats, and a host gets finished text.
public struct OSLogMessage: ExpressibleByStringInterpolation, Sendable {
  let text: String

  public init(stringLiteral value: String) { text = value }
  /// Creates a message of what was interpolated. Corresponds to Apple's `OSLogMessage.init(stringInterpolation:)`.
  public init(stringInterpolation: OSLogInterpolation) { text = stringInterpolation.text }
}

/// Collects the parts of an ``OSLogMessage``. Corresponds to Apple's `OSLogInterpolation`.
///
/// What a value's `attributes` say to Apple's log viewers has no place in text, and no effect.
public struct OSLogInterpolation: StringInterpolationProtocol, Sendable {
  private(set) var text: String

  /// Begins a message. Corresponds to Apple's `OSLogInterpolation.init(literalCapacity:interpolationCount:)`.
  public init(literalCapacity: Int, interpolationCount: Int) {
    text = ""
    text.reserveCapacity(literalCapacity + interpolationCount * 8)
  }

  /// Adds text of the program's own, which is public. Corresponds to Apple's `OSLogInterpolation.appendLiteral(_:)`.
  public mutating func appendLiteral(_ literal: String) { text += literal }

  /// Adds a string. Corresponds to Apple's `OSLogInterpolation.appendInterpolation`.
  public mutating func appendInterpolation(
    _ argumentString: @autoclosure () -> String, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) { append(argumentString(), align, privacy, isScalar: false) }

  /// Adds an integer. Corresponds to Apple's `OSLogInterpolation.appendInterpolation`.
  public mutating func appendInterpolation<Number: FixedWidthInteger>(
    _ number: @autoclosure () -> Number, format: OSLogIntegerFormatting = .decimal,
    align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto, attributes: String = ""
  ) { append(format.text(of: number()), align, privacy, isScalar: true) }

  /// Adds an integer that measures something. Corresponds to Apple's `OSLogInterpolation.appendInterpolation`.
  public mutating func appendInterpolation<Number: FixedWidthInteger>(
    _ number: @autoclosure () -> Number, format: OSLogIntExtendedFormat, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) { append(format.text(of: number()), .none, privacy, isScalar: true) }

  /// Adds a number that stands for something of the system. Corresponds to Apple's
  /// `OSLogInterpolation.appendInterpolation`.
  public mutating func appendInterpolation(
    _ number: @autoclosure () -> Int32, format: OSLogInt32ExtendedFormat, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) { append(format.text(of: number()), .none, privacy, isScalar: true) }

  /// Adds a floating-point number. Corresponds to Apple's `OSLogInterpolation.appendInterpolation`.
  public mutating func appendInterpolation(
    _ number: @autoclosure () -> Double, format: OSLogFloatFormatting = .fixed, align: OSLogStringAlignment = .none,
    privacy: OSLogPrivacy = .auto, attributes: String = ""
  ) { append(format.text(of: number()), align, privacy, isScalar: true) }

  /// Adds a floating-point number. Corresponds to Apple's `OSLogInterpolation.appendInterpolation`.
  public mutating func appendInterpolation(
    _ number: @autoclosure () -> Float, format: OSLogFloatFormatting = .fixed, align: OSLogStringAlignment = .none,
    privacy: OSLogPrivacy = .auto, attributes: String = ""
  ) { append(format.text(of: Double(number())), align, privacy, isScalar: true) }

  /// Adds a Boolean. Corresponds to Apple's `OSLogInterpolation.appendInterpolation`.
  public mutating func appendInterpolation(
    _ boolean: @autoclosure () -> Bool, format: OSLogBoolFormat = .truth, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) { append(format.text(of: boolean()), .none, privacy, isScalar: true) }

  /// Adds an address, in hexadecimal. Corresponds to Apple's `OSLogInterpolation.appendInterpolation`.
  public mutating func appendInterpolation(
    _ pointer: @autoclosure () -> UnsafeRawPointer, privacy: OSLogPrivacy = .auto, attributes: String = ""
  ) { append("0x" + String(UInt(bitPattern: pointer()), radix: 16), .none, privacy, isScalar: true) }

  /// Adds the bytes at an address. Corresponds to Apple's `OSLogInterpolation.appendInterpolation`.
  public mutating func appendInterpolation(
    _ bytes: @autoclosure () -> UnsafeRawBufferPointer, format: OSLogPointerFormat = .none,
    privacy: OSLogPrivacy = .auto, attributes: String = ""
  ) { append(format.text(of: bytes()), .none, privacy, isScalar: false) }

  /// Adds a type's name. Corresponds to Apple's `OSLogInterpolation.appendInterpolation`.
  public mutating func appendInterpolation(
    _ type: @autoclosure () -> any Any.Type, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) { append(String(describing: type()), align, privacy, isScalar: false) }

  // Numbers are that, too, and are public.
  /// Adds what has a description. Corresponds to Apple's `OSLogInterpolation.appendInterpolation`.
  @_disfavoredOverload
  public mutating func appendInterpolation<Value: CustomStringConvertible>(
    _ value: @autoclosure () -> Value, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) { append(value().description, align, privacy, isScalar: false) }

  /// So that `String(describing:)` doesn't write `Optional(…)` around an error.
  /// Corresponds to Apple's `OSLogInterpolation.appendInterpolation`.
  public mutating func appendInterpolation(
    _ error: @autoclosure () -> (any Error)?, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) { append(error().map { String(describing: $0) } ?? "nil", align, privacy, isScalar: false) }

  /// Errors, optionals and everything else: as `String(describing:)` writes them.
  /// Corresponds to Apple's `OSLogInterpolation.appendInterpolation`.
  @_disfavoredOverload
  public mutating func appendInterpolation<Value>(
    _ value: @autoclosure () -> Value, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) { append(String(describing: value()), align, privacy, isScalar: false) }

  private mutating func append(
    _ value: String, _ align: OSLogStringAlignment, _ privacy: OSLogPrivacy, isScalar: Bool
  ) {
    text += align.applied(to: privacy.applied(to: value, isScalar: isScalar))
  }
}
