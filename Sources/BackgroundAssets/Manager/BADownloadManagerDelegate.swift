/// Watches the downloads of an app. Corresponds to Apple's `BADownloadManagerDelegate`.
///
/// Every method has a default implementation, because Linux has no optional requirements. A default marks the event as
/// *unhandled*, and the service then wakes the extension for a challenge, a failure or a finished file. Two limits follow: a
/// method has to be in the class that declares the conformance, since one that a subclass adds isn't seen; and a call with
/// `?` doesn't compile.
///
/// Calls come on one serial queue of the framework, not on the main actor.
public protocol BADownloadManagerDelegate: NSObjectProtocol {
  /// The transfer has begun, or goes on after a pause.
  func downloadDidBegin(_ download: BADownload)

  /// The transfer is paused.
  func downloadDidPause(_ download: BADownload)

  /// More of the file is here.
  ///
  /// - Parameters:
  ///   - download: Whose.
  ///   - bytesWritten: Bytes since the previous call.
  ///   - totalBytesWritten: Bytes so far.
  ///   - totalExpectedBytes: Bytes in all.
  func download(
    _ download: BADownload, didWriteBytes bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite totalExpectedBytes: Int64)

  /// The server wants to know who asks. Implement this or the asynchronous spelling, not both.
  func download(
    _ download: BADownload, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)

  /// The asynchronous spelling of the same event.
  func download(
    _ download: BADownload, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)

  /// The download has failed; it may be scheduled again.
  func download(_ download: BADownload, failedWithError error: any Error)

  /// The file is here. It is deleted when this returns, unless it was moved away.
  func download(_ download: BADownload, finishedWithFileURL fileURL: URL)
}

extension BADownloadManagerDelegate {
  public func downloadDidBegin(_ download: BADownload) { DelegateEvent.markUnhandled() }

  public func downloadDidPause(_ download: BADownload) { DelegateEvent.markUnhandled() }

  public func download(
    _ download: BADownload, didWriteBytes bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite totalExpectedBytes: Int64
  ) { DelegateEvent.markUnhandled() }

  public func download(
    _ download: BADownload, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    DelegateEvent.markUnhandled()
    completionHandler(.performDefaultHandling, nil)
  }

  public func download(
    _ download: BADownload, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    await withCheckedContinuation { continuation in
      self.download(download, didReceive: challenge) { disposition, credential in
        continuation.resume(returning: (disposition, credential))
      }
    }
  }

  public func download(_ download: BADownload, failedWithError error: any Error) { DelegateEvent.markUnhandled() }

  public func download(_ download: BADownload, finishedWithFileURL fileURL: URL) { DelegateEvent.markUnhandled() }
}
