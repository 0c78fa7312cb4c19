import AssetModel
import Basics
import Testing

@testable import Downloads

/// Names that servers give (RFC 6266, 8187), and what becomes of those that would do harm.
@Suite(.timeLimit(.minutes(1))) struct ContentDispositionTests {
  @Test(
    arguments: [
      (#"attachment; filename="a.bin""#, "a.bin"), ("attachment; filename=a.bin", "a.bin"),
      (#"Attachment ; FileName = "a b.bin""#, "a b.bin"), (#"inline;filename="a;b.bin";x=y"#, "a;b.bin"),
      (#"attachment; filename="a\"b\\c""#, #"a"b\c"#), (#"attachment; filename="""#, ""),
      (#"attachment; filename="a.bin";"#, "a.bin"),
      (#"attachment; filename="x"; filename*=UTF-8''%e2%82%ac%20rates"#, "€ rates"),
      (#"attachment; filename*=utf-8'en'%c3%a4.txt; filename="x""#, "ä.txt"),
      (#"attachment; filename*=iso-8859-1''%a3.txt"#, "£.txt"),
      // What can't be read leaves the plain one.
      (#"attachment; filename*=koi8-r''%a3; filename="x""#, "x"),
      (#"attachment; filename*=UTF-8''%ff; filename=x"#, "x"),
      (#"attachment; filename*=UTF-8''%4; filename=x"#, "x"), (#"attachment; filename*=x; filename=y"#, "y"),
      (#"attachment; filename*="UTF-8''x"; filename=y"#, "y"), (#"attachment; filename="ä.txt""#, "ä.txt"),
      ("attachment", nil), ("", nil), (";filename=x", nil), ("attachment; filename", nil),
      ("attachment; filename=", nil),
      (#"attachment; filename="x"#, nil), (#"attachment; filename="x\"#, nil), ("attachment; filename=x y", nil),
      (#"attachment; filename="x"; filename="y""#, nil), ("attachment filename=x", nil),
      ("attachment;; filename=x", nil),
    ] as [(String, String?)])
  func grammar(field: String, name: String?) { #expect(ContentDisposition.fileName(field) == name) }

  @Test("bytes of no Unicode are Latin-1") func latin() throws {
    var reader = ResponseHeadReader()
    var head: ResponseHead?
    for line in ["HTTP/1.1 200 OK\r\n", "Content-Disposition: attachment; filename=\"\u{e9}.txt\"\r\n", "\r\n"] {
      let bytes = line.unicodeScalars.map { UInt8($0.value) }
      head = try bytes.withUnsafeBytes { try reader.append($0) } ?? head
    }
    let field = try #require(head?.fields.first)
    #expect(ContentDisposition.fileName(field) == "é.txt")
  }

  @Test(
    arguments: [
      ("a.bin", "a.bin"), ("../../etc/passwd", "passwd"), (#"..\..\boot.ini"#, "boot.ini"), ("/etc/passwd", "passwd"),
      (".bashrc", "bashrc"), ("...", nil), ("", nil), ("/", nil), ("..", nil), ("-rf", "rf"), ("a\u{0}b", "a_b"),
      ("a\u{1b}[31m\u{202e}gpj.exe", "a_[31m_gpj.exe"), ("a\nb", "a_b"), ("%2e%2e%2fx", "%2e%2e%2fx"), ("a. ", "a"),
      (".outrider", "outrider"), ("a/b/", "b"), ("\u{200b}x", "_x"),
    ] as [(String, String?)])
  func isMadeSafe(name: String, safe: String?) { #expect(SafeFileName.from(name: name) == safe) }

  /// Whatever comes: one component, of bounded length, that nothing hides in.
  @Test func random() {
    var random = SeededGenerator(seed: 11)
    let parts = [
      "attachment", "; ", "filename", "filename*", "=", "\"", "\\", "UTF-8''", "%2f", "%00", "%", "..", "/", "\u{202e}",
      "a",
      "ä", "\u{1b}", String(repeating: "x", count: 300),
    ]
    for _ in 0..<30_000 {
      let text =
        "attachment; filename"
        + (0..<Int.random(in: 1...14, using: &random)).map { _ in parts.randomElement(using: &random) ?? "" }
        .joined()
      guard let name = ContentDisposition.fileName(text).flatMap({ SafeFileName.from(name: $0) }) else { continue }
      #expect(!name.isEmpty && name.utf8.count <= 200 && name.first != "." && name.first != "-")
      #expect(!name.contains("/") && !name.contains("\\") && Printable.text(name, limit: 1000) == name)
    }
  }
}
