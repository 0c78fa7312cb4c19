/// Reads the C formats of `os_log`.
///
/// Nothing reaches the C library but a number with a conversion that fits it, so a wrong format can't read wrong memory:
/// a conversion without an argument stays in the message as it is, and one that doesn't fit is written by description.
enum FormattedMessage {
  /// `code`: errno at the call, which `%m` writes.
  static func text(_ format: String, _ arguments: [Any?], code: Int32 = 0) -> String {
    var result = ""
    var rest = format[...]
    var arguments = arguments[...]
    while let percent = rest.firstIndex(of: "%") {
      result += rest[..<percent]
      rest = rest[percent...]
      guard let specification = Specification(parsing: &rest) else {
        result += "%"
        rest = rest.dropFirst()
        continue
      }
      result += specification.text(taking: &arguments, code: code) ?? String(specification.source)
    }
    return result + rest
  }
}

/// One conversion: `%`, `{options}`, flags with width and precision, length and a letter.
private struct Specification {
  let source: Substring
  private let options: [Substring]
  private let flags: Substring
  private let length: Substring
  private let conversion: Character

  /// Takes the specification off the front of `text`; nil, and nothing is taken, if it isn't one.
  init?(parsing text: inout Substring) {
    var rest = text.dropFirst()
    var options: Substring = ""
    if rest.first == "{" {
      guard let end = rest.firstIndex(of: "}") else { return nil }
      options = rest[rest.index(after: rest.startIndex)..<end]
      rest = rest[end...].dropFirst()
    }
    let flags = rest.prefix { "0123456789.*+- #'".contains($0) }
    rest = rest.dropFirst(flags.count)
    let length = rest.prefix { "hlqjztL".contains($0) }
    rest = rest.dropFirst(length.count)
    guard let conversion = rest.popFirst(), "@diouxXcsSpfFeEgGaAm%".contains(conversion) else { return nil }
    // Three digits are plenty; the C library would build any width it is told.
    guard !flags.split(whereSeparator: { !$0.isNumber }).contains(where: { $0.count > 3 }) else { return nil }
    self.source = text[..<rest.startIndex]
    self.options = options.split { $0 == "," || $0 == " " }
    self.flags = flags
    self.length = length
    self.conversion = conversion
    text = rest
  }

  /// The text of the next argument, of which those for the stars come first; nil if there are too few.
  func text(taking arguments: inout ArraySlice<Any?>, code: Int32) -> String? {
    if conversion == "%" { return "%" }
    if conversion == "m" { return String(cString: strerror(code)) }
    var flags = ""
    for character in self.flags {
      guard character == "*" else {
        flags.append(character)
        continue
      }
      guard let argument = arguments.popFirst() else { return nil }
      let number = (argument as? any BinaryInteger).map { max(-999, min(999, Int(clamping: $0))) } ?? 0
      // C takes a negative precision for none.
      if number < 0, flags.last == "." { flags.removeLast() } else { flags += String(number) }
    }
    guard let argument = arguments.popFirst() else { return nil }
    guard let argument else { return "(null)" }
    return privacy.applied(to: text(of: argument, flags), isScalar: isScalar(argument))
  }

  /// Strings and objects aren't, whatever the conversion; nor is a number that `%@` writes.
  private func isScalar(_ argument: Any) -> Bool {
    conversion != "@" && conversion != "s"
      && (argument is Bool || argument is any BinaryInteger || argument is any BinaryFloatingPoint)
  }

  private var privacy: OSLogPrivacy {
    let mask = options.contains("mask.hash") ? OSLogPrivacy.Mask.hash : .none
    if options.contains("sensitive") { return .sensitive(mask: mask) }
    if options.contains("private") { return .private(mask: mask) }
    return options.contains("public") ? .public : .auto(mask: mask)
  }

  private func text(of argument: Any, _ flags: String) -> String {
    switch conversion {
    case "d", "i", "o", "u", "x", "X", "c", "p":
      let flag = (argument as? Bool).map { $0 ? 1 : 0 }
      guard let number = flag ?? argument as? any BinaryInteger else { break }
      return text(ofInteger: number, flags)
    case "f", "F", "e", "E", "g", "G", "a", "A":
      guard let number = argument as? any BinaryFloatingPoint else { break }
      return CFormat.text("%\(flags)\(conversion)", Double(number))
    case "s":
      let text = Self.text(ofPointer: argument, flags) ?? String(describing: argument)
      return flags.isEmpty ? text : text.withCString { CFormat.text("%\(flags)s", $0) }
    default: break
    }
    return String(describing: argument)
  }

  /// The formats that a logger's interpolations have, by the names that `os_log` gives them.
  private static let measures: [Substring: OSLogIntExtendedFormat] = [
    "bytes": .byteCount, "iec-bytes": .byteCountIEC, "bitrate": .bitrate, "iec-bitrate": .bitrateIEC,
    "time_t": .secondsSince1970,
  ]
  private static let systems: [Substring: OSLogInt32ExtendedFormat] = [
    "errno": .darwinErrno, "darwin.errno": .darwinErrno, "darwin.mode": .darwinMode, "darwin.signal": .darwinSignal,
    "network:in_addr": .ipv4Address,
  ]

  private func text(ofInteger number: some BinaryInteger, _ flags: String) -> String {
    if options.contains("bool") { return number == 0 ? "false" : "true" }
    if options.contains("BOOL") { return number == 0 ? "NO" : "YES" }
    for option in options {
      if let format = Self.measures[option] { return format.text(of: number) }
      if let format = Self.systems[option] { return format.text(of: Int32(truncatingIfNeeded: number)) }
    }
    // As many bits as C would look at, but never fewer of a type's own: `%d` doesn't cut an `Int`.
    let unused =
      switch length {
      case "hh": 56
      case "h": 48
      case "": max(0, 64 - max(32, number.bitWidth))
      default: 0
      }
    switch conversion {
    case "d", "i": return CFormat.text("%\(flags)lld", (Int64(truncatingIfNeeded: number) << unused) >> unused)
    case "c": return CFormat.text("%\(flags)c", Int32(truncatingIfNeeded: number))
    case "p": return "0x" + String(UInt64(truncatingIfNeeded: number), radix: 16)
    default:
      return CFormat.text("%\(flags)ll\(conversion)", (UInt64(truncatingIfNeeded: number) << unused) >> unused)
    }
  }

  /// The C string behind a pointer, up to its NUL, the precision or a kibibyte, whichever comes first.
  private static func text(ofPointer argument: Any, _ flags: String) -> String? {
    let pointer: UnsafeRawPointer
    switch argument {
    case let text as UnsafePointer<CChar>: pointer = UnsafeRawPointer(text)
    case let text as UnsafeMutablePointer<CChar>: pointer = UnsafeRawPointer(text)
    case let text as UnsafePointer<UInt8>: pointer = UnsafeRawPointer(text)
    case let text as UnsafeMutablePointer<UInt8>: pointer = UnsafeRawPointer(text)
    default: return nil
    }
    let precision = flags.firstIndex(of: ".").map { Int(flags[$0...].dropFirst()) ?? 0 } ?? .max
    let count = strnlen(pointer.assumingMemoryBound(to: CChar.self), min(precision, 1024))
    return String(decoding: UnsafeRawBufferPointer(start: pointer, count: count), as: UTF8.self)
  }
}
