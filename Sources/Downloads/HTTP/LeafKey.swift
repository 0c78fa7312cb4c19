internal import Hashing

/// The public key of a certificate, as a pin: `sha256//` and the base64 of its SubjectPublicKeyInfo's SHA-256.
enum LeafKey {
  /// nil for what isn't one PEM certificate (RFC 7468, RFC 5280).
  static func pin(ofPEM text: String) -> String? {
    let lines = text.split(whereSeparator: \.isNewline).map { $0.filter { !$0.isWhitespace } }
    guard text.utf8.count <= 64 << 10, let begin = lines.firstIndex(of: "-----BEGINCERTIFICATE-----"),
      let end = lines.firstIndex(of: "-----ENDCERTIFICATE-----"), begin < end,
      let bytes = Base64.decode(lines[(begin + 1)..<end].joined())
    else { return nil }
    var outer = DERReader(bytes[...])
    guard let certificate = outer.next(), certificate.tag == 0x30 else { return nil }
    var inner = DERReader(certificate.content)
    guard let toBeSigned = inner.next(), toBeSigned.tag == 0x30 else { return nil }
    var fields = DERReader(toBeSigned.content)
    guard var field = fields.next() else { return nil }
    // The version is optional; serial number, signature, issuer, validity and subject come before the key.
    if field.tag == 0xa0 {
      guard let next = fields.next() else { return nil }
      field = next
    }
    for _ in 0..<4 where fields.next() == nil { return nil }
    guard let key = fields.next(), key.tag == 0x30 else { return nil }
    return "sha256//" + Base64.encode(RunningHash.digest(.sha256, of: key.whole))
  }
}

/// Elements of DER one after another (X.690), as far as finding one of them needs.
struct DERReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

  mutating func next() -> (tag: UInt8, content: ArraySlice<UInt8>, whole: ArraySlice<UInt8>)? {
    let start = rest
    guard let tag = rest.popFirst(), let first = rest.popFirst() else { return nil }
    var length = Int(first)
    if first & 0x80 != 0 {
      let count = Int(first & 0x7f)
      guard (1...3).contains(count), rest.count >= count else { return nil }
      length = rest.prefix(count).reduce(0) { $0 << 8 | Int($1) }
      rest = rest.dropFirst(count)
    }
    guard length <= rest.count else { return nil }
    let content = rest.prefix(length)
    rest = rest.dropFirst(length)
    return (tag, content, start.prefix(start.count - rest.count))
  }
}
