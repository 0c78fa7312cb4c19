/// The shared anonymous memory that a run was granted, where nothing else counts it, and what of it is known to be gone.
///
/// Each grant made a file of the kernel's whose pages are all there until the last mapping of any part of it goes: until then
/// it counts in full. A pure value.
struct SharedMemoryLedger: Equatable {
  /// What is granted beyond so many at a time is never given back.
  private static let maxGrants = 4096

  private struct Grant: Equatable {
    var bytes: Int
    /// Its inode, once that is certain.
    var file: UInt64?
  }

  private var grants: [Grant] = []
  /// Whether there are any beyond: their files are among those that are mapped, too.
  private var isCut = false
  /// Bytes.
  private(set) var total = 0

  mutating func add(_ bytes: Int) {
    total += bytes
    if grants.count < Self.maxGrants { grants.append(Grant(bytes: bytes)) } else { isCut = true }
  }

  /// Whether of one grant alone it isn't known which file it became: that can be told while the plugin goes on.
  var hasOneUnknown: Bool { !isCut && grants.count { $0.file == nil } == 1 }

  /// What is counted too much, at worst, where that one and one of `bytes` can't be told apart later.
  func confusion(with bytes: Int) -> Int {
    guard let unknown = grants.first(where: { $0.file == nil }) else { return 0 }
    return abs(unknown.bytes - bytes)
  }

  /// `mapped`: the inodes of shared anonymous memory that were seen one after the other while the plugin went on. What was just
  /// being moved or isn't mapped yet is missing, but each that isn't known comes from the one grant that isn't.
  mutating func identify(_ mapped: Set<UInt64>) {
    guard hasOneUnknown, let index = grants.firstIndex(where: { $0.file == nil }),
      let file = mapped.subtracting(grants.compactMap(\.file)).first
    else { return }
    grants[index].file = file
  }

  /// `mapped`: the inodes of all shared anonymous memory that was mapped at a moment at which every grant had become a mapping
  /// and none was just being moved.
  mutating func look(_ mapped: Set<UInt64>) {
    let before = grants.reduce(0) { $0 + $1.bytes }
    grants.removeAll { grant in grant.file.map { !mapped.contains($0) } ?? false }
    let fresh = mapped.subtracting(grants.compactMap(\.file))
    let unknown = grants.indices.filter { grants[$0].file == nil }
    if let file = fresh.first, fresh.count == 1, unknown.count == 1 {
      grants[unknown[0]].file = file
    } else if unknown.count > fresh.count {
      // Which of them are left can't be told by what is still mapped, which may be a part: at worst the largest.
      let gone = unknown.sorted { grants[$0].bytes < grants[$1].bytes }.prefix(unknown.count - fresh.count)
      for index in gone.sorted(by: >) { grants.remove(at: index) }
    }
    total -= before - grants.reduce(0) { $0 + $1.bytes }
  }
}
