import Basics
import Testing

/// Two spellings of one character are two names to everything but Swift.
@Suite(.timeLimit(.minutes(1))) struct ExactTextTests {
  private static let (one, other) = ("caf\u{e9}", "cafe\u{301}")

  @Test("two spellings of one character are two texts") func spellings() {
    #expect(Self.one == Self.other)
    #expect(!Self.one.isExactly(Self.other) && Self.one.isExactly("caf\u{e9}"))
    #expect(Set([Self.one, Self.other, Self.one].map(ExactText.init)).count == 2)
    #expect(
      [Self.one, Self.other, Self.one].exactlyOnce.map { Array($0.utf8) }
        == [Self.other, Self.one].map { Array($0.utf8) })
    #expect([Self.one].containsExactly(Self.one) && ![Self.one].containsExactly(Self.other))
  }

  @Test("a sign is escaped, and divides, whatever accent follows it") func signs() {
    #expect(Array("a\"\u{301}\\".escaping("\"\\".unicodeScalars).utf8) == Array("a\\\"\u{301}\\\\".utf8))
    let divided = "A=\u{301}=x".dividedAtEquals
    #expect(divided?.name == "A" && Array(divided?.value.utf8 ?? "".utf8) == Array("\u{301}=x".utf8))
    #expect("A".dividedAtEquals == nil && "=".dividedAtEquals?.value == "")
  }
}
