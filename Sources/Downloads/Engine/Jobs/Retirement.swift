internal import AssetModel

/// How an activation ends: its files are removed, the journal is told, and then something follows, in this order. Commands wait
/// until the slot is free, and the next activation finds nothing of a file that was removed.
struct Retirement: Equatable, Sendable {
  enum Removal: Equatable, Sendable {
    case nothing
    /// The partial file of this activation.
    case partial
    /// Also those of earlier generations.
    case everything
  }

  var removal = Removal.nothing
  /// What is remembered of its last attempt.
  var attempt: Attempt?
  var disposition: Disposition

  init(_ disposition: Disposition, removing removal: Removal = .nothing, attempt: Attempt? = nil) {
    self.disposition = disposition
    self.removal = removal
    self.attempt = attempt
  }
}
