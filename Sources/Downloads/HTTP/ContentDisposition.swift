/// The name that a server gives a file in `Content-Disposition` (RFC 6266). Hostile text: what comes out has still to be
/// made a name that does no harm.
package enum ContentDisposition {
  /// nil: it says none, or breaks the grammar; what one reader takes for a name isn't another's then.
  package static func fileName(_ field: String) -> String? { fileName(Array(field.utf8)) }

  static func fileName(_ field: ResponseHead.Field) -> String? { fileName(field.bytes ?? Array(field.value.utf8)) }

  private static func fileName(_ field: [UInt8]) -> String? {
    var reader = Reader(rest: field[...])
    guard reader.token() != nil else { return nil }
    var parameters: [String: Value] = [:]
    while reader.skip(UInt8(ascii: ";")) {
      // A semicolon at the end is so common that browsers accept it.
      if reader.isAtEnd { break }
      guard let name = reader.token().map(HeaderToken.lowercased), reader.skip(UInt8(ascii: "=")),
        let value = reader.value(), parameters.updateValue(value, forKey: name) == nil
      else { return nil }
    }
    guard reader.isAtEnd else { return nil }
    // The extended one counts, where it can be read (4.3).
    if case .token(let bytes)? = parameters["filename*"], let name = extended(bytes) { return name }
    switch parameters["filename"] {
    case .token(let bytes)?, .quoted(let bytes)?: return text(bytes)
    case nil: return nil
    }
  }

  private enum Value {
    case token([UInt8])
    case quoted([UInt8])
  }

  /// RFC 8187, 3.2: `charset'language'value`, percent-encoded.
  private static func extended(_ bytes: [UInt8]) -> String? {
    let parts = bytes.split(separator: UInt8(ascii: "'"), maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3, let value = decoded(parts[2]) else { return nil }
    switch HeaderToken.lowercased(parts[0]) {
    case "utf-8": return String(validating: value, as: UTF8.self)
    case "iso-8859-1": return latin(value)
    default: return nil
    }
  }

  private static func decoded(_ bytes: ArraySlice<UInt8>) -> [UInt8]? {
    var result: [UInt8] = []
    var rest = bytes
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "%") else {
        result.append(byte)
        continue
      }
      guard let high = rest.popFirst().flatMap(digit), let low = rest.popFirst().flatMap(digit) else { return nil }
      result.append(high << 4 | low)
    }
    return result
  }

  private static func digit(_ byte: UInt8) -> UInt8? { Character(Unicode.Scalar(byte)).hexDigitValue.map { UInt8($0) } }

  /// Of a plain one: what isn't ASCII is UTF-8 as most send it, or Latin-1 as it once was.
  private static func text(_ bytes: [UInt8]) -> String { String(validating: bytes, as: UTF8.self) ?? latin(bytes) }

  private static func latin(_ bytes: [UInt8]) -> String {
    var text = String.UnicodeScalarView()
    for byte in bytes { text.append(Unicode.Scalar(byte)) }
    return String(text)
  }

  /// RFC 9110, 5.6: tokens, quoted strings, and blanks between them.
  private struct Reader {
    var rest: ArraySlice<UInt8>

    var isAtEnd: Bool { rest.allSatisfy(HeaderToken.isBlank) }

    private mutating func skipBlanks() { rest = rest.drop(while: HeaderToken.isBlank) }

    mutating func skip(_ byte: UInt8) -> Bool {
      skipBlanks()
      guard rest.first == byte else { return false }
      rest.removeFirst()
      skipBlanks()
      return true
    }

    mutating func token() -> [UInt8]? {
      skipBlanks()
      let token = rest.prefix(while: HeaderToken.contains)
      rest = rest.dropFirst(token.count)
      return token.isEmpty ? nil : Array(token)
    }

    mutating func value() -> Value? {
      guard rest.first == UInt8(ascii: "\"") else { return token().map { .token($0) } }
      rest.removeFirst()
      var bytes: [UInt8] = []
      while let byte = rest.popFirst() {
        switch byte {
        case UInt8(ascii: "\""): return .quoted(bytes)
        case UInt8(ascii: "\\"):
          guard let next = rest.popFirst() else { return nil }
          bytes.append(next)
        default: bytes.append(byte)
        }
      }
      return nil
    }
  }
}
