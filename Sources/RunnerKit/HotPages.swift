internal import CLinux
internal import Glibc
internal import LinuxSystem

/// The pages that a runner touches between its fork and its first answer, found by a rehearsal. A fork copies neither
/// the page tables of what is only read nor the pages that are written: each runner would fault in the same few hundred
/// again, one by one, while a call waits.
struct HotPages: Equatable {
  /// Of files: mapped when they are in the page cache.
  private(set) var read: [Range<UInt>] = []
  /// Private: copied.
  private(set) var written: [Range<UInt>] = []

  /// Maps and copies them all. A range that isn't mapped any more is left out by the kernel.
  func populate() {
    mapRead()
    for range in written { _ = ol_populate(range.lowerBound, range.count, 1) }
  }

  /// These are mapped otherwise.
  mutating func leaveOut(_ range: Range<UInt>) {
    read.removeAll { range.lowerBound <= $0.lowerBound && $0.upperBound <= range.upperBound }
  }

  /// Only what may be shared.
  func mapRead() {
    for range in read { _ = ol_populate(range.lowerBound, range.count, 0) }
  }
}

/// A child of the server that does once what runners do, and says which pages that took.
enum Rehearsal {
  /// nil where the kernel doesn't tell. `processes` is /proc, which the server doesn't see any more.
  static func pages(processes: Int32, of work: () -> Void) -> HotPages? {
    guard let (mine, theirs) = try? Sockets.pair(stream: true) else { return nil }
    var pid: pid_t = 0
    guard ol_fork(&pid) == 0 else {
      close(mine)
      close(theirs)
      return nil
    }
    if pid == 0 {
      close(mine)
      work()
      if let pages = observe(processes) { try? Sockets.send(theirs, encode(pages)) }
      ol_exit_now(0)
    }
    close(theirs)
    let socket = OwnedDescriptor(taking: mine)
    let bytes = try? socket.readAll(limit: 1 << 20)
    var code: Int32 = 0
    var status: Int32 = 0
    _ = ol_wait(pid, &code, &status)
    return bytes.flatMap(decode)
  }

  static func areas(_ processes: Int32) -> [MemoryArea] {
    (try? text(processes, "self/maps")).map(MemoryArea.all) ?? []
  }

  private static func encode(_ pages: HotPages) -> [UInt8] {
    let words =
      [UInt(pages.read.count)] + (pages.read + pages.written).flatMap { [$0.lowerBound, $0.upperBound] }
    return words.withUnsafeBytes(Array.init)
  }

  private static func decode(_ bytes: [UInt8]) -> HotPages? {
    let words = bytes.withUnsafeBytes { Array($0.bindMemory(to: UInt.self)) }
    guard words.count >= 3, words.count % 2 == 1 else { return nil }
    let ranges = stride(from: 1, to: words.count, by: 2).map { words[$0]..<words[$0 + 1] }
    let count = min(Int(words[0]), ranges.count)
    return HotPages(read: Array(ranges[..<count]), written: Array(ranges[count...]))
  }

  private static func observe(_ processes: Int32) -> HotPages? {
    guard let map = try? text(processes, "self/maps") else { return nil }
    let entries = openat(processes, "self/pagemap", O_RDONLY | O_CLOEXEC)
    guard entries >= 0 else { return nil }
    var pages = HotPages()
    for area in MemoryArea.all(in: map) {
      pages.add(area, PageEntry.all(of: area.range, from: entries))
    }
    return pages
  }

  private static func text(_ directory: Int32, _ name: String) throws(SystemCallError) -> [UInt8] {
    let file = OwnedDescriptor(
      taking: try checkErrno("openat", name) { openat(directory, name, O_RDONLY | O_CLOEXEC) })
    return try file.readAll(limit: 1 << 20)
  }
}

/// One word of /proc/PID/pagemap (Linux, Documentation/admin-guide/mm/pagemap.rst).
struct PageEntry {
  static let size: UInt = 4096

  let bits: UInt64

  var isPresent: Bool { bits >> 63 == 1 }
  var isOfFile: Bool { bits >> 61 & 1 == 1 }
  /// Mapped by this process alone: what a fork left shared, it isn't.
  var isExclusive: Bool { bits >> 56 & 1 == 1 }

  static func all(of range: Range<UInt>, from file: Int32) -> [PageEntry] {
    var words = [UInt64](repeating: 0, count: range.count / Int(size))
    let bytes = words.count * 8
    guard pread(file, &words, bytes, off_t(range.lowerBound / size * 8)) == bytes else { return [] }
    return words.map(PageEntry.init)
  }
}

/// One line of /proc/PID/maps (proc_pid_maps(5)).
struct MemoryArea: Equatable {
  var range: Range<UInt>
  var isPrivate: Bool
  var isWritable: Bool
  var isExecutable: Bool

  static func all(in map: [UInt8]) -> [MemoryArea] {
    map.split(separator: UInt8(ascii: "\n")).compactMap { line in
      let words = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
      guard words.count == 3, words[1].count == 4 else { return nil }
      let bounds = words[0].split(separator: UInt8(ascii: "-")).compactMap {
        UInt(String(decoding: $0, as: UTF8.self), radix: 16)
      }
      // The kernel's own pages lie in the upper half.
      guard bounds.count == 2, bounds[0] < bounds[1], bounds[1] <= UInt(Int.max) else { return nil }
      let flags = Array(words[1])
      return MemoryArea(
        range: bounds[0]..<bounds[1], isPrivate: flags[3] == UInt8(ascii: "p"),
        isWritable: flags[1] == UInt8(ascii: "w"), isExecutable: flags[2] == UInt8(ascii: "x"))
    }
  }
}

extension HotPages {
  /// Pages that the kernel maps at once around one that is touched: gaps as small cost less than another call.
  private static let nearby = 4 * PageEntry.size

  mutating func add(_ area: MemoryArea, _ entries: [PageEntry]) {
    guard area.isPrivate else { return }
    for (index, entry) in entries.enumerated() where entry.isPresent {
      let start = area.range.lowerBound + UInt(index) * PageEntry.size
      let page = start..<start + PageEntry.size
      if entry.isOfFile {
        Self.append(page, to: &read, gap: Self.nearby)
      } else if entry.isExclusive, area.isWritable {
        // A page too many would be memory of the runner's own.
        Self.append(page, to: &written, gap: 0)
      }
    }
  }

  private static func append(_ page: Range<UInt>, to ranges: inout [Range<UInt>], gap: UInt) {
    if let last = ranges.last, page.lowerBound >= last.upperBound, page.lowerBound - last.upperBound <= gap {
      ranges[ranges.count - 1] = last.lowerBound..<page.upperBound
    } else {
      ranges.append(page)
    }
  }
}
