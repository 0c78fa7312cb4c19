import CExtension
import Dispatch
import Synchronization

/// Schedules and cancels downloads, and guards what an app and its extension share.
///
/// Corresponds to Apple's `BADownloadManager`. Safe to use from any thread. In an extension its calls go to the host that
/// loaded it; in a process without a host each throws ``BAErrorCode/callerConnectionInvalid``.
open class BADownloadManager: NSObject, @unchecked Sendable {
  // @unchecked: the delegate is behind a mutex, everything else is constant.

  /// The process's one manager.
  open class var shared: BADownloadManager { sharedManager }
  private static let sharedManager = BADownloadManager()

  /// All completion handlers run on it.
  private let handlers = DispatchQueue(label: "BackgroundAssets.completion-handlers")
  private let currentDelegate = Mutex(WeakDelegate())

  /// For a test's double of the manager, which Apple's initialisers don't allow. What a program uses is ``shared``.
  override public init() { super.init() }

  /// Gets the events of all downloads of the app from the moment it is set. Held weakly.
  open weak var delegate: (any BADownloadManagerDelegate)? {
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
  open func fetchCurrentDownloads() throws -> [BADownload] {
    guard let host = Host.current else { throw FrameworkError.serviceNotRunning("fetchCurrentDownloads") }
    let (status, downloads) = host.currentDownloads()
    guard status == BA_OK else {
      throw FrameworkError.answered(status, to: "fetchCurrentDownloads", fallback: .callerConnectionInvalid)
    }
    return downloads
  }

  /// Fetches on a queue of the manager and calls the handler there: with the downloads, or with none and an error.
  open func fetchCurrentDownloads(completionHandler: @escaping ([BADownload], (any Error)?) -> Void) {
    let handler = CompletionHandler(call: completionHandler)
    OutstandingWork.begin()
    handlers.async {
      defer { OutstandingWork.end() }
      do { handler.call(try self.fetchCurrentDownloads(), nil) } catch { handler.call([], error) }
    }
  }

  /// The asynchronous form of ``fetchCurrentDownloads(completionHandler:)``.
  open var currentDownloads: [BADownload] {
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
  open func scheduleDownload(_ download: BADownload) throws {
    let record = download.record
    guard let host = Host.current else {
      throw FrameworkError.serviceNotRunning("Scheduling the download '\(record.identifier)'")
    }
    guard !ContentRequestInProgress.isRunning else {
      throw FrameworkError.schedulingDuringContentRequest(record.identifier)
    }
    guard !record.isEssential else { throw FrameworkError.essentialNotPermitted(record.identifier) }
    if let violation = record.violation { throw violation }
    let status = host.schedule(download)
    if status == BA_DOWNLOAD_FAILED_TO_START, let reason = record.reasonNotToStart { throw reason }
    guard status == BA_OK else {
      throw FrameworkError.answered(
        status,
        to: "Scheduling the download '\(record.identifier)' for '\(record.applicationGroupIdentifier)'",
        fallback: .downloadFailedToStart)
    }
    download.move(to: .waiting)
  }

  /// Starts a download at once, or promotes a queued one. For apps: an extension gets error 50.
  open func startForegroundDownload(_ download: BADownload) throws {
    guard Host.current == nil else { throw FrameworkError.foregroundFromExtension(download.identifier) }
    throw FrameworkError.serviceNotRunning("Starting the download '\(download.identifier)' in the foreground")
  }

  /// Cancels a scheduled or running download.
  ///
  /// - Throws: An `NSError` of ``BAErrorDomain``: 101 if the download isn't scheduled, 113 if it isn't known, 56 without a
  ///   service.
  open func cancel(_ download: BADownload) throws {
    let identifier = download.record.identifier
    let operation = "Cancelling the download '\(identifier)'"
    guard let host = Host.current else { throw FrameworkError.serviceNotRunning(operation) }
    let status = host.cancel(identifier)
    guard status == BA_OK else {
      throw FrameworkError.answered(status, to: operation, fallback: .downloadNotScheduled)
    }
  }

  // MARK: Exclusive control

  // Here and not beside the asynchronous forms, so that subclasses can override them.

  /// Runs a closure while the other side, app or extension, stays out. Advisory: it protects only if both use it.
  ///
  /// Returns at once. The closure runs later on a serial queue of the framework, and control is given back when it returns.
  /// An extension is kept running until then. There is no timeout.
  ///
  /// - Parameter performHandler: Gets whether control was acquired, and otherwise why not.
  #if !DeploymentBefore27
    @available(*, deprecated, message: "Use the asynchronous withExclusiveControl(_:)")
  #endif
  open func withExclusiveControl(_ performHandler: @escaping (Bool, (any Error)?) -> Void) {
    ExclusiveControl.shared.request(before: nil) { performHandler($0 == nil, $0) }
  }

  /// As ``withExclusiveControl(_:)``, but fails if control isn't acquired before a date; the present moment means one try.
  #if !DeploymentBefore27
    @available(*, deprecated, message: "Use the asynchronous withExclusiveControl(before:_:)")
  #endif
  open func withExclusiveControl(
    beforeDate date: Date, perform performHandler: @escaping (Bool, (any Error)?) -> Void
  ) {
    ExclusiveControl.shared.request(before: date) { performHandler($0 == nil, $0) }
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
