/// Reads the C formats of `os_log`.
///
/// Nothing reaches the C library but a number with a conversion that fits it, so a wrong format can't read wrong memory:
/// a conversion without an argument stays in the message as it is, and one that doesn't fit is written by description.
enum FormattedMessage {
  static func text(_ format: String, _ arguments: [Any?]) -> String {
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
      if specification.conversion == "%" {
        result += "%"
      } else if let argument = arguments.popFirst() {
        result += specification.text(of: argument)
      } else {
        result += specification.source
      }
    }
    return result + rest
  }
}

/// One conversion: `%`, `{options}`, flags, length and a letter.
private struct Specification {
  let source: Substring
  let conversion: Character
  private let flags: String
  private let isPrivate: Bool

  /// Takes the specification off the front of `text`; nil, and nothing is taken, if it isn't one.
  init?(parsing text: inout Substring) {
    var rest = text.dropFirst()
    var options: Substring = ""
    if rest.first == "{" {
      guard let end = rest.firstIndex(of: "}") else { return nil }
      options = rest[rest.index(after: rest.startIndex)..<end]
      rest = rest[end...].dropFirst()
    }
    let flags = rest.prefix { "0123456789.+- #'".contains($0) }
    rest = rest.dropFirst(flags.count).drop { "hlqjztL".contains($0) }
    guard let conversion = rest.popFirst(), "@diouxXcsSpfFeEgGaAm%".contains(conversion) else { return nil }
    // Three digits are plenty; the C library would build any width it is told.
    guard !flags.split(whereSeparator: { !$0.isNumber }).contains(where: { $0.count > 3 }) else { return nil }
    self.source = text[..<rest.startIndex]
    self.conversion = conversion
    self.flags = String(flags)
    self.isPrivate = options.contains("private") || options.contains("sensitive")
    text = rest
  }

  func text(of argument: Any?) -> String {
    if isPrivate { return "<private>" }
    guard let argument else { return "(null)" }
    switch (conversion, argument) {
    case ("d", let number as any BinaryInteger), ("i", let number as any BinaryInteger):
      return CFormat.text("%\(flags)lld", Int64(truncatingIfNeeded: number))
    case ("o", let number as any BinaryInteger), ("u", let number as any BinaryInteger),
      ("x", let number as any BinaryInteger), ("X", let number as any BinaryInteger):
      return CFormat.text("%\(flags)ll\(conversion)", UInt64(truncatingIfNeeded: number))
    case ("f", let number as any BinaryFloatingPoint), ("F", let number as any BinaryFloatingPoint),
      ("e", let number as any BinaryFloatingPoint), ("E", let number as any BinaryFloatingPoint),
      ("g", let number as any BinaryFloatingPoint), ("G", let number as any BinaryFloatingPoint):
      return CFormat.text("%\(flags)\(conversion)", Double(number))
    default:
      return String(describing: argument)
    }
  }
}
