import BackgroundAssets

/// Watches all downloads of the app, and takes the files that arrive while the app runs.
final class Downloader: NSObject, BADownloadManagerDelegate, Sendable {
  enum Event: Sendable {
    case began(String)
    case paused(String)
    /// From 0 to 1.
    case progress(String, Double)
    case finished(String)
    case failed(String, any Error)
  }

  /// For one reader.
  let events: AsyncStream<Event>
  private let continuation: AsyncStream<Event>.Continuation
  private let library: SessionLibrary

  init(library: SessionLibrary) {
    self.library = library
    (events, continuation) = AsyncStream.makeStream()
    super.init()
    BADownloadManager.shared.delegate = self
  }

  /// Starts a download at once; one that waits in the background is promoted.
  func start(_ session: Session) async throws {
    let manager = BADownloadManager.shared
    // A failed one may be among them; it is started anew.
    if let queued = try await manager.currentDownloads.first(where: { $0.identifier == session.id }),
      queued.state != .failed
    {
      do { return try manager.startForegroundDownload(queued) } catch let error as NSError
        where error.domain == BAErrorDomain
        && [BAErrorCode.downloadNotScheduled, .downloadDoesNotExist].map(\.rawValue).contains(error.code)
      {
        // It ended in between.
        if library.contains(session.id) { continuation.yield(.finished(session.id)) }
      }
    }
    if !library.contains(session.id) { try manager.startForegroundDownload(session.download) }
  }

  // MARK: What the manager says, on a queue of its own

  func downloadDidBegin(_ download: BADownload) { continuation.yield(.began(download.identifier)) }

  func downloadDidPause(_ download: BADownload) { continuation.yield(.paused(download.identifier)) }

  func download(
    _ download: BADownload, didWriteBytes bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite totalExpectedBytes: Int64
  ) {
    guard type(of: download) == BAURLDownload.self, totalExpectedBytes > 0 else { return }
    continuation.yield(.progress(download.identifier, Double(totalBytesWritten) / Double(totalExpectedBytes)))
  }

  func download(_ download: BADownload, failedWithError error: any Error) {
    guard type(of: download) == BAURLDownload.self else { return }
    continuation.yield(.failed(download.identifier, error))
  }

  func download(_ download: BADownload, finishedWithFileURL fileURL: URL) {
    guard type(of: download) == BAURLDownload.self else { return }
    let id = download.identifier
    let (library, continuation) = (library, continuation)
    do {
      // The file is deleted when this returns, and exclusive control may come later than that.
      let waiting = try library.rescue(fileURL, as: id)
      Task {
        do {
          try await BADownloadManager.shared.withExclusiveControl { try library.shelve(waiting, as: id) }
          continuation.yield(.finished(id))
        } catch { continuation.yield(.failed(id, error)) }
      }
    } catch { continuation.yield(.failed(id, error)) }
  }
}
