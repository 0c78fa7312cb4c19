/// Something that could be deleted for space.
package struct PurgeCandidate: Sendable, Equatable {
  package var directory: String
  package var name: String
  package var inode: UInt64
  /// Bytes that deleting it frees.
  package var size: Int64
  /// Nanoseconds since 1970.
  package var lastUse: Int64

  package init(directory: String, name: String, inode: UInt64, size: Int64, lastUse: Int64) {
    self.directory = directory
    self.name = name
    self.inode = inode
    self.size = size
    self.lastUse = lastUse
  }
}

/// What is deleted, and in which order. Pure.
package enum PurgePlanner {
  /// The fewest from the front of the order that bring `free` to `target` (see `FreeSpacePolicy.purgeTarget`); all of them
  /// where that isn't enough.
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

  /// What wasn't used for longest goes first.
  package static func order(_ candidates: [PurgeCandidate]) -> [PurgeCandidate] {
    candidates.sorted { ($0.lastUse, $0.name) < ($1.lastUse, $1.name) }
  }
}
