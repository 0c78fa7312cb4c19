internal import Foundation

/// A file of certificate authorities, as textual encoding (RFC 7468) has them. OpenSSL takes all of its blocks, or none.
enum AuthorityText: Equatable {
  case certificates
  case none
  /// A block that can't be decoded, or isn't what it is called. `line`: where it begins, from 1.
  case damaged(line: Int)

  /// A machine's own file has 200 KiB, and is read by each command: as a buffer, not as a string.
  private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

  init(_ content: [UInt8]) { self = content.withUnsafeBufferPointer { Self.read($0[...]) } }

  init(_ text: String) { self.init(Array(text.utf8)) }

  private static func read(_ text: Bytes) -> AuthorityText {
    var (rest, isAny, number) = (text, false, 0)
    var block: (line: Int, label: Bytes, content: Bytes.Index)?
    while !rest.isEmpty {
      let line = rest.prefix { $0 != UInt8(ascii: "\n") }
      rest = rest[line.endIndex...].dropFirst()
      number += 1
      if let label = label(of: line, after: "-----BEGIN ") {
        // What began before it has no end.
        if let block { return .damaged(line: block.line) }
        block = (number, label, rest.startIndex)
      } else if let begun = block, let label = label(of: line, after: "-----END ") {
        guard label.elementsEqual(begun.label), isSound(text[begun.content..<line.startIndex], begun.label) else {
          return .damaged(line: begun.line)
        }
        isAny = isAny || isCertificate(begun.label)
        block = nil
      }
    }
    if let block { return .damaged(line: block.line) }
    return isAny ? .certificates : .none
  }

  /// `CERTIFICATE` of `-----BEGIN CERTIFICATE-----`; blanks behind it don't count.
  private static func label(of line: Bytes, after mark: StaticString) -> Bytes? {
    guard line.count >= mark.utf8CodeUnitCount,
      line.prefix(mark.utf8CodeUnitCount).elementsEqual(
        UnsafeBufferPointer(start: mark.utf8Start, count: mark.utf8CodeUnitCount))
    else { return nil }
    var label = line.dropFirst(mark.utf8CodeUnitCount)
    while let last = label.last, last <= UInt8(ascii: " ") { label.removeLast() }
    guard label.suffix(5).elementsEqual("-----".utf8) else { return nil }
    return label.dropLast(5)
  }

  private static func isCertificate(_ label: Bytes) -> Bool {
    ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"].contains { label.elementsEqual($0.utf8) }
  }

  /// Whether it can be decoded and, of a certificate, is one DER sequence and nothing else (X.690, 8.1.3): a trusted one has
  /// more behind that. Of other blocks OpenSSL looks at the encoding alone.
  private static func isSound(_ content: Bytes, _ label: Bytes) -> Bool {
    guard isCertificate(label) else { return true }
    let text = content.filter { $0 > UInt8(ascii: " ") }
    guard let bytes = Data(base64Encoded: Data(text)), bytes.count > 2, bytes[0] == 0x30 else { return false }
    var (length, first) = (Int(bytes[1]), 2)
    if length > 0x7f {
      let count = length & 0x7f
      guard (1...4).contains(count), bytes.count > 2 + count else { return false }
      length = bytes[2..<(2 + count)].reduce(0) { $0 << 8 | Int($1) }
      first += count
    }
    return label.elementsEqual("TRUSTED CERTIFICATE".utf8)
      ? bytes.count >= first + length : bytes.count == first + length
  }
}
