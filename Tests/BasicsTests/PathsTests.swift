import Basics
import Foundation
import Testing

/// Paths are bytes. What looks like an accent on a slash is a slash and the beginning of another name.
@Suite(.timeLimit(.minutes(1))) struct PathsTests {
  @Test(
    "whether a path lies in a folder goes by bytes, whatever follows the slash",
    arguments: [
      ("/a", "/a", true, false), ("/a/b", "/a", true, true), ("/ab", "/a", false, false), ("/", "/", true, false),
      ("/a", "/", true, true), ("/a/\u{301}b", "/a", true, true), ("/a\u{301}/b", "/a", false, false),
      // The same to a reader, two names to the kernel.
      ("/caf\u{e9}/x", "/cafe\u{301}", false, false), ("", "/a", false, false), ("a", "a", true, false),
    ])
  func lying(path: String, folder: String, isIn: Bool, isBelow: Bool) {
    #expect(path.lies(in: folder) == isIn)
    #expect(path.lies(below: folder) == isBelow)
    #expect(path[...].lies(in: folder[...]) == isIn)
  }

  @Test("names, folder and last name of random paths are those that their bytes have")
  func parts() {
    var generator = SeededGenerator(seed: 7)
    let pieces = ["/", "/", ".", "..", "a", "\u{301}", "\u{e9}", "long enough to need memory of its own", "\u{200d}"]
    for _ in 0..<20_000 {
      let path = (0..<Int.random(in: 0...9, using: &generator)).map { _ in pieces.randomElement(using: &generator)! }
        .joined()
      let names = Array(path.utf8).split(separator: 0x2f, omittingEmptySubsequences: false).map {
        String(decoding: $0, as: UTF8.self)
      }
      func bytes(_ names: some Sequence<String>) -> [[UInt8]] { names.map { Array($0.utf8) } }
      #expect(bytes(path.pathNames) == bytes(names.filter { !$0.isEmpty && $0 != "." }), "\(path.debugDescription)")
      #expect(
        bytes([path.lastPathName]) == bytes(names.suffix(1).isEmpty ? [""] : names.suffix(1)),
        "\(path.debugDescription)")
      let folder = names.count > 1 ? names.dropLast().joined(separator: "/") : nil
      #expect(
        bytes([path.parentFolder].compactMap(\.self))
          == bytes([folder.map { $0.isEmpty ? "/" : $0 }].compactMap(\.self)))
      #expect(path.isAbsolutePath == (path.utf8.first == 0x2f))
      #expect(path.hasSlash == path.utf8.contains(0x2f))
    }
  }

  @Test("what follows a folder begins with the slash after it")
  func rest() {
    #expect("/a/b".rest(after: "/a") == "/b")
    #expect(Array("/a/\u{301}b".rest(after: "/a").utf8) == Array("/\u{301}b".utf8))
    #expect("/a".rest(after: "/a").isEmpty)
  }
}
