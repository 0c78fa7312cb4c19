import AssetModel
import Testing

@Suite(.timeLimit(.minutes(1))) struct PrintableTests {
  @Test(arguments: [
    ("", ""), ("plain é 日本 🎮", "plain é 日本 🎮"), ("a\nb\tc", "a\\u{a}b\\u{9}c"), ("\u{1b}[2J", "\\u{1b}[2J"),
    ("\r\n", "\\u{d}\\u{a}"), ("\u{0}", "\\u{0}"), ("\u{7f}\u{9b}", "\\u{7f}\\u{9b}"), ("x\u{202e}y", "x\\u{202e}y"),
    ("\u{2066}\u{feff}\u{2028}", "\\u{2066}\\u{feff}\\u{2028}"),
  ])
  func escapes(_ text: String, _ shown: String) { #expect(Printable.text(text) == shown) }

  @Test func cuts() {
    #expect(Printable.text(String(repeating: "x", count: 200)).count == 200)
    #expect(Printable.text(String(repeating: "x", count: 201)) == String(repeating: "x", count: 200) + "…")
    #expect(Printable.text("ab", limit: 1) == "a…")
    #expect(Printable.text("a", limit: 0) == "…")
    // Scalars are counted, so that one character of a million marks is cut too.
    #expect(Printable.text("e" + String(repeating: "\u{301}", count: 10_000), limit: 5).unicodeScalars.count == 6)
  }

  @Test func noScalarGetsThroughThatMovesACursor() {
    for value in UInt32(0)...0x3000 {
      guard let scalar = Unicode.Scalar(value) else { continue }
      guard [.control, .lineSeparator, .paragraphSeparator].contains(scalar.properties.generalCategory) else {
        continue
      }
      #expect(!Printable.text(String(scalar)).unicodeScalars.contains(scalar))
    }
  }
}
