/// What the delegate that a running extension has set is told of a download of its app (B31).
public enum DelegateCall: Sendable, Equatable {
  case began(Download)
  case paused(Download)
  /// Bytes so far, and of the whole; -1: unknown.
  case progress(Download, totalWritten: Int64, totalExpected: Int64)
  case challenge(Download, ChallengeDescription)
  case failed(Download, ErrorDescription)
  /// `path`: as the extension sees it.
  case finished(Download, path: String)

  /// The download that the event is about.
  public var download: Download {
    switch self {
    case .began(let download), .paused(let download), .progress(let download, _, _), .challenge(let download, _),
      .failed(let download, _), .finished(let download, _):
      download
    }
  }
}
