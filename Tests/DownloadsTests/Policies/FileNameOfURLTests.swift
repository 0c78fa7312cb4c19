import AssetModel
import Basics
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct FileNameOfURLTests {
  static func name(_ path: String) throws -> String {
    SafeFileName.from(path: try ParsedURL("https://a.example" + path).path)
  }

  @Test(arguments: [
    ("/a/b.zip", "b.zip"), ("/a/b.zip?x=/c.zip#d", "b.zip"), ("/", "download"), ("", "download"), ("/a/", "download"),
    ("/%2e%2e", "download"),
    ("/a/%2E", "download"), ("/...", "download"), ("/%2e%2e%2fetc%2fpasswd", "_etc_passwd"), ("/a%00b.txt", "a_b.txt"),
    ("/a%5cb", "a_b"),
    ("/a%252fb", "a%2fb"), ("/.hidden", "hidden"), ("/-rf", "rf"), ("/%20.-%20x%20.", "x"),
    ("/%e2%80%aecod.exe", "_cod.exe"), ("/a%0d%0ab", "a__b"),
    ("/%ff%fe.bin", "__.bin"), ("/b%C3%BCcher.pdf", "bücher.pdf"), ("/a%", "a%"), ("/a%4", "a%4"), ("/a%zz", "a%zz"),
    ("/a%20b.txt", "a b.txt"),
    ("/a%e2%80%8bb", "a_b"), ("/%c2%a0%e3%80%80x", "x"), ("/.%cc%81x", "\u{301}x"), ("/a;b=c", "a;b=c"),
  ])
  func names(path: String, expected: String) throws {
    #expect(try Self.name(path).unicodeScalars.elementsEqual(expected.unicodeScalars))
  }

  @Test(
    "what a server calls a file is known beside what it may be called",
    arguments: [
      ("/.hidden", ".hidden"), ("/a/-x?y", "-x"), ("/b%C3%BCcher%0a", "bücher\n"), ("/", nil), ("/a/", nil),
      ("/a%2fb", nil), ("/a%00", nil), ("/%ff", nil),
    ] as [(String, String?)])
  func unchanged(path: String, expected: String?) throws {
    #expect(SafeFileName.unchanged(path: try ParsedURL("https://a.example" + path).path) == expected)
  }

  @Test func longNamesKeepTheirExtension() throws {
    let long = String(repeating: "a", count: 300)
    #expect(try Self.name("/\(long).tar") == String(repeating: "a", count: 196) + ".tar")
    #expect(try Self.name("/\(long).tar.gz") == String(repeating: "a", count: 193) + ".tar.gz")
    #expect(try Self.name("/\(long)") == String(repeating: "a", count: 200))
    #expect(try Self.name("/x.\(long)") == "x." + String(repeating: "a", count: 198))
    // One character of many scalars is cut within.
    let accents = try Self.name("/a" + String(repeating: "%cc%81", count: 300) + ".zip")
    #expect(
      accents.unicodeScalars.first == "a" && accents.utf8.count <= 200
        && accents.utf8.suffix(4).elementsEqual(".zip".utf8))
  }

  /// Whatever the path: one component, no dots or dashes first, nothing that deceives, never longer than it may be.
  @Test(arguments: 1...100 as ClosedRange<UInt64>) func isAlwaysSafe(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let parts = [
      ".", "-", "%20", "%2f", "%00", "%5c", "a", "%e2%80%ae", "%ff", "%cc%81", "%f0%9f%98%80", ".zip", "%", "/", "%25",
      "%0a", "%c2%85", "%ef%bb%bf",
    ]
    for _ in 0..<100 {
      let count = Int.random(in: 0...300, using: &random)
      let name = try Self.name(
        "/" + (0..<count).map { _ in parts[Int.random(in: 0..<parts.count, using: &random)] }.joined())
      let scalars = name.unicodeScalars
      #expect(
        (1...200).contains(name.utf8.count) && ![".", "-", " "].contains(scalars.first)
          && ![".", " "].contains(scalars.last), "seed \(seed): \(name)")
      #expect(
        !scalars.contains { $0 == "/" || $0 == "\\" || $0.value < 0x20 || $0.properties.isDefaultIgnorableCodePoint },
        "seed \(seed): \(name)")
    }
  }
}
