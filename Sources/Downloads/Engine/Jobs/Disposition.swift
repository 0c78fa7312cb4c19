internal import AssetModel

/// What becomes of a job once the journal has its record. As long as the journal can't be written this is kept with the
/// record, and carried out when it can.
enum Disposition: Equatable, Sendable {
  /// When a hold ends by itself.
  enum End: Equatable, Sendable {
    /// At a moment of boot time.
    case at(Duration)
    /// So long after the journal has it.
    case after(Duration)
    /// Only by a command or an event.
    case never
  }

  /// Back to the queue. `reportsBlock`: if it can't begin, an event says why.
  case queued(reportsBlock: Bool)
  /// Back to the queue, where a login page keeps it.
  case queuedBehindPortal
  case held(Hold.Reason, End)
  case outOfSpace(SpaceShortage)
  case paused
  /// Its class changed. `hold`: what it goes on waiting for, if it does.
  case reclassified(isUrgent: Bool, hold: Hold.Reason?, until: Duration?)
  case cancelled
  case failed(TransferFailure)
  /// What is at its place is all that there is, of so many bytes.
  case unchanged(size: Int64)
  /// The engine closes, and the next one takes the job up.
  case left
}
