import CExtension
import Dispatch
import Synchronization

/// Schedules and cancels downloads, and guards what an app and its extension share.
///
/// Corresponds to Apple's `BADownloadManager`. Safe to use from any thread. In an extension its calls go to the host that
/// loaded it; in a process without a host each throws ``BAErrorCode/callerConnectionInvalid``.
public class BADownloadManager: NSObject, @unchecked Sendable {
  // @unchecked: the delegate is behind a mutex, everything else is constant.

  /// The process's one manager.
  public class var shared: BADownloadManager { sharedManager }
  private static let sharedManager = BADownloadManager()

  /// All completion handlers run on it.
  private let handlers = DispatchQueue(label: "BackgroundAssets.completion-handlers")
  private let currentDelegate = Mutex(WeakDelegate())

  override init() { super.init() }

  /// Gets the events of all downloads of the app from the moment it is set. Held weakly.
  public weak var delegate: (any BADownloadManagerDelegate)? {
    get { currentDelegate.withLock { $0 }.delegate }
    set {
      let reference = WeakDelegate(delegate: newValue)
      currentDelegate.withLock { $0 = reference }
    }
  }

  // MARK: Downloads

  /// All scheduled and running downloads of the app, queued by the app or its extension.
  ///
  /// Blocks until the host has answered, so it isn't for the main thread of an app.
  public func fetchCurrentDownloads() throws -> [BADownload] {
    guard let host = Host.current else { throw FrameworkError.serviceNotRunning("fetchCurrentDownloads") }
    let (status, downloads) = host.currentDownloads()
    guard status == BA_OK else {
      throw FrameworkError.answered(status, to: "fetchCurrentDownloads", fallback: .callerConnectionInvalid)
    }
    return downloads
  }

  /// Fetches on a queue of the manager and calls the handler there: with the downloads, or with none and an error.
  public func fetchCurrentDownloads(completionHandler: @escaping ([BADownload], (any Error)?) -> Void) {
    let handler = CompletionHandler(call: completionHandler)
    OutstandingWork.begin()
    handlers.async {
      defer { OutstandingWork.end() }
      do { handler.call(try self.fetchCurrentDownloads(), nil) } catch { handler.call([], error) }
    }
  }

  /// The asynchronous form of ``fetchCurrentDownloads(completionHandler:)``.
  public var currentDownloads: [BADownload] {
    get async throws {
      try await withCheckedThrowingContinuation { continuation in
        fetchCurrentDownloads { downloads, error in
          if let error { continuation.resume(throwing: error) } else { continuation.resume(returning: downloads) }
        }
      }
    }
  }

  /// Queues a download that starts when the host finds it convenient.
  ///
  /// - Throws: An `NSError` of ``BAErrorDomain``: 50 while `downloads(for:manifestURL:extensionInfo:)` runs, 109 for an
  ///   essential download, 102 for an invalid one, 100 if its identifier is scheduled already, 55 for an app group of which
  ///   the process isn't a member, 56 without a service.
  public func scheduleDownload(_ download: BADownload) throws {
    guard let host = Host.current else {
      throw FrameworkError.serviceNotRunning("Scheduling the download '\(download.identifier)'")
    }
    guard !ContentRequestInProgress.isRunning else {
      throw FrameworkError.schedulingDuringContentRequest(download.identifier)
    }
    guard !download.isEssential else { throw FrameworkError.essentialNotPermitted(download.identifier) }
    if let violation = download.record.violation { throw violation }
    let status = host.schedule(download)
    if status == BA_DOWNLOAD_FAILED_TO_START, let reason = download.record.reasonNotToStart { throw reason }
    guard status == BA_OK else {
      throw FrameworkError.answered(
        status,
        to: "Scheduling the download '\(download.identifier)' for '\(download.record.applicationGroupIdentifier)'",
        fallback: .downloadFailedToStart)
    }
    download.move(to: .waiting)
  }

  /// Starts a download at once, or promotes a queued one. For apps: an extension gets error 50.
  public func startForegroundDownload(_ download: BADownload) throws {
    guard Host.current == nil else { throw FrameworkError.foregroundFromExtension(download.identifier) }
    throw FrameworkError.serviceNotRunning("Starting the download '\(download.identifier)' in the foreground")
  }

  /// Cancels a scheduled or running download.
  ///
  /// - Throws: An `NSError` of ``BAErrorDomain``: 101 if the download isn't scheduled, 113 if it isn't known, 56 without a
  ///   service.
  public func cancel(_ download: BADownload) throws {
    let operation = "Cancelling the download '\(download.identifier)'"
    guard let host = Host.current else { throw FrameworkError.serviceNotRunning(operation) }
    let status = host.cancel(download.identifier)
    guard status == BA_OK else {
      throw FrameworkError.answered(status, to: operation, fallback: .downloadNotScheduled)
    }
  }
}

/// @unchecked: only the reference crosses threads; what is behind it is called on the framework's queue alone.
private struct WeakDelegate: @unchecked Sendable {
  weak var delegate: (any BADownloadManagerDelegate)?
}

/// @unchecked: the public signature doesn't ask for `@Sendable`; the closure is handed to one queue and called once.
private struct CompletionHandler: @unchecked Sendable {
  let call: ([BADownload], (any Error)?) -> Void
}
