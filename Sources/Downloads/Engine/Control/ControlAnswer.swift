internal import AssetModel

/// What came of work elsewhere that is no running job's.
enum ControlAnswer: Sendable {
  /// An origin's record, whether it could be written or not: without it more is asked of a server than need be.
  case originJournalled
  case recordsRead([JobID], Result<[JobRecord], any Error>)
  case added(Additions.Addition, Result<[AddResult], any Error>)
  case openJobsRead(Result<[JobRecord], any Error>, EngineReply<[JobRecord]>)
  case superseded(Supersession, inheriting: Partial?, StoredMoment, Result<[AddResult], any Error>)
  /// The new job has the bytes of the old one, or begins without them.
  case inherited(JobRecord, Supersession, (any Error)?)
  case change(JobChanges.Event)
  /// Of a job without an activation. The event is for who waits for it.
  case filesRemoved(JobChanges.Event?)
  /// One record was written once more, for all that wait for the journal.
  case triedJournal(isWritten: Bool)
  case lookedForPortal(isThere: Bool)
  case madeRoom(onDevice: UInt64, hasDeleted: Bool)
}
