/// Names of Rust's functions as compilers of Rust give them by default: like C++'s nested names, with what those can't have written
/// between dollar signs, and a hash at the end.
enum LegacyRustSymbol {
  private static let hash = 17
  private static let signs = [
    "SP": "@", "BP": "*", "RF": "&", "LT": "<", "GT": ">", "LP": "(", "RP": ")", "C": ",",
  ]

  /// nil for what is no such name.
  static func demangled(_ name: String) -> String? {
    guard name.hasPrefix("_ZN"), var parts = parts(name.utf8.dropFirst(3)), let last = parts.popLast(), !parts.isEmpty,
      last.utf8.count == hash, last.hasPrefix("h"), last.dropFirst().allSatisfy({ $0.isASCII && $0.isHexDigit })
    else { return nil }
    let readable = parts.compactMap(readable)
    return readable.count == parts.count ? readable.joined(separator: "::") : nil
  }

  /// Each with its length before it; what a compiler adds behind the end begins with a dot.
  private static func parts(_ bytes: Substring.UTF8View) -> [String]? {
    var (rest, found) = (bytes, [String]())
    while let first = rest.first, first != UInt8(ascii: "E") {
      let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      guard let length = Int(Substring(digits)), length > 0 else { return nil }
      rest = rest.dropFirst(digits.count)
      guard rest.count >= length else { return nil }
      found.append(String(Substring(rest.prefix(length))))
      rest = rest.dropFirst(length)
    }
    return rest.first == nil || rest.dropFirst().first.map { $0 != UInt8(ascii: ".") } == true ? nil : found
  }

  private static func readable(_ part: String) -> String? {
    // A part that would begin with a sign has an underscore before it.
    var rest = part.hasPrefix("_$") ? part.dropFirst() : part[...]
    var text = ""
    while let next = rest.popFirst() {
      switch next {
      case "$":
        guard let end = rest.firstIndex(of: "$"), let sign = sign(rest[..<end]) else { return nil }
        text += sign
        rest = rest[rest.index(after: end)...]
      case "." where rest.first == ".":
        text += "::"
        rest = rest.dropFirst()
      default: text.append(next)
      }
    }
    return text
  }

  private static func sign(_ name: Substring) -> String? {
    if let known = signs[String(name)] { return known }
    guard name.first == "u", let number = UInt32(name.dropFirst(), radix: 16), let scalar = UnicodeScalar(number) else {
      return nil
    }
    return String(Character(scalar))
  }
}
