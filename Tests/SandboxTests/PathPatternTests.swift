import Testing

@testable import Sandbox

@Suite(.timeLimit(.minutes(1))) struct PathPatternTests {
  @Test(
    arguments: [
      ("/srv/*.db", "/srv/a.db", true), ("/srv/*.db", "/srv/.db", false), ("/srv/*.db", "/srv/x/a.db", false),
      ("/srv/*.db", "/srv/a.db/below", true), ("/srv/.*", "/srv/.x", true), ("/srv/?", "/srv/ä", true),
      ("/srv/?", "/srv/ab", false), ("/srv/[a-c]x", "/srv/bx", true), ("/srv/[!a-c]x", "/srv/bx", false),
      ("/srv/[!a-c]x", "/srv/dx", true), ("/srv/[]x]", "/srv/]", true), ("/srv/[a-]", "/srv/-", true),
      ("/srv/\\*", "/srv/*", true), ("/srv/\\*", "/srv/a", false), ("/srv/*", "/srv", false),
      ("/a/*/b*/c", "/a/x/bee/c", true), ("/a/*/b*/c", "/a/x/eeb/c", false), ("/srv/a*b*c", "/srv/abbbc", true),
      ("/srv/*", "/srv/..", false),
    ] as [(String, String, Bool)])
  func matches(_ pattern: String, _ path: String, _ isCovered: Bool) throws {
    #expect(try PathPattern(pattern).covers(path) == isCovered)
  }

  @Test func manyStarsTakeNoLongerThanBothLengths() throws {
    let pattern = try PathPattern("/srv/" + String(repeating: "*a", count: 120) + "*b")
    #expect(!pattern.covers("/srv/" + String(repeating: "a", count: 255)))
  }

  @Test(arguments: ["/", "*", "srv/*", "/**", "/srv/**", "/*/x", "/srv/[", "/srv/[z-a]", "/srv/\\", "/./*"])
  func refuses(_ text: String) { #expect(throws: PathPattern.Invalid.self) { try PathPattern(text) } }

  /// Against the definition, in every way that a `*` can stand for something.
  @Test func agreesWithTheDefinition() throws {
    func matches(_ pattern: Substring, _ name: Substring) -> Bool {
      guard let first = pattern.first else { return name.isEmpty }
      if first == "*" {
        return matches(pattern.dropFirst(), name) || !name.isEmpty && matches(pattern, name.dropFirst())
      }
      return !name.isEmpty && (first == "?" || first == name.first) && matches(pattern.dropFirst(), name.dropFirst())
    }
    func words(_ letters: String, _ length: Int) -> [String] {
      length == 0 ? [""] : words(letters, length - 1).flatMap { word in letters.map { word + String($0) } }
    }
    let names = (1...4).flatMap { words("ab", $0) }
    for text in (1...4).flatMap({ words("ab*?", $0) }) where !text.contains("**") {
      let pattern = try PathPattern("/x/" + text)
      for name in names { #expect(pattern.covers("/x/" + name) == matches(text[...], name[...]), "\(text) \(name)") }
    }
  }

  @Test(
    "A text without wildcards is the path that it stands for, and any other is none",
    arguments: [
      ("/a/b", "/a/b"), ("/a\\*", "/a*"), ("/a\\\\", "/a\\"), ("/a\\\\*", nil), ("/a*", nil), ("/a?b", nil),
      ("/[a]", nil), ("/a\\", nil), ("/]", "/]"),
    ])
  func literal(text: String, path: String?) { #expect(PathPattern.literal(text) == path) }

  @Test func escapedPathsStandForThemselves() throws {
    let path = "/srv/a*b?c[d]\\e"
    #expect(try PathPattern(PathPattern.escaped(path)).covers(path))
    #expect(try !PathPattern(PathPattern.escaped(path)).covers("/srv/axb?c[d]\\e"))
  }
}
