import Basics
import Foundation
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct ProgramHeadTests {
  @Test(
    "the interpreter of a script is what the kernel starts",
    arguments: [
      ("#!/bin/sh\n", "/bin/sh"), ("#!/bin/sh", "/bin/sh"), ("#! \t /bin/sh -e x\n", "/bin/sh"),
      ("#!/bin/sh\u{0}x\n", "/bin/sh"), ("#!\n/bin/sh\n", nil), ("#!", nil), ("#", nil), ("", nil), ("echo\n", nil),
      (" #!/bin/sh\n", nil), ("#!sh\n", "sh"), ("#!/" + String(repeating: "x", count: 300), nil),
      ("#!/" + String(repeating: "x", count: 252) + "\n", "/" + String(repeating: "x", count: 252)),
      ("#!/" + String(repeating: "x", count: 253) + "\n", nil),
    ] as [(String, String?)])
  func scripts(text: String, interpreter: String?) {
    #expect(ProgramHead.interpreter(Array(text.utf8)) == interpreter)
  }

  @Test("a program's loader is found, and a library has none") func programs() throws {
    let program = try FileHandle(forReadingFrom: #require(URL(string: "file:///bin/dash"))).read(upToCount: 4096)
    #expect(try ProgramHead.interpreter(Array(#require(program)))?.contains("/ld-linux") == true)
    let library = try FileHandle(forReadingFrom: #require(URL(string: "file:///proc/self/exe"))).read(upToCount: 64)
    #expect(try ProgramHead.interpreter(Array(#require(library))) == nil, "its headers are cut off")
  }

  @Test("headers that lie upon each other aren't gone through again and again") func overlapping() throws {
    let file = try FileHandle(forReadingFrom: #require(URL(string: "file:///bin/dash"))).read(upToCount: 4096)
    for size in [0, 1, 55] as [UInt8] {
      var head = try Array(#require(file))
      (head[54], head[55]) = (size, 0)
      #expect(ProgramHead.interpreter(head) == nil)
    }
  }

  @Test("whatever a file says, nothing beyond what was read of it is looked at", arguments: 0..<20 as Range<UInt64>)
  func survives(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let file = try FileHandle(forReadingFrom: #require(URL(string: "file:///bin/dash"))).read(upToCount: 4096)
    let whole = try Array(#require(file))
    for _ in 0..<2000 {
      var head = Array(whole.prefix(Int(random.next() % 4097)))
      for _ in 0..<random.next() % 8 where !head.isEmpty {
        // Mostly in the headers.
        let bound = random.chance(2) ? min(head.count, 512) : head.count
        head[Int(random.next() % UInt64(bound))] = UInt8(truncatingIfNeeded: random.next())
      }
      if let found = ProgramHead.interpreter(head) { #expect(found.utf8.count <= 3 * 4096) }
    }
  }
}
