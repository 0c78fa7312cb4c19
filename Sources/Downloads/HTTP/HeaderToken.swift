internal import AssetModel

/// The characters that HTTP's fields are built from (RFC 9110, 5.6).
enum HeaderToken {
  /// RFC 9110, 5.6.2.
  static func contains(_ byte: UInt8) -> Bool { DownloadRules.isToken(byte) }

  /// Optional white space: blank and tab, nothing else.
  static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  /// A control character would end a line, or a string of C.
  static func isControl(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x7f }

  /// Lower case of ASCII alone: Unicode's would make an `s` of `ſ`, and a scheme of what is none.
  static func lowercased(_ text: some StringProtocol) -> String { lowercased(text.utf8) }

  static func lowercased(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: bytes.map { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
  }
}
