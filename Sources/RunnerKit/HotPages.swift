internal import Glibc

/// The pages of loaded libraries that a runner is going to touch. A fork doesn't copy the mappings of pages that are only
/// read: each of its children would fault in the same few hundred again, one by one.
struct HotPages {
  private static let page = 4096
  /// MADV_POPULATE_READ, Linux 5.14: maps what is in the page cache, in one call.
  private static let populateForReading: Int32 = 22

  private var ranges: [Range<UInt>] = []

  /// The process's own view of its memory: opened while there is still a /proc.
  struct Source {
    let maps: Int32
    let pagemap: Int32

    init?() {
      maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)
      pagemap = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)
      if maps < 0 || pagemap < 0 { return nil }
    }
  }

  /// Forgets which pages are mapped, has `work` done, and notes which ones are mapped then.
  init(touchedBy work: () -> Void, source: Source) {
    let areas = Self.areas(source.maps).filter { Self.isUntouched($0, source.pagemap) }
    for area in areas { madvise(UnsafeMutableRawPointer(bitPattern: area.lowerBound), area.count, MADV_DONTNEED) }
    work()
    for area in areas { ranges += Self.present(in: area, source.pagemap) }
  }

  func populate() {
    for range in ranges {
      madvise(UnsafeMutableRawPointer(bitPattern: range.lowerBound), range.count, Self.populateForReading)
    }
  }

  /// Private mappings of files that can't be written now. Some were: relocations that are read-only since.
  private static func areas(_ maps: Int32) -> [Range<UInt>] {
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65536)
    while case let count = pread(maps, &buffer, buffer.count, off_t(text.count)), count > 0 { text += buffer[0..<count] }
    var areas: [Range<UInt>] = []
    for line in text.split(separator: UInt8(ascii: "\n")) {
      let words = line.split(separator: UInt8(ascii: " "))
      guard words.count >= 6, words[5].first == UInt8(ascii: "/"), [Array("r--p".utf8), Array("r-xp".utf8)].contains(Array(words[1])),
        let dash = words[0].firstIndex(of: UInt8(ascii: "-")),
        let start = UInt(String(decoding: words[0][..<dash], as: UTF8.self), radix: 16),
        let end = UInt(String(decoding: words[0][words[0].index(after: dash)...], as: UTF8.self), radix: 16)
      else { continue }
      areas.append(start..<end)
    }
    return areas
  }

  /// One word for each page (proc_pid_pagemap(5)): bit 63 is set where it is mapped, 62 where it is swapped out, 61 where
  /// it is the file's.
  private static func entries(of area: Range<UInt>, _ pagemap: Int32) -> [UInt64]? {
    var entries = [UInt64](repeating: 0, count: area.count / page)
    let size = entries.count * 8
    return pread(pagemap, &entries, size, off_t(area.lowerBound) / off_t(page) * 8) == size ? entries : nil
  }

  /// Whether every page is the file's own: what is dropped of it comes back the same.
  private static func isUntouched(_ area: Range<UInt>, _ pagemap: Int32) -> Bool {
    entries(of: area, pagemap)?.allSatisfy { $0 >> 61 == 0b000 || $0 >> 61 == 0b101 } ?? false
  }

  /// Runs of pages that are mapped now, with small gaps closed.
  private static func present(in area: Range<UInt>, _ pagemap: Int32) -> [Range<UInt>] {
    var ranges: [Range<UInt>] = []
    for (index, entry) in (entries(of: area, pagemap) ?? []).enumerated() where entry >> 63 == 1 {
      let start = area.lowerBound + UInt(index * page)
      if let last = ranges.last, start - last.upperBound <= UInt(4 * page) {
        ranges[ranges.count - 1] = last.lowerBound..<start + UInt(page)
      } else {
        ranges.append(start..<start + UInt(page))
      }
    }
    return ranges
  }
}
