internal import AssetModel

/// JSON that may be shown on a terminal.
enum JSONText {
  /// `text` with every character escaped that a terminal obeys or that changes the order of others: RFC 8259, 7 lets any
  /// character be written so. Such characters stand in strings alone.
  static func escaped(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: needsEscape) else { return text }
    var result = ""
    for scalar in text.unicodeScalars {
      if needsEscape(scalar) {
        for unit in UTF16.encode(scalar) ?? .init() {
          let digits = String(unit, radix: 16)
          result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
        }
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  private static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
    scalar != "\n" && DownloadRules.isDeceptive(scalar)
  }
}
