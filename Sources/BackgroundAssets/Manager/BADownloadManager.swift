import CExtension
public import Dispatch
import Synchronization

/// Schedules and cancels downloads, and guards what an app and its extension share.
///
/// Corresponds to Apple's `BADownloadManager`. Safe to use from any thread. In an extension its calls go to the host that
/// loaded it, in an app to the service. The first of an app's calls connects it; after the connection broke, the calls under
/// way throw ``BAErrorCode/callerConnectionInvalid`` and the next one connects anew, as the manager does by itself while it
/// has a delegate.
open class BADownloadManager: NSObject, @unchecked Sendable {
  // @unchecked: the delegate is behind a mutex, everything else is constant.

  /// The process's one manager.
  open class var shared: BADownloadManager { sharedManager }
  private static let sharedManager = BADownloadManager()

  /// All completion handlers run on it.
  private let handlers = DispatchQueue(label: "BackgroundAssets.completion-handlers")
  private let currentDelegate = Mutex(WeakDelegate())
  /// A link of its own for a manager that isn't the process's; no host is asked then.
  private let ownLink: ServiceLink?

  /// For a test's double of the manager, which Apple's initialisers don't allow. What a program uses is ``shared``; only
  /// that one's delegate gets events.
  override public init() {
    ownLink = nil
    super.init()
  }

  init(link: ServiceLink) {
    ownLink = link
    super.init()
  }

  private enum Side {
    case app(ServiceLink)
    case plugin(Host)
  }

  private var side: Side {
    if let ownLink { return .app(ownLink) }
    if let host = Host.current { return .plugin(host) }
    return .app(.shared)
  }

  /// Gets the events of all downloads of the app from the moment it is set. Held weakly: the service is told that it has
  /// gone when it is set to nil, or else with the first event that finds it gone.
  ///
  /// In an extension it is called on the first thread while the extension runs, after the entry point that is under way. No
  /// event wakes the extension for it.
  open weak var delegate: (any BADownloadManagerDelegate)? {
    get { currentDelegate.withLock { $0 }.delegate }
    set {
      let reference = WeakDelegate(delegate: newValue)
      currentDelegate.withLock { $0 = reference }
      guard ownLink != nil || self === Self.sharedManager else { return }
      switch side {
      case .app(let link):
        link.delivery.set(newValue)
        link.setObserving(newValue != nil)
      case .plugin(let host): host.observe(newValue != nil)
      }
    }
  }

  // MARK: Beyond Apple's framework

  /// The queue on which the delegate is called, one method at a time, whatever the kind of queue.
  ///
  /// Not in Apple's framework. A serial queue of the framework unless it is set; `.main` is for delegates of the main actor,
  /// in a program that serves its main queue. Set it before the delegate: what is already on its way comes on the old one.
  public final var delegateQueue: DispatchQueue {
    get { deliveringLink.delivery.queue }
    set { deliveringLink.delivery.queue = newValue }
  }

  /// Whether the user is at work with this app.
  ///
  /// Not in Apple's framework, whose system knows by itself. True unless the app says otherwise: an app that goes into the
  /// background sets it to false, and ``startForegroundDownload(_:)`` then throws 51 until it is true again.
  public final var isProcessActive: Bool {
    get { deliveringLink.isActive }
    set { deliveringLink.isActive = newValue }
  }

  private var deliveringLink: ServiceLink { ownLink ?? .shared }

  // MARK: Downloads

  /// All scheduled and running downloads of the app, queued by the app or its extension.
  ///
  /// Blocks until the host has answered, so it isn't for the main thread of an app.
  ///
  /// - Returns: The downloads, in no order.
  /// - Throws: An `NSError` of ``BAErrorDomain``: 56 without a service.
  open func fetchCurrentDownloads() throws -> [BADownload] {
    let host: Host
    switch side {
    case .app(let link): return try link.currentDownloads()
    case .plugin(let loader): host = loader
    }
    let (status, downloads) = host.currentDownloads()
    guard status == BA_OK else {
      throw FrameworkError.answered(status, to: "fetchCurrentDownloads", fallback: .callerConnectionInvalid)
    }
    return downloads
  }

  /// Fetches on a queue of the manager and calls the handler there: with the downloads, or with none and an error.
  ///
  /// - Parameter completionHandler: Called once.
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
  /// - Parameter download: What is queued; no change of it afterwards counts.
  open func scheduleDownload(_ download: BADownload) throws {
    let record = download.record
    let host: Host
    switch side {
    case .app(let link): return try link.schedule(download)
    case .plugin(let loader): host = loader
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

  /// Starts a download at once, or promotes a queued one, which then goes on in the foreground while this process is
  /// connected. For apps.
  ///
  /// - Throws: An `NSError` of ``BAErrorDomain``: 50 in an extension, 51 while ``isProcessActive`` is false, otherwise as
  ///   ``scheduleDownload(_:)``.
  /// - Parameter download: What is started, or queued already.
  open func startForegroundDownload(_ download: BADownload) throws {
    switch side {
    case .app(let link): try link.startForeground(download)
    case .plugin: throw FrameworkError.foregroundFromExtension(download.identifier)
    }
  }

  /// Cancels a scheduled or running download.
  ///
  /// - Throws: An `NSError` of ``BAErrorDomain``: 101 if the download isn't scheduled, 103 if it has failed, 113 if it isn't known, 56 without a
  ///   service.
  /// - Parameter download: What is cancelled.
  open func cancel(_ download: BADownload) throws {
    let host: Host
    switch side {
    case .app(let link): return try link.cancel(download)
    case .plugin(let loader): host = loader
    }
    let identifier = download.record.identifier
    // The host goes by the identifier, which another download may have by now.
    let status: ba_status =
      switch download.ownState {
      case .failed: ba_status(BAErrorCode.downloadAlreadyFailed.rawValue)
      case .finished: BA_DOWNLOAD_NOT_SCHEDULED
      case .created, .waiting, .downloading: host.cancel(identifier)
      }
    guard status == BA_OK else {
      throw FrameworkError.answered(
        status, to: "Cancelling the download '\(identifier)'", fallback: .downloadNotScheduled)
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
    requestControl(before: nil) { performHandler($0 == nil, $0) }
  }

  /// As `withExclusiveControl(_:)`, but fails if control isn't acquired before a date; the present moment means one try.
  /// Fails on another queue of the framework where the date comes while another request of this process has control.
  ///
  /// - Parameters:
  ///   - date: When to give up.
  ///   - performHandler: Gets whether control was acquired, and otherwise why not.
  #if !DeploymentBefore27
    @available(*, deprecated, message: "Use the asynchronous withExclusiveControl(before:_:)")
  #endif
  open func withExclusiveControl(
    beforeDate date: Date, perform performHandler: @escaping (Bool, (any Error)?) -> Void
  ) {
    requestControl(before: date) { performHandler($0 == nil, $0) }
  }

  final func requestControl(
    before date: Date?, afterwards: @escaping @Sendable () -> Void = {}, _ perform: @escaping ((any Error)?) -> Void
  ) {
    let source: ControlSource =
      switch side {
      case .app(let link): .service(link)
      case .plugin(let host): .host(host)
      }
    (ownLink?.control ?? .shared).request(from: source, before: date, afterwards: afterwards, perform)
  }
}

/// @unchecked: the public signature doesn't ask for `@Sendable`; the closure is handed to one queue and called once.
private struct CompletionHandler: @unchecked Sendable {
  let call: ([BADownload], (any Error)?) -> Void
}
