/// How an integer is written. Corresponds to Apple's `OSLogIntegerFormatting`.
public struct OSLogIntegerFormatting: Sendable {
  private var radix = 10
  private var explicitPositiveSign = false
  private var prefix = ""
  private var uppercase = false
  private var minimumDigits = 0

  /// Decimal. Corresponds to Apple's `OSLogIntegerFormatting.decimal`.
  public static var decimal: OSLogIntegerFormatting { OSLogIntegerFormatting() }
  /// Hexadecimal. Corresponds to Apple's `OSLogIntegerFormatting.hex`.
  public static var hex: OSLogIntegerFormatting { .hex() }
  /// Octal. Corresponds to Apple's `OSLogIntegerFormatting.octal`.
  public static var octal: OSLogIntegerFormatting { .octal() }

  /// Decimal, with a sign or leading zeros. Corresponds to Apple's
  /// `OSLogIntegerFormatting.decimal(explicitPositiveSign:minDigits:)`.
  public static func decimal(
    explicitPositiveSign: Bool = false, minDigits: @autoclosure () -> Int = 0
  ) -> OSLogIntegerFormatting {
    OSLogIntegerFormatting(explicitPositiveSign: explicitPositiveSign, minimumDigits: minDigits())
  }

  /// Hexadecimal, with a prefix, in capitals or with leading zeros. Corresponds to Apple's
  /// `OSLogIntegerFormatting.hex(explicitPositiveSign:includePrefix:uppercase:minDigits:)`.
  public static func hex(
    explicitPositiveSign: Bool = false, includePrefix: Bool = false, uppercase: Bool = false,
    minDigits: @autoclosure () -> Int = 0
  ) -> OSLogIntegerFormatting {
    OSLogIntegerFormatting(
      radix: 16, explicitPositiveSign: explicitPositiveSign, prefix: includePrefix ? "0x" : "", uppercase: uppercase,
      minimumDigits: minDigits())
  }

  /// Octal, with a prefix or leading zeros. Corresponds to Apple's
  /// `OSLogIntegerFormatting.octal(explicitPositiveSign:includePrefix:uppercase:minDigits:)`.
  public static func octal(
    explicitPositiveSign: Bool = false, includePrefix: Bool = false, uppercase: Bool = false,
    minDigits: @autoclosure () -> Int = 0
  ) -> OSLogIntegerFormatting {
    OSLogIntegerFormatting(
      radix: 8, explicitPositiveSign: explicitPositiveSign, prefix: includePrefix ? "0o" : "", uppercase: uppercase,
      minimumDigits: minDigits())
  }

  /// Like C, hexadecimal and octal show a negative number's bits.
  func text<Number: FixedWidthInteger>(of number: Number) -> String {
    let magnitude = radix == 10 ? number.magnitude : Number.Magnitude(truncatingIfNeeded: number)
    let digits = String(magnitude, radix: radix, uppercase: uppercase)
    let zeros = String(repeating: "0", count: max(0, minimumDigits - digits.count))
    let sign = number >= 0 ? (explicitPositiveSign ? "+" : "") : radix == 10 ? "-" : ""
    return sign + prefix + zeros + digits
  }
}

/// How a floating-point number is written. Corresponds to Apple's `OSLogFloatFormatting`.
public struct OSLogFloatFormatting: Sendable {
  private var conversion = "f"
  private var precision: Int?
  private var explicitPositiveSign = false
  private var uppercase = false

  /// As `%f` of printf(3). Corresponds to Apple's `OSLogFloatFormatting.fixed`.
  public static var fixed: OSLogFloatFormatting { OSLogFloatFormatting() }
  /// As `%a` of printf(3). Corresponds to Apple's `OSLogFloatFormatting.hex`.
  public static var hex: OSLogFloatFormatting { OSLogFloatFormatting(conversion: "a") }
  /// As `%e` of printf(3). Corresponds to Apple's `OSLogFloatFormatting.exponential`.
  public static var exponential: OSLogFloatFormatting { OSLogFloatFormatting(conversion: "e") }
  /// As `%g` of printf(3). Corresponds to Apple's `OSLogFloatFormatting.hybrid`.
  public static var hybrid: OSLogFloatFormatting { OSLogFloatFormatting(conversion: "g") }

  /// As `%f` of printf(3), with so many digits after the point. Corresponds to Apple's
  /// `OSLogFloatFormatting.fixed(precision:explicitPositiveSign:uppercase:)`.
  public static func fixed(
    precision: @autoclosure () -> Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting(
      precision: precision(), explicitPositiveSign: explicitPositiveSign, uppercase: uppercase)
  }

  /// As `%a` of printf(3). Corresponds to Apple's `OSLogFloatFormatting.hex(explicitPositiveSign:uppercase:)`.
  public static func hex(explicitPositiveSign: Bool = false, uppercase: Bool = false) -> OSLogFloatFormatting {
    OSLogFloatFormatting(conversion: "a", explicitPositiveSign: explicitPositiveSign, uppercase: uppercase)
  }

  /// As `%e` of printf(3), with so many digits after the point. Corresponds to Apple's
  /// `OSLogFloatFormatting.exponential(precision:explicitPositiveSign:uppercase:)`.
  public static func exponential(
    precision: @autoclosure () -> Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting(
      conversion: "e", precision: precision(), explicitPositiveSign: explicitPositiveSign, uppercase: uppercase)
  }

  /// As `%g` of printf(3), with so many digits. Corresponds to Apple's
  /// `OSLogFloatFormatting.hybrid(precision:explicitPositiveSign:uppercase:)`.
  public static func hybrid(
    precision: @autoclosure () -> Int = 6, explicitPositiveSign: Bool = false, uppercase: Bool = false
  ) -> OSLogFloatFormatting {
    OSLogFloatFormatting(
      conversion: "g", precision: precision(), explicitPositiveSign: explicitPositiveSign, uppercase: uppercase)
  }

  func text(of number: Double) -> String {
    let digits = precision.map { ".\(max(0, $0))" } ?? ""
    let format = "%\(explicitPositiveSign ? "+" : "")\(digits)\(uppercase ? conversion.uppercased() : conversion)"
    return CFormat.text(format, number)
  }
}

/// How a Boolean is written. Corresponds to Apple's `OSLogBoolFormat`.
public enum OSLogBoolFormat: Sendable {
  /// true, false
  case truth
  /// yes, no
  case answer

  func text(of value: Bool) -> String {
    switch self {
    case .truth: value ? "true" : "false"
    case .answer: value ? "yes" : "no"
    }
  }
}

/// `printf` of one argument.
enum CFormat {
  static func text(_ format: String, _ argument: any CVarArg) -> String {
    // The C function measures first, since neither a precision nor a double has a useful bound.
    let length = withVaList([argument]) { vsnprintf(nil, 0, format, $0) }
    guard length > 0 else { return "" }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(length) + 1) { buffer in
      _ = withVaList([argument]) { vsnprintf(buffer.baseAddress, buffer.count, format, $0) }
      return String(cString: buffer.baseAddress!)
    }
  }
}
