internal import AssetModel

/// Digests that a file didn't have. They may have come with an answer for a part only: they hold for the next answer of
/// the same version as well, which may come without.
struct MismatchedDigests {
  private let entity: Entity
  private let digests: [ContentDigest]

  init?(_ job: ActiveJob) {
    guard let entity = job.record.partial?.entity, let hasher = job.file.hashing.hasher else { return nil }
    self.entity = entity
    digests = hasher.expected
  }

  /// Those that hold for another answer, if it is of the same version.
  func digests(for other: Entity) -> [ContentDigest] {
    guard entity.strongTag != nil || entity.lastModified != nil, entity.strongTag == other.strongTag,
      entity.lastModified == other.lastModified, entity.total == other.total
    else { return [] }
    return digests
  }
}
