internal import CCrypto

/// Base64 (RFC 4648, 4), by EVP_EncodeBlock(3) and EVP_DecodeBlock(3) of OpenSSL's libcrypto.
package enum Base64 {
  /// At most 1 GiB of bytes.
  package static func encode(_ bytes: [UInt8]) -> String {
    precondition(bytes.count <= 1 << 30, "Base64.encode: \(bytes.count) bytes are too many")
    // EVP_EncodeBlock writes a NUL after the text.
    return String(unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4 + 1) { text in
      Int(EVP_EncodeBlock(text.baseAddress, bytes, Int32(bytes.count)))
    }
  }

  /// nil for anything but the alphabet: no blanks, no line ends. The padding may be missing as a whole (RFC 8941, 4.2.7),
  /// but not in part.
  package static func decode(_ text: some StringProtocol) -> [UInt8]? {
    var digits = Array(text.utf8)
    let padding = digits.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard digits.count <= 1 << 30, padding <= 2, padding == 0 || digits.count % 4 == 0, digits.count % 4 != 1,
      digits.dropLast(padding).allSatisfy(isDigit)
    else { return nil }
    // EVP_DecodeBlock takes groups of four, and makes three bytes of each, whatever the padding is.
    let missing = (4 - digits.count % 4) % 4
    digits += [UInt8](repeating: UInt8(ascii: "="), count: missing)
    var count: Int32 = -1
    let bytes = [UInt8](unsafeUninitializedCapacity: digits.count / 4 * 3) { bytes, initialized in
      count = EVP_DecodeBlock(bytes.baseAddress, digits, Int32(digits.count))
      initialized = max(0, Int(count))
    }
    return count < 0 ? nil : bytes.dropLast(padding + missing)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"),
      UInt8(ascii: "+"), UInt8(ascii: "/"):
      true
    default: false
    }
  }
}
