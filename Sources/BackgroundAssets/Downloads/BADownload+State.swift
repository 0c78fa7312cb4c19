extension BADownload {
  /// Where a download stands. Corresponds to Apple's `BADownloadState`.
  public enum State: Int, BitwiseCopyable, Equatable, Hashable, RawRepresentable, Sendable {
    /// Ended with an error.
    case failed = -1
    /// Exists, but isn't scheduled.
    case created = 0
    /// Scheduled, not transferring yet.
    case waiting = 1
    /// Transferring.
    case downloading = 2
    /// Complete.
    case finished = 3
  }
}
