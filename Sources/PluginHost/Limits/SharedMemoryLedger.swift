/// The shared anonymous memory that a run was granted, where nothing else counts it, and what of it is known to be gone.
///
/// Each grant made a file of the kernel's whose pages are all there until the last mapping of any part of it goes: until then
/// it counts in full. A pure value.
struct SharedMemoryLedger: Equatable {
  /// What is granted beyond so many at a time is never given back.
  private static let maxGrants = 4096

  /// Grants that became these files, one each, and it isn't known which: one alone, where that was told.
  private struct Group: Equatable {
    /// In bytes, ascending.
    var sizes: [Int]
    /// Inodes.
    var files: Set<UInt64>

    /// Those that aren't mapped any more are at worst the smallest.
    mutating func keep(_ mapped: Set<UInt64>) {
      files.formIntersection(mapped)
      sizes.removeFirst(sizes.count - files.count)
    }
  }

  private var groups: [Group] = []
  /// Bytes of each grant of which it isn't known yet which files those may be.
  private var unknown: [Int] = []
  /// Whether there are any beyond: their files are among those that are mapped, too.
  private var isCut = false
  /// Bytes.
  private(set) var total = 0

  private var count: Int { groups.reduce(unknown.count) { $0 + $1.sizes.count } }
  private var counted: Int { groups.reduce(unknown.reduce(0, +)) { $0 + $1.sizes.reduce(0, +) } }

  mutating func add(_ bytes: Int) {
    total += bytes
    if count < Self.maxGrants { unknown.append(bytes) } else { isCut = true }
  }

  /// Whether it isn't known of some grants which files they became, and may be told.
  var hasUnknown: Bool { !isCut && !unknown.isEmpty }

  /// Whether that is one grant alone: then it can be told while the plugin goes on.
  var hasOneUnknown: Bool { !isCut && unknown.count == 1 }

  /// What is counted too much, at worst, where those and one of `bytes` can't be told apart later.
  func confusion(with bytes: Int) -> Int { unknown.map { abs($0 - bytes) }.max() ?? 0 }

  /// `mapped`: the inodes of shared anonymous memory that were seen one after the other while the plugin went on. What was just
  /// being moved or isn't mapped yet is missing, but each that isn't known comes from the one grant that isn't.
  mutating func identify(_ mapped: Set<UInt64>) {
    guard hasOneUnknown, let file = fresh(mapped).first else { return }
    groups.append(Group(sizes: unknown, files: [file]))
    unknown = []
  }

  /// `mapped`: the inodes of all shared anonymous memory that was mapped at a moment at which every grant had become a mapping
  /// and none was just being moved.
  mutating func look(_ mapped: Set<UInt64>) {
    let before = counted
    for index in groups.indices { groups[index].keep(mapped) }
    groups.removeAll { $0.files.isEmpty }
    let fresh = fresh(mapped)
    // Which of them are left can't be told by what is still mapped, which may be a part: at worst the largest.
    unknown.sort()
    unknown.removeFirst(max(unknown.count - fresh.count, 0))
    if !isCut, !unknown.isEmpty, unknown.count == fresh.count {
      groups.append(Group(sizes: unknown, files: fresh))
      unknown = []
    }
    total -= before - counted
  }

  private func fresh(_ mapped: Set<UInt64>) -> Set<UInt64> {
    groups.reduce(into: mapped) { $0.subtract($1.files) }
  }
}
