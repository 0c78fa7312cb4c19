import Basics
import Foundation
import TestSupport
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct ELFFileTests {
  private static let directories = [
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib",
  ]

  private static func library(_ name: String) throws -> [UInt8] {
    let paths = directories.map { "\($0)/\(name)" }
    let path = try #require(paths.first { FileManager.default.fileExists(atPath: $0) }, "no \(name)")
    return Array(try #require(FileManager.default.contents(atPath: path)))
  }

  @Test func readsTheCLibrary() throws {
    let file = try ELFFile(Self.library("libc.so.6"))
    #expect(file.isSharedObject)
    #expect(file.soname == "libc.so.6")
    #expect(file.needed.contains { $0.hasPrefix("ld-linux") })
    for name in ["malloc", "printf", "getaddrinfo", "openat"] { try #require(file.exports.count { $0 == name } == 1) }
    #expect(zip(file.exports, file.exports.dropFirst()).allSatisfy { $0 < $1 })
    #expect(file.exports.count > 2000)
  }

  @Test func readsALibraryThatNeedsAnother() throws {
    let file = try ELFFile(Self.library("libm.so.6"))
    #expect(file.soname == "libm.so.6")
    #expect(file.needed.contains("libc.so.6"))
    // The names of versions are absolute symbols, anywhere among the functions: they neither count nor end the table.
    for name in ["cos", "trunc", "exp"] { try #require(file.exports.count { $0 == name } == 1) }
    #expect(!file.exports.contains { $0.hasPrefix("GLIBC_") })
  }

  @Test(
    arguments: [
      ([], "isn't an ELF file"), (Array("#!/bin/sh\n".utf8), "isn't an ELF file"),
      ([0x7f, 0x45, 0x4c], "isn't an ELF file"),
      ([0x7f, 0x45, 0x4c, 0x46], "truncated"), ([0x7f, 0x45, 0x4c, 0x46] + Array(repeating: 0, count: 60), "64-bit"),
      ([0x7f, 0x45, 0x4c, 0x46, 2, 1] + Array(repeating: 0, count: 58), "architecture"),
    ] as [([UInt8], String)])
  func refuses(_ bytes: [UInt8], _ sentence: String) {
    do throws(ELFFile.FormatError) {
      _ = try ELFFile(bytes)
      Issue.record("accepted")
    } catch { #expect(error.description.contains(sentence)) }
  }

  /// The smallest library: what is tried lies in its tables rather than in code.
  private static func smallest() throws -> [UInt8] {
    let names = ["libdl.so.2", "libutil.so.1", "libpthread.so.0", "librt.so.1", "libm.so.6"]
    return try #require(names.compactMap { try? library($0) }.min { $0.count < $1.count })
  }

  @Test func survivesMutations() throws {
    let original = try Self.smallest()
    var random = SeededGenerator(seed: 30)
    var accepted = 0
    let lies: [UInt64] = [0, 1, 0x7fff_ffff, 0xffff_ffff, 1 << 63, .max, .max - 7, .max / 24, UInt64(original.count)]
    for _ in 0..<19_000 {
      var bytes = original
      for _ in 0...random.below(3) {
        // Most of what is read lies in the first pages and in the dynamic section near the end.
        let region = [64, 1024, 4096, bytes.count][random.below(4)]
        let at = random.chance(4) ? bytes.count - 1 - random.below(min(4096, bytes.count)) : random.below(region)
        if random.chance(2) {
          bytes[at] = UInt8(truncatingIfNeeded: random.next())
        } else {
          let lie = lies[random.below(lies.count)]
          let aligned = at & ~7
          for index in 0..<8 where aligned + index < bytes.count {
            bytes[aligned + index] = UInt8(truncatingIfNeeded: lie >> UInt64(8 * index))
          }
        }
      }
      if (try? ELFFile(bytes)) != nil { accepted += 1 }
    }
    #expect(accepted > 1000)
  }

  @Test func survivesTruncation() throws {
    let original = try Self.smallest()
    var random = SeededGenerator(seed: 31)
    for round in 0..<1000 {
      // The headers byte by byte, the rest here and there.
      let count = round < 500 ? round : random.below(original.count)
      _ = try? ELFFile(Array(original.prefix(count)))
    }
  }

  /// The entries of the symbol table name all ends of one long string: a small file that would become gigabytes.
  @Test(.timeLimit(.minutes(1))) func sharedNamesDontFillMemory() throws {
    let file = try ELFFile(Self.sharingLibrary(entries: 100_000, nameLength: 200_000))
    let total = file.exports.reduce(0) { $0 + $1.utf8.count }
    #expect(total > 0)
    #expect(total <= 1 << 26)
    #expect(try ELFFile(Self.sharingLibrary(entries: 100, nameLength: 300)).exports.count == 99)
  }

  /// A chain of symbols that never ends, in a file that is all zeros: whatever its length, it is read in no time.
  @Test(.timeLimit(.minutes(1))) func endlessChainsEnd() throws {
    let head = Self.sharingLibrary(entries: 100, nameLength: 300)
    let count = UInt64(1) << 40
    var asked = 0
    let windows = FileWindows(count: count) { offset, size in
      asked += 1
      let part = offset < UInt64(head.count) ? Array(head[Int(offset)...].prefix(size)) : []
      var bytes = part + Array(repeating: 0, count: size - part.count)
      // The chain's last entry says no more that it is the last.
      for index in max(0, head.count - 8)..<head.count where offset == 0 { bytes[index] = 0 }
      return bytes
    }
    _ = try ELFFile(windows, readsExports: true)
    #expect(asked < 10_000, "\(asked)")
  }

  @Test func readsAcrossWindows() {
    let bytes = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 % 251 + 1) } + [0]
    let windows = FileWindows(bytes)
    #expect(windows.integer(65533, 8) == (0..<8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64(bytes[65533 + $1]) })
    #expect(windows.text(199_990) == String(decoding: bytes[199_990..<200_000], as: UTF8.self))
    #expect(windows.text(131_070, limit: 100) == nil && windows.text(131_070) == nil)
    #expect(windows.text(199_000)?.utf8.count == String(decoding: bytes[199_000..<200_000], as: UTF8.self).utf8.count)
    #expect(windows.integer(199_993, 8) != nil && windows.integer(199_994, 8) == nil && windows.text(200_001) == nil)
    #expect(windows.integer(.max, 8) == nil && windows.text(.max) == nil)
  }

  private static func sharingLibrary(entries: Int, nameLength: Int) -> [UInt8] {
    #if arch(x86_64)
      let machine: UInt8 = 62
    #else
      let machine: UInt8 = 183
    #endif
    var bytes: [UInt8] = [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1] + Array(repeating: 0, count: 57)
    func put(_ value: Int, _ width: Int, at offset: Int) {
      for index in 0..<width { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index)) }
    }
    let symbols = 0x200
    let strings = symbols + entries * 24
    bytes += Array(repeating: 0, count: strings - bytes.count)
    bytes += Array(repeating: 0x41, count: nameLength) + [0]
    bytes += Array(repeating: 0, count: 8 - bytes.count % 8)
    // One bucket whose chain is every entry.
    let hash = bytes.count
    bytes += Array(repeating: 0, count: 20 + entries * 4)
    put(3, 2, at: 16)
    put(Int(machine), 2, at: 18)
    put(64, 8, at: 32)
    put(56, 2, at: 54)
    put(2, 2, at: 56)
    // PT_LOAD over all of the file, and PT_DYNAMIC.
    for (at, type, offset, length) in [(64, 1, 0, bytes.count), (120, 2, 0x100, 0x40)] {
      put(type, 4, at: at)
      put(offset, 8, at: at + 8)
      put(offset, 8, at: at + 16)
      put(length, 8, at: at + 32)
    }
    for (index, entry) in [(5, strings), (6, symbols), (0x6fff_fef5, hash), (0, 0)].enumerated() {
      put(entry.0, 8, at: 0x100 + 16 * index)
      put(entry.1, 8, at: 0x108 + 16 * index)
    }
    for (index, value) in [1, 1, 0, 0, 1].enumerated() { put(value, 4, at: hash + 4 * index) }
    put(1, 4, at: hash + 20 + (entries - 2) * 4)
    for index in 1..<entries {
      put(nameLength - 1 - index % min(nameLength, 4000), 4, at: symbols + index * 24)
      put(1, 2, at: symbols + index * 24 + 6)
    }
    return bytes
  }
}
