internal import Foundation

/// A file of certificate authorities, as textual encoding (RFC 7468) has them. OpenSSL takes all of its blocks, or none.
enum AuthorityText: Equatable {
  case certificates
  case none
  /// A block that can't be decoded, or isn't what it is called. `line`: where it begins, from 1.
  case damaged(line: Int)

  init(_ text: String) {
    var (isAny, number) = (false, 0)
    var block: (line: Int, label: Substring.UTF8View, content: [UInt8])?
    var rest = text.utf8[...]
    while !rest.isEmpty {
      let all = rest.prefix { $0 != UInt8(ascii: "\n") }
      rest = rest[all.endIndex...].dropFirst()
      number += 1
      if let label = Self.label(of: all, after: "-----BEGIN ") {
        // What began before it has no end.
        if let block {
          self = .damaged(line: block.line)
          return
        }
        block = (number, label, [])
      } else if let begun = block {
        if let label = Self.label(of: all, after: "-----END ") {
          guard label.elementsEqual(begun.label), Self.isSound(begun.content, begun.label) else {
            self = .damaged(line: begun.line)
            return
          }
          isAny = isAny || Self.isCertificate(begun.label)
          block = nil
        } else {
          block?.content.append(contentsOf: all)
        }
      }
    }
    if let block { self = .damaged(line: block.line) } else { self = isAny ? .certificates : .none }
  }

  /// `CERTIFICATE` of `-----BEGIN CERTIFICATE-----`; blanks behind it don't count.
  private static func label(of line: Substring.UTF8View, after mark: String) -> Substring.UTF8View? {
    guard line.starts(with: mark.utf8) else { return nil }
    var label = line.dropFirst(mark.utf8.count)
    while let last = label.last, last <= UInt8(ascii: " ") { label.removeLast() }
    guard label.reversed().starts(with: "-----".utf8) else { return nil }
    return label.dropLast(5)
  }

  private static func isCertificate(_ label: Substring.UTF8View) -> Bool {
    ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"].contains { $0.utf8.elementsEqual(label) }
  }

  /// Whether it can be decoded and, of a certificate, is one DER sequence and nothing else (X.690, 8.1.3): a trusted one has
  /// more behind that. Of other blocks OpenSSL looks at the encoding alone.
  private static func isSound(_ content: [UInt8], _ label: Substring.UTF8View) -> Bool {
    let text = content.filter { $0 > UInt8(ascii: " ") }
    guard isCertificate(label) else { return true }
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
