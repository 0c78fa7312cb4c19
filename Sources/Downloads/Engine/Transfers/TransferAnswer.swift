internal import AssetModel
internal import LinuxSystem

/// What came of work elsewhere on the bytes of a running job. What comes once for each buffer is small and in place.
enum TransferAnswer: Sendable {
  /// A buffer is on the file. The number is its writer's.
  case wrote(TransferBuffer, UInt64)
  indirect case writeFailed(UInt64, SystemCallError)
  /// `waits`: the transfer gets no other buffer before this is done with.
  case hashed(TransferBuffer, UInt64, by: FileHasher, waits: Bool)
  /// Whether a chunk has the digest that it should have.
  indirect case chunkHashed(Int, Result<Bool, SystemCallError>)
  indirect case identified(Result<(StagingFile.Preallocation, FileIdentity), SystemCallError>)
  case identityJournalled((any Error)?)
  /// `bits`: chunks that were verified when it began.
  indirect case synchronised(Result<(Partial.Checkpoint?, FileIdentity), SystemCallError>, bits: [UInt8]?)
  indirect case checkpointJournalled(JobRecord, bits: [UInt8]?, (any Error)?)
  indirect case challengeAnswered(TransferID, Authenticator.Question, ChallengeAnswer)
}
