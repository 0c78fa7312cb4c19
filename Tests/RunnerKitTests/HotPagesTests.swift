import CLinux
import Foundation
import LinuxSystem
import Testing

@testable import RunnerKit

@Suite(.timeLimit(.minutes(1))) struct HotPagesTests {
  private static let huge = UInt(OL_HUGE_PAGE)

  private static func code(_ range: Range<UInt>) -> MemoryArea {
    MemoryArea(range: range, isPrivate: true, isWritable: false, isExecutable: true)
  }

  /// Pages of code that are in the page cache and mapped; nothing else.
  private static func pages(_ used: [Range<UInt>]) -> HotPages {
    var pages = HotPages()
    for range in used {
      pages.add(
        code(range),
        [PageEntry](repeating: PageEntry(bits: 1 << 63 | 1 << 61), count: range.count / Int(PageEntry.size)))
    }
    return pages
  }

  @Test func readsTheKernelsMap() {
    let map = """
      7f00-8000 r-xp 00000000 fe:00 1 /usr/lib/a b.so
      8000-9000 rw-s 00000000 00:00 0
      ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]
      9000-8000 r--p 0 0 0
      nonsense
      a000-b000 r-
      """
    #expect(
      MemoryArea.all(in: Array(map.utf8)) == [
        MemoryArea(range: 0x7f00..<0x8000, isPrivate: true, isWritable: false, isExecutable: true),
        MemoryArea(range: 0x8000..<0x9000, isPrivate: false, isWritable: true, isExecutable: false),
      ])
  }

  @Test func onlyWholeHugePagesOfCodeInUse() {
    let pages = Self.pages([Self.huge..<Self.huge * 4])
    let inside = Self.huge - 4096..<Self.huge * 3 + 4096
    #expect(pages.hugeRanges(in: [Self.code(inside)]) == [Self.huge..<Self.huge * 3])
    var data = Self.code(inside)
    data.isExecutable = false
    var written = Self.code(inside)
    written.isWritable = true
    var shared = Self.code(inside)
    shared.isPrivate = false
    #expect(pages.hugeRanges(in: [data, written, shared]).isEmpty)
    #expect(pages.hugeRanges(in: [Self.code(Self.huge + 4096..<Self.huge * 2 + 4096)]).isEmpty)
    // Neighbouring mappings aren't one.
    #expect(
      pages.hugeRanges(in: [Self.code(Self.huge..<Self.huge * 2), Self.code(Self.huge * 2..<Self.huge * 3)])
        == [Self.huge..<Self.huge * 2, Self.huge * 2..<Self.huge * 3])
  }

  @Test(arguments: [(127, false), (128, true)])
  func fewPagesAreNotWorthOne(count: UInt, isWorth: Bool) {
    let pages = Self.pages([Self.huge..<Self.huge + count * 4096])
    #expect(pages.hugeRanges(in: [Self.code(Self.huge..<Self.huge * 2)]).isEmpty != isWorth)
  }

  /// Whether this kernel makes them or not, the bytes stay where they were.
  @Test func hugeCodeIsTheSameCode() throws {
    let bytes = (0..<Int(Self.huge) * 3).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 7) }
    let path = FileManager.default.temporaryDirectory.path + "/outrider-code-\(UUID())"
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    let file = open(path, O_RDONLY)
    let mapped = try #require(mmap(nil, bytes.count, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0))
    close(file)
    defer { munmap(mapped, bytes.count) }
    let start = (UInt(bitPattern: mapped) + Self.huge - 1) / Self.huge * Self.huge
    let code = ol_make_code_huge(start, Int(Self.huge))
    #expect(UnsafeRawBufferPointer(start: mapped, count: bytes.count).elementsEqual(bytes))
    let map = try Files.text(of: "/proc/self/smaps", limit: 16 << 20)
    let area = map.components(separatedBy: "VmFlags").first { $0.contains("\n" + String(start, radix: 16) + "-") }
    // Linux 6.1 has MADV_COLLAPSE.
    let version = ProcessInfo.processInfo.operatingSystemVersion
    let isNew = (version.majorVersion, version.minorVersion) >= (6, 1)
    if isNew, FileManager.default.fileExists(atPath: "/sys/kernel/mm/transparent_hugepage") {
      #expect(code == 0)
      #expect(area?.contains("AnonHugePages:      2048 kB") == true)
      #expect(area?.contains("r-xp") == true)
    } else {
      #expect(code != 0)
    }
  }
}
