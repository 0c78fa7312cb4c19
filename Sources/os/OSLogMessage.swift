/// A log message with interpolated values. Corresponds to Apple's `OSLogMessage`.
///
/// Composed at once, when it is created: there is no separate store of formats, and a host gets finished text.
public struct OSLogMessage: ExpressibleByStringInterpolation, Sendable {
  let text: String

  public init(stringLiteral value: String) { text = value }
  public init(stringInterpolation: OSLogInterpolation) { text = stringInterpolation.text }
}

/// Collects the parts of an ``OSLogMessage``. Corresponds to Apple's `OSLogInterpolation`.
///
/// What a value's `attributes` say to Apple's log viewers has no place in text, and no effect.
public struct OSLogInterpolation: StringInterpolationProtocol, Sendable {
  private(set) var text: String

  public init(literalCapacity: Int, interpolationCount: Int) {
    text = ""
    text.reserveCapacity(literalCapacity + interpolationCount * 8)
  }

  public mutating func appendLiteral(_ literal: String) { text += literal }

  public mutating func appendInterpolation(
    _ argumentString: @autoclosure () -> String, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) { append(argumentString(), align, privacy, isScalar: false) }

  public mutating func appendInterpolation<Number: FixedWidthInteger>(
    _ number: @autoclosure () -> Number, format: OSLogIntegerFormatting = .decimal,
    align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto, attributes: String = ""
  ) { append(format.text(of: number()), align, privacy, isScalar: true) }

  public mutating func appendInterpolation<Number: FixedWidthInteger>(
    _ number: @autoclosure () -> Number, format: OSLogIntExtendedFormat, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) { append(format.text(of: number()), .none, privacy, isScalar: true) }

  public mutating func appendInterpolation(
    _ number: @autoclosure () -> Int32, format: OSLogInt32ExtendedFormat, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) { append(format.text(of: number()), .none, privacy, isScalar: true) }

  public mutating func appendInterpolation(
    _ number: @autoclosure () -> Double, format: OSLogFloatFormatting = .fixed, align: OSLogStringAlignment = .none,
    privacy: OSLogPrivacy = .auto, attributes: String = ""
  ) { append(format.text(of: number()), align, privacy, isScalar: true) }

  public mutating func appendInterpolation(
    _ number: @autoclosure () -> Float, format: OSLogFloatFormatting = .fixed, align: OSLogStringAlignment = .none,
    privacy: OSLogPrivacy = .auto, attributes: String = ""
  ) { append(format.text(of: Double(number())), align, privacy, isScalar: true) }

  public mutating func appendInterpolation(
    _ boolean: @autoclosure () -> Bool, format: OSLogBoolFormat = .truth, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) { append(format.text(of: boolean()), .none, privacy, isScalar: true) }

  public mutating func appendInterpolation(
    _ pointer: @autoclosure () -> UnsafeRawPointer, privacy: OSLogPrivacy = .auto, attributes: String = ""
  ) { append("0x" + String(UInt(bitPattern: pointer()), radix: 16), .none, privacy, isScalar: true) }

  public mutating func appendInterpolation(
    _ bytes: @autoclosure () -> UnsafeRawBufferPointer, format: OSLogPointerFormat = .none,
    privacy: OSLogPrivacy = .auto, attributes: String = ""
  ) { append(format.text(of: bytes()), .none, privacy, isScalar: false) }

  public mutating func appendInterpolation(
    _ type: @autoclosure () -> any Any.Type, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) { append(String(describing: type()), align, privacy, isScalar: false) }

  // Numbers are that, too, and are public.
  @_disfavoredOverload
  public mutating func appendInterpolation<Value: CustomStringConvertible>(
    _ value: @autoclosure () -> Value, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) { append(value().description, align, privacy, isScalar: false) }

  /// So that `String(describing:)` doesn't write `Optional(…)` around an error.
  public mutating func appendInterpolation(
    _ error: @autoclosure () -> (any Error)?, align: OSLogStringAlignment = .none, privacy: OSLogPrivacy = .auto,
    attributes: String = ""
  ) { append(error().map { String(describing: $0) } ?? "nil", align, privacy, isScalar: false) }

  /// Errors, optionals and everything else: as `String(describing:)` writes them.
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
