internal import Hashing

/// Parses structured fields (RFC 8941, 4.2), as far as dictionaries of byte sequences need it. Anything outside of the grammar makes
/// the whole field invalid, as the RFC demands.
struct StructuredField {
  private var rest: ArraySlice<UInt8>

  /// The members of a dictionary in their order, a key that comes again in place of the one before; nil where it is none.
  static func byteSequences(_ text: String, atMost limit: Int) -> [(key: String, bytes: [UInt8])]? {
    var reader = Self(rest: Array(text.utf8)[...])
    var members: [(key: String, bytes: [UInt8])] = []
    var count = 0
    reader.skip { $0 == 0x20 }
    while !reader.rest.isEmpty {
      count += 1
      guard count <= limit, let key = reader.key(), reader.take("="), let bytes = reader.byteSequence(),
        reader.parameters()
      else { return nil }
      members.removeAll { $0.key == key }
      members.append((key, bytes))
      reader.skip(HeaderToken.isBlank)
      if reader.rest.isEmpty { break }
      guard reader.take(",") else { return nil }
      reader.skip(HeaderToken.isBlank)
      // A comma promises another member.
      if reader.rest.isEmpty { return nil }
    }
    return members
  }

  private mutating func skip(_ isSkipped: (UInt8) -> Bool) { rest = rest.drop(while: isSkipped) }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func run(_ isIncluded: (UInt8) -> Bool) -> ArraySlice<UInt8> {
    let found = rest.prefix(while: isIncluded)
    rest = rest.dropFirst(found.count)
    return found
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
  private static func isLower(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) }

  private mutating func key() -> String? {
    guard let first = rest.first, Self.isLower(first) || first == UInt8(ascii: "*") else { return nil }
    return String(decoding: run { Self.isLower($0) || Self.isDigit($0) || "_-.*".utf8.contains($0) }, as: UTF8.self)
  }

  private mutating func byteSequence() -> [UInt8]? {
    guard take(":") else { return nil }
    let text = run { $0 != UInt8(ascii: ":") }
    return take(":") ? Base64.decode(String(decoding: text, as: UTF8.self)) : nil
  }

  /// Reads over parameters; whether they were well-formed.
  private mutating func parameters() -> Bool {
    while take(";") {
      skip { $0 == 0x20 }
      guard key() != nil else { return false }
      if take("="), !bareItem() { return false }
    }
    return true
  }

  private mutating func bareItem() -> Bool {
    guard let first = rest.first else { return false }
    switch first {
    case UInt8(ascii: ":"): return byteSequence() != nil
    case UInt8(ascii: "\""): return string()
    case UInt8(ascii: "?"):
      rest.removeFirst()
      return take("0") || take("1")
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return number()
    case UInt8(ascii: "*"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"):
      _ = run { HeaderToken.contains($0) || $0 == UInt8(ascii: ":") || $0 == UInt8(ascii: "/") }
      return true
    default: return false
    }
  }

  private mutating func number() -> Bool {
    _ = take("-")
    let whole = run(Self.isDigit).count
    guard take(".") else { return (1...15).contains(whole) }
    return (1...12).contains(whole) && (1...3).contains(run(Self.isDigit).count)
  }

  private mutating func string() -> Bool {
    rest.removeFirst()
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "\""): return true
      case UInt8(ascii: "\\"):
        guard take("\"") || take("\\") else { return false }
      case 0x20..<0x7f: continue
      default: return false
      }
    }
    return false
  }
}
