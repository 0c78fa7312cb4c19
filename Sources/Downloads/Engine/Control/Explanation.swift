/// Why a download isn't moving: one leading reason with its data, and what ends it.
public struct Explanation: Sendable, Equatable {
  /// The reasons; the raw values are what `outrider explain --json` prints.
  public enum Code: String, Sendable, CaseIterable {
    /// It moves, or it is done.
    case transferring, finished, cancelled
    /// Work that isn't network: hashing, publishing, telling.
    case verifying, delivering
    case queued, offline, captivePortal, metered, powerSaver, battery, window, allowance, disk, volume
    case originBackoff, retryAfter, retrying, challenge, clockUnset, publication, paused, lock, upgrading
    /// Terminal.
    case noProgress, sizeMismatch, digestMismatch, hostileResponse, notAllowed, trust, gone, refused
  }

  /// The leading reason.
  public var code: Code
  /// For example `origin`, `failures`, `place`; values are fit for a terminal.
  public var data: [String: String]
  /// The same as a value, for those who word it or decide by it; nil where only the journal tells.
  package internal(set) var cause: Cause?
  /// Seconds that it has been so, where that is known.
  public var since: Double?
  /// Seconds until it may end by itself, where that is known.
  public var endsIn: Double?
  /// What ends it.
  public var remedy: String
  /// Reasons that would hold it if the leading one went.
  public var others: [Code]

  /// Creates an explanation.
  public init(
    _ code: Code, data: [String: String] = [:], since: Double? = nil, endsIn: Double? = nil, remedy: String,
    others: [Code] = []
  ) {
    self.code = code
    self.data = data
    self.since = since
    self.endsIn = endsIn
    self.remedy = remedy
    self.others = others
  }
}
