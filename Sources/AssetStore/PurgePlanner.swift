/// Something that could be deleted for space.
package struct PurgeCandidate: Sendable, Equatable {
  package enum Kind: Int, Sendable, Comparable, CaseIterable {
    /// In this order they go.
    case quarantined, orphan, partialWithoutJob, finished

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
  }

  package var kind: Kind
  /// The row of a finished file.
  package var file: Int64?
  package var directory: String
  package var name: String
  package var inode: UInt64
  /// Bytes that deleting it frees.
  package var size: Int64
  package var isPinned: Bool
  /// Whether it carries the mark; only finished files need one.
  package var isPurgeable: Bool
  /// Higher goes later.
  package var preservation: Int
  /// Nanoseconds since 1970.
  package var lastUse: Int64
  /// Essential, and its app can be launched.
  package var isNeededForLaunch: Bool

  package init(
    kind: Kind, file: Int64? = nil, directory: String, name: String, inode: UInt64, size: Int64, isPinned: Bool = false,
    isPurgeable: Bool = true, preservation: Int = 0, lastUse: Int64 = 0, isNeededForLaunch: Bool = false
  ) {
    self.kind = kind
    self.file = file
    self.directory = directory
    self.name = name
    self.inode = inode
    self.size = size
    self.isPinned = isPinned
    self.isPurgeable = isPurgeable
    self.preservation = preservation
    self.lastUse = lastUse
    self.isNeededForLaunch = isNeededForLaunch
  }

  package init(_ file: StoredFile, appIsLaunchable: Bool) {
    self.init(
      kind: .finished, file: file.id, directory: file.directory, name: file.name, inode: file.inode, size: file.size,
      isPinned: file.isPinned, isPurgeable: file.isPurgeable, preservation: file.preservation, lastUse: file.lastUse,
      isNeededForLaunch: file.isEssential && appIsLaunchable)
  }
}

/// What is deleted, and in which order. Pure.
package enum PurgePlanner {
  /// The fewest from the front of the order that bring `free` to `target` (see `FreeSpacePolicy.purgeTarget`); all of them
  /// where that isn't enough. Nothing pinned, nothing without the mark.
  package static func plan(_ candidates: [PurgeCandidate], free: Int64, target: Int64) -> [PurgeCandidate] {
    var missing = target - free
    var plan: [PurgeCandidate] = []
    for candidate in order(candidates) {
      if missing <= 0 { break }
      plan.append(candidate)
      missing -= candidate.size
    }
    return plan
  }

  /// Quarantine, orphans, partials without a job, then finished files by preservation and least recent use; what an app
  /// needs for its launch last.
  package static func order(_ candidates: [PurgeCandidate]) -> [PurgeCandidate] {
    candidates.filter { !$0.isPinned && ($0.isPurgeable || $0.kind != .finished) }.sorted { left, right in
      (left.kind.rawValue, left.isNeededForLaunch ? 1 : 0, left.preservation, left.lastUse, left.name)
        < (right.kind.rawValue, right.isNeededForLaunch ? 1 : 0, right.preservation, right.lastUse, right.name)
    }
  }
}
