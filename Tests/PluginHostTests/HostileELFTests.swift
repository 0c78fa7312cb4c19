import Basics
import Foundation
import TestSupport
import Testing

@testable import PluginHost

/// Files that were made to cost their reader.
@Suite(.timeLimit(.minutes(1))) struct HostileELFTests {
  /// What was asked for of a file, in bytes.
  private final class Meter { var bytes = 0 }

  /// A file as long as it likes: `head`, then whatever `tail` says of each offset.
  private static func windows(_ head: [UInt8], count: UInt64, _ meter: Meter, tail: UInt8 = 0) -> FileWindows {
    FileWindows(count: count) { offset, size in
      meter.bytes += size
      let part = offset < UInt64(head.count) ? Array(head[Int(offset)...].prefix(size)) : []
      return part + Array(repeating: tail, count: size - part.count)
    }
  }

  /// Headers and a dynamic section, with a PT_LOAD over everything.
  private static func image(dynamic: [(UInt64, UInt64)], segments: Int = 2, dynamicLength: UInt64? = nil) -> [UInt8] {
    #if arch(x86_64)
      let machine: UInt64 = 62
    #else
      let machine: UInt64 = 183
    #endif
    let section = 64 + 56 * segments
    var bytes = [UInt8](repeating: 0, count: section + 16 * dynamic.count)
    func put(_ value: UInt64, _ width: Int, _ at: Int) {
      for index in 0..<width { bytes[at + index] = UInt8(truncatingIfNeeded: value >> UInt64(8 * index)) }
    }
    for (index, byte) in [0x7f, 0x45, 0x4c, 0x46, 2, 1, 1].enumerated() { bytes[index] = UInt8(byte) }
    put(3, 2, 16)
    put(machine, 2, 18)
    put(64, 8, 32)
    put(56, 2, 54)
    put(UInt64(segments), 2, 56)
    for (at, type, start, length) in [
      (64, 1, 0, UInt64.max), (120, 2, UInt64(section), dynamicLength ?? UInt64(16 * dynamic.count)),
    ] as [(Int, UInt64, UInt64, UInt64)] {
      put(type, 4, at)
      put(start, 8, at + 8)
      put(start, 8, at + 16)
      put(length, 8, at + 32)
    }
    for (index, entry) in dynamic.enumerated() {
      put(entry.0, 8, section + 16 * index)
      put(entry.1, 8, section + 16 * index + 8)
    }
    return bytes
  }

  /// Each name on a page of its own, as far apart as the file is long.
  @Test func namesAllOverTheFile() throws {
    let meter = Meter()
    let names = (0..<4000).map { (UInt64(1), UInt64($0) << 30) }
    let view = Self.windows(Self.image(dynamic: [(5, 0)] + names), count: 1 << 50, meter, tail: 0)
    #expect(throws: ELFFile.FormatError.self) { _ = try ELFFile(view, readsExports: false) }
    #expect(meter.bytes < 16 << 20, "\(meter.bytes)")
  }

  @Test func endlessNames() throws {
    let meter = Meter()
    let names = (0..<4000).map { (UInt64(1), UInt64($0)) }
    let view = Self.windows(Self.image(dynamic: [(5, 1 << 20)] + names), count: 1 << 40, meter, tail: 0x41)
    #expect(try ELFFile(view, readsExports: false).needed.isEmpty)
    #expect(meter.bytes < 16 << 20, "\(meter.bytes)")
  }

  @Test func moreSegmentsThanAnyLinkerMakes() throws {
    let error = #expect(throws: ELFFile.FormatError.self) {
      _ = try ELFFile(FileWindows(Self.image(dynamic: [(0, 0)], segments: 65_000)), readsExports: true)
    }
    #expect(error?.description.contains("program headers") == true)
  }

  /// Symbols whose names lie in any order over a long table: each may be looked at once, and its table is read once.
  @Test func scatteredSymbolsAreReadOnce() throws {
    let meter = Meter()
    // DT_STRTAB, DT_SYMTAB, DT_GNU_HASH in a file that is all ones beyond its head: 2^32 buckets, names everywhere.
    let head = Self.image(dynamic: [(5, 1 << 20), (6, 1 << 30), (0x6fff_fef5, 1 << 34), (10, .max)])
    let view = Self.windows(head, count: 1 << 45, meter, tail: 0x02)
    _ = try ELFFile(view, readsExports: true)
    #expect(meter.bytes < 80 << 20, "\(meter.bytes)")
    let light = Meter()
    _ = try ELFFile(Self.windows(head, count: 1 << 45, light, tail: 0x02), readsExports: false)
    #expect(light.bytes < 1 << 20, "\(light.bytes)")
  }

  /// Whatever the tables claim, so much is read and kept, and no more.
  @Test func randomTablesStayBounded() {
    var random = SeededGenerator(seed: 36)
    let tags: [UInt64] = [0, 1, 5, 6, 10, 14, 15, 29, 0x6fff_fef5]
    for _ in 0..<60 {
      let dynamic = (0..<random.below(64)).map { _ in
        (tags[random.below(tags.count)], random.next() >> UInt64(random.below(64)))
      }
      let head = Self.image(
        dynamic: dynamic, segments: 2 + random.below(4), dynamicLength: random.chance(3) ? .max : nil)
      let meter = Meter()
      let view = Self.windows(
        head, count: 1 << UInt64(20 + random.below(40)), meter, tail: UInt8(truncatingIfNeeded: random.next()))
      let file = try? ELFFile(view, readsExports: random.chance(2))
      #expect(meter.bytes < 80 << 20)
      #expect(file.map { $0.needed.reduce(0) { $0 + $1.utf8.count } <= 1 << 16 } ?? true)
      #expect(file.map { $0.exports.reduce(0) { $0 + $1.utf8.count } <= 1 << 24 } ?? true)
    }
  }

  /// A file that takes long to hash, though it takes no room.
  private static func sparseLibrary(_ bytes: Int, needing names: [String] = [], in folder: URL) throws -> String {
    let path = folder.appending(path: "\(UUID().uuidString).so").path
    var strings: [UInt8] = [0]
    let needed = names.map { name -> (UInt64, UInt64) in
      defer { strings += Array(name.utf8) + [0] }
      return (1, UInt64(strings.count))
    }
    let head = image(dynamic: needed + [(5, 1 << 16), (0, 0)])
    let content = head + Array(repeating: 0, count: 1 << 16 - head.count) + strings
    try Data(content).write(to: URL(fileURLWithPath: path))
    #expect(truncate(path, max(bytes, content.count)) == 0)
    return path
  }

  private func withFolder(_ body: (URL) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "outrider-test-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.resolvingSymlinksInPath())
  }

  @Test("Reading a library ends when its load would, and what was read by then isn't kept") func readingEnds() throws {
    try withFolder { folder in
      let path = try Self.sparseLibrary(64 << 20, in: folder)
      let error = #expect(throws: HostError.self) {
        _ = try PluginImage(opening: path, searching: false, reading: ReadingTime(limit: .zero))
      }
      #expect(error?.report?.outcome.kind == .wallTimeExceeded)
      #expect(error?.report?.outcome.detail.contains(path) == true)
      #expect(!PluginImage.isKnown(path))
      let image = try PluginImage(opening: path)
      try FileManager.default.copyItem(atPath: path, toPath: path + ".copy")
      #expect(image.elf != nil)
      #expect(try PluginImage(opening: path + ".copy").digest == image.digest)
      #expect(PluginImage.isKnown(path))
      _ = try PluginImage(opening: path, searching: false, reading: ReadingTime(limit: .seconds(60)))
    }
  }

  @Test("Reading ends with the run that wanted it") func readingIsCancelled() throws {
    try withFolder { folder in
      let path = try Self.sparseLibrary(64 << 20, in: folder)
      let error = #expect(throws: HostError.self) {
        _ = try PluginImage(
          opening: path, searching: false, reading: ReadingTime(limit: .seconds(60)) { false })
      }
      if case .cancelled = error { return }
      Issue.record("\(String(describing: error))")
    }
  }

  @Test("What lies beside a library is a part of its time, too") func neighboursEnd() throws {
    try withFolder { folder in
      let names = try (0..<3).map { _ in
        URL(fileURLWithPath: try Self.sparseLibrary(1 << 17, in: folder)).lastPathComponent
      }
      let path = try Self.sparseLibrary(1 << 17, needing: names, in: folder)
      #expect(Set(try PluginImage(opening: path).neighbours.map(\.name)) == Set(names))
      // The library itself is known from here on; of those beside it, all but one.
      try Self.change(folder.appending(path: names[1]))
      let error = #expect(throws: HostError.self) {
        _ = try PluginImage(opening: path, searching: false, reading: ReadingTime(limit: .zero))
      }
      #expect(error?.report?.outcome.kind == .wallTimeExceeded)
      #expect(try PluginImage(opening: path).neighbours.count == 3, "a reading that ended hides none of them")
    }
  }

  private static func change(_ file: URL) throws {
    let handle = try FileHandle(forUpdating: file)
    try handle.seekToEnd()
    try handle.write(contentsOf: Data([1]))
    try handle.close()
  }
}
