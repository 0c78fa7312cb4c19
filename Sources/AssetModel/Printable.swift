/// Makes hostile text fit for a terminal: nothing that it prints can move a cursor, reorder a line or fill a screen.
package enum Printable {
  /// `text` on one line, with control and direction characters as `\u{…}`, cut at `limit` characters.
  package static func text(_ text: some StringProtocol, limit: Int = 200) -> String {
    var result = ""
    var count = 0
    for scalar in text.unicodeScalars {
      if count == limit { return result + "…" }
      count += 1
      // No file of YAML or XML may have one that isn't a character.
      if DownloadRules.isDeceptive(scalar) || scalar.properties.isNoncharacterCodePoint {
        result += "\\u{\(String(scalar.value, radix: 16))}"
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
