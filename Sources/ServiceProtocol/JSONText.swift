/// JSON as it is written, byte by byte (RFC 8259).
struct JSONText {
  private var bytes: [UInt8]

  /// - Parameter head: Bytes before the text.
  init(after head: [UInt8]) {
    bytes = head
    bytes.reserveCapacity(256)
  }

  consuming func finished() -> [UInt8] { bytes }

  mutating func append(_ literal: StaticString) {
    literal.withUTF8Buffer { bytes.append(contentsOf: $0) }
  }

  mutating func append(_ number: some BinaryInteger) { bytes.append(contentsOf: String(number).utf8) }

  mutating func appendQuote() { bytes.append(UInt8(ascii: "\"")) }

  /// One field of a `FieldText` within a JSON string: escaped for the one, and that for the other.
  mutating func appendField(_ field: String) {
    var field = field
    field.withUTF8 { utf8 in
      guard utf8.contains(where: { $0 < 0x20 || $0 == 0x22 || $0 == 0x5C || $0 == 0x7C }) else {
        bytes.append(contentsOf: utf8)
        return
      }
      for byte in utf8 {
        switch byte {
        case 0x7C: append(#"\\p"#)
        case 0x5C: append(#"\\b"#)
        case 0x22: append(#"\""#)
        case 0..<0x20:
          append(#"\u00"#)
          for digit in [byte >> 4, byte & 0xF] { bytes.append(digit < 10 ? 0x30 + digit : 0x57 + digit) }
        default: bytes.append(byte)
        }
      }
    }
  }
}

/// Takes JSON that is spelt as `JSONText` spells it, from its beginning to its end.
struct JSONReader {
  private let bytes: ArraySlice<UInt8>
  private var position: Int

  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    position = bytes.startIndex
  }

  var isAtEnd: Bool { position == bytes.endIndex }

  /// False, with nothing taken, where something else comes.
  mutating func take(_ literal: StaticString) -> Bool {
    let count = literal.utf8CodeUnitCount
    guard bytes.endIndex - position >= count else { return false }
    let isThere = literal.withUTF8Buffer { bytes[position..<position + count].elementsEqual($0) }
    if isThere { position += count }
    return isThere
  }

  /// Without a sign, and without zeros that it doesn't need.
  mutating func takeNumber() -> UInt64? {
    let start = position
    var value: UInt64 = 0
    while position < bytes.endIndex, case let digit = bytes[position] &- 0x30, digit < 10 {
      let (product, overflow) = value.multipliedReportingOverflow(by: 10)
      let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
      guard !overflow, !carry else { return nil }
      value = sum
      position += 1
    }
    guard position > start, position == start + 1 || bytes[start] != 0x30 else { return nil }
    return value
  }

  mutating func takeSigned() -> Int64? {
    let isNegative = take("-")
    guard let magnitude = takeNumber() else { return nil }
    guard isNegative else { return Int64(exactly: magnitude) }
    // No integer is spelled -0.
    return magnitude == 0 ? nil : Int64(exactly: magnitude).map { -$0 }
  }

  /// The bytes of a string, which may be no UTF-8.
  mutating func takeString() -> [UInt8]? {
    guard take("\"") else { return nil }
    let start = position
    while position < bytes.endIndex, case let next = bytes[position], next >= 0x20, next != 0x22, next != 0x5C {
      position += 1
    }
    var text = Array(bytes[start..<position])
    while position < bytes.endIndex {
      let next = bytes[position]
      position += 1
      switch next {
      case 0x22: return text
      case 0x5C:
        guard let escaped = takeEscaped() else { return nil }
        text.append(escaped)
      case 0..<0x20: return nil
      default: text.append(next)
      }
    }
    return nil
  }

  /// What is behind a backslash, where it is one that `JSONText` writes.
  private mutating func takeEscaped() -> UInt8? {
    guard position < bytes.endIndex else { return nil }
    let next = bytes[position]
    if next == 0x22 || next == 0x5C {
      position += 1
      return next
    }
    guard take("u00"), bytes.endIndex - position >= 2, let high = Self.digit(bytes[position]), high < 2,
      let low = Self.digit(bytes[position + 1])
    else { return nil }
    position += 2
    return high << 4 | low
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case 0x30...0x39: byte - 0x30
    case 0x61...0x66: byte - 0x57
    default: nil
    }
  }
}
