internal import CLinux

/// Code that nearly every runner uses, in huge pages: two megabytes of it are mapped, looked up and unmapped as one, where
/// small pages are five hundred, each of which costs its time at a runner's end. They are the server's own memory, some
/// twelve megabytes, and its runners share them.
extension HotPages {
  /// Small pages in use without which a huge one isn't worth its memory.
  private static let fewest: UInt = 128

  /// Only in a process of one thread.
  mutating func makeCodeHuge(_ areas: [MemoryArea]) {
    for range in hugeRanges(in: areas) where ol_make_code_huge(range.lowerBound, range.count) == 0 { leaveOut(range) }
  }

  /// Whole huge pages, each within one mapping of code, neighbours joined.
  func hugeRanges(in areas: [MemoryArea]) -> [Range<UInt>] {
    var found: [Range<UInt>] = []
    for area in areas where area.isPrivate && area.isExecutable && !area.isWritable {
      let size = UInt(OL_HUGE_PAGE)
      var start = (area.range.lowerBound + size - 1) / size * size
      var last: Range<UInt>?
      while start + size <= area.range.upperBound {
        let page = start..<start + size
        start += size
        guard inUse(of: page) >= Self.fewest else { continue }
        if let before = last, before.upperBound == page.lowerBound {
          last = before.lowerBound..<page.upperBound
        } else {
          if let last { found.append(last) }
          last = page
        }
      }
      if let last { found.append(last) }
    }
    return found
  }

  private func inUse(of page: Range<UInt>) -> UInt {
    read.reduce(0) { $0 + UInt($1.clamped(to: page).count) } / PageEntry.size
  }
}
