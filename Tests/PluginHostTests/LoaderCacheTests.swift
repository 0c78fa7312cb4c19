import Basics
import Foundation
import Testing

@testable import PluginHost

/// The file that ldconfig(8) writes, and whatever else may lie in its place.
@Suite(.timeLimit(.minutes(1))) struct LoaderCacheTests {
  private struct Entry {
    var flags: UInt32 = 0x0303
    var name: String
    var path: String
  }

  private static func file(_ entries: [Entry], claiming count: UInt32? = nil) -> [UInt8] {
    func word(_ value: Int) -> [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) } }
    var strings: [UInt8] = []
    var table: [UInt8] = []
    let start = 48 + entries.count * 24
    for entry in entries {
      table += word(Int(entry.flags)) + word(start + strings.count)
      strings += Array(entry.name.utf8) + [0]
      table += word(start + strings.count) + [UInt8](repeating: 0, count: 12)
      strings += Array(entry.path.utf8) + [0]
    }
    var head = Array("glibc-ld.so.cache1.1".utf8) + word(Int(count ?? UInt32(entries.count)))
    head += [UInt8](repeating: 0, count: 48 - head.count)
    return head + table + strings
  }

  private static let entries = [
    Entry(name: "liba.so.1", path: "/first/liba.so.1"), Entry(flags: 1, name: "liba.so.1", path: "/32/liba.so.1"),
    Entry(flags: 0x0a03, name: "liba.so.1", path: "/arm/liba.so.1"), Entry(name: "liba.so.10", path: "/ten"),
    Entry(name: "libe\u{301}.so", path: "/e"),
  ]

  @Test("finds what has exactly that name, in the order of the file, for machines of 64 bits") func finds() {
    let cache = LoaderCache(Self.file(Self.entries))
    #expect(cache.paths(of: "liba.so.1") == ["/first/liba.so.1", "/arm/liba.so.1"])
    #expect(cache.paths(of: "liba.so.10") == ["/ten"])
    for other in ["liba.so", "liba.so.100", "", "a.so.1", "lib\u{e9}.so"] { #expect(cache.paths(of: other).isEmpty) }
    #expect(cache.paths(of: "libe\u{301}.so") == ["/e"])
  }

  @Test("a count beyond the file, and a file that ends anywhere, leave what is whole") func truncated() {
    let whole = Self.file(Self.entries, claiming: .max)
    #expect(LoaderCache(whole).paths(of: "liba.so.10") == ["/ten"])
    for count in 0..<whole.count {
      let found = LoaderCache(Array(whole[..<count])).paths(of: "liba.so.1")
      #expect(["/first/liba.so.1", "/arm/liba.so.1"].filter(found.contains) == found, "\(count)")
    }
  }

  @Test("random bytes after the head are read within the file", arguments: 0..<64) func survivesAnything(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var bytes = Self.file(Self.entries)
    for _ in 0..<Int.random(in: 1...40, using: &random) {
      bytes[Int.random(in: 20..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
    }
    for entry in Self.entries {
      for path in LoaderCache(bytes).paths(of: entry.name) { #expect(path.utf8.count < bytes.count) }
    }
  }
}
