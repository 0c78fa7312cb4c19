/// How an integer that measures something is written. Corresponds to Apple's `OSLogIntExtendedFormat`.
public enum OSLogIntExtendedFormat: Hashable, Sendable {
  /// 123 kbps
  case bitrate
  /// 118 Kibps
  case bitrateIEC
  /// 4.72 kB
  case byteCount
  /// 4.61 KiB
  case byteCountIEC
  /// 2007-01-09 09:41:00, in the local time zone
  case secondsSince1970

  func text(of number: some BinaryInteger) -> String {
    switch self {
    case .bitrate: Magnitude.text(of: number, step: 1000, prefixes: Magnitude.decimalPrefixes) + "bps"
    case .bitrateIEC: Magnitude.text(of: number, step: 1024, prefixes: Magnitude.binaryPrefixes) + "bps"
    case .byteCount: Magnitude.text(of: number, step: 1000, prefixes: Magnitude.decimalPrefixes) + "B"
    case .byteCountIEC: Magnitude.text(of: number, step: 1024, prefixes: Magnitude.binaryPrefixes) + "B"
    case .secondsSince1970: CFormat.date(Int(clamping: number))
    }
  }
}

/// How a 32-bit integer that stands for something of the system is written. Corresponds to those formats of Apple's
/// `OSLogInt32ExtendedFormat` that ``OSLogIntExtendedFormat`` doesn't have. The numbers are Linux's.
public enum OSLogInt32ExtendedFormat: Hashable, Sendable {
  /// [32: Broken pipe]
  case darwinErrno
  /// drwxr-xr-x
  case darwinMode
  /// [11: Segmentation fault]
  case darwinSignal
  /// 127.0.0.1, from the bytes in the order of the network
  case ipv4Address
  /// true, false
  case truth
  /// YES, NO
  case answer

  func text(of number: Int32) -> String {
    switch self {
    case .darwinErrno: "[\(number): \(String(cString: strerror(number)))]"
    case .darwinMode: Self.text(ofMode: mode_t(truncatingIfNeeded: number))
    case .darwinSignal: "[\(number): \(strsignal(number).map { String(cString: $0) } ?? "unknown")]"
    case .ipv4Address: withUnsafeBytes(of: number) { $0.map(String.init).joined(separator: ".") }
    case .truth: number == 0 ? "false" : "true"
    case .answer: number == 0 ? "NO" : "YES"
    }
  }

  private static func text(ofMode mode: mode_t) -> String {
    let kind: Character =
      switch mode & S_IFMT {
      case S_IFDIR: "d"
      case S_IFLNK: "l"
      case S_IFCHR: "c"
      case S_IFBLK: "b"
      case S_IFIFO: "p"
      case S_IFSOCK: "s"
      default: "-"
      }
    return String(kind) + String(zip(0..., "rwxrwxrwx").map { mode & (0o400 >> $0) == 0 ? "-" : $1 })
  }
}

/// How the bytes behind a pointer are written. Corresponds to Apple's `OSLogPointerFormat`.
public enum OSLogPointerFormat: Hashable, Sendable {
  /// 10742E39-0657-41F8-AB99-878C5EC2DCAA
  case uuid
  /// The address alone.
  case none

  func text(of bytes: UnsafeRawBufferPointer) -> String {
    guard self == .uuid, bytes.count >= 16 else {
      return "0x" + String(UInt(bitPattern: bytes.baseAddress), radix: 16)
    }
    return [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map { range in
      bytes[range].map { CFormat.text("%02X", Int32($0)) }.joined()
    }.joined(separator: "-")
  }
}

/// A number with three digits and the prefix of its unit.
private enum Magnitude {
  static let decimalPrefixes = ["", "k", "M", "G", "T", "P", "E"]
  static let binaryPrefixes = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]

  static func text(of number: some BinaryInteger, step: Double, prefixes: [String]) -> String {
    var number = Double(number)
    var prefixes = prefixes[...]
    // What would be rounded to a step is one already.
    while prefixes.count > 1, number.magnitude >= step - 0.5 {
      number /= step
      prefixes = prefixes.dropFirst()
    }
    // From 1000 to 1023, which three digits can't hold.
    let digits = CFormat.text(number.magnitude < 999.5 ? "%.3g" : "%.0f", number)
    return "\(digits) \(prefixes[prefixes.startIndex])"
  }
}

extension CFormat {
  fileprivate static func date(_ seconds: Int) -> String {
    var seconds = time_t(seconds)
    var date = tm()
    guard localtime_r(&seconds, &date) != nil else { return "\(seconds)" }
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { buffer in
      let length = strftime(buffer.baseAddress!, buffer.count, "%F %T", &date)
      return String(
        decoding: UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<length]), as: UTF8.self)
    }
  }
}
