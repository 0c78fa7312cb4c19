import AssetModel
import Basics
import Testing

/// The rest of the table, of paths as libcurl reads them out of URLs, is with the downloads.
@Suite(.timeLimit(.minutes(1))) struct FileNameRuleTests {
  @Test(
    "a file is named after the last part of its URL's path",
    arguments: [
      ("https://e.com/a/talk.mp4", "talk.mp4"), ("https://e.com/a/talk.mp4?v=/x.exe#y/z", "talk.mp4"),
      ("https://e.com", "download"), ("https://e.com/", "download"), ("https://e.com?a/b", "download"),
      ("https://user:p@e.com:8/%2e%2e%2fetc", "_etc"), ("https://e.com/..", "download"),
      ("https://e.com/a%00b%0a", "a_b_"), ("talk.mp4", "download"), ("/talk.mp4", "talk.mp4"), ("", "download"),
      ("://", "download"), ("https://e.com/.incoming-1", "incoming-1"),
    ])
  func names(url: String, expected: String) { #expect(SafeFileName.from(url: url) == expected) }

  @Test("whatever the text, the name is one component of at most 200 bytes", arguments: 1...4 as ClosedRange<UInt64>)
  func anything(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<2000 {
      let bytes = (0..<Int.random(in: 0...600, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
      let name = SafeFileName.from(url: "https://e.com/" + String(decoding: bytes, as: UTF8.self))
      #expect(!name.isEmpty && name.utf8.count <= 200 && !name.utf8.contains(0x2f) && !name.utf8.contains(0))
      #expect(name != "." && name != "..")
    }
  }
}
