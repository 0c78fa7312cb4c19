internal import AssetModel
internal import LinuxSystem

/// What came of work elsewhere on a running job's file, or on what the journal has of the job.
enum JobAnswer: Sendable {
  /// nil: there is no such file any more.
  case reopened(Result<StagingFile.Kept?, SystemCallError>)
  /// nil: nothing is left of it.
  case salvaged(Result<(found: ChunkMap.Found, identity: FileIdentity)?, SystemCallError>)
  case reserved(Result<JournalWriter.Grant, any Error>)
  case verified(Result<Bool, any Error>)
  /// What the last answer brought was cut off.
  case cut(Result<Void, SystemCallError>)
  case published(Result<JobRecord, Publisher.Failure>)
  /// All of it is right and safe, but it has no place.
  case keptForWantOfPlace(TransferFailure, size: Int64, Result<(Partial.Checkpoint?, FileIdentity), SystemCallError>)
  /// Whether a login page may have come instead of what it failed with.
  case lookedForPortal(TransferFailure, isThere: Bool)
  case filesRemoved
  case committed(JournalFailure?)
}
