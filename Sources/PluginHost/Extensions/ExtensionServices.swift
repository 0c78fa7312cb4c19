public import AssetModel

/// What an extension asks of the program that embeds the host (`PluginHost.LoadOptions.services`). One value serves one run.
///
/// The functions are called from tasks, never on the watchdog's thread: they may take as long as they like. The extension's
/// own clocks go on meanwhile, and the run may end; its open requests are then cancelled (`Task.isCancelled`), and what they
/// return is dropped. Status values are 0, or the raw value of a `BAErrorCode`.
///
/// At most one of `schedule`, `cancel` and `currentDownloads` is under way at a time; requests for exclusive control may be
/// under way beside it.
public protocol ExtensionServices: Sendable {
  /// Whether the extension may schedule downloads over plain http from this machine; false unless it is implemented.
  var allowsPlainHTTPToLoopback: Bool { get }

  /// The download has a unique identifier, keeps to `DownloadRules` and isn't essential; no content request is running.
  func schedule(_ download: Download) async -> Int32

  func cancel(_ identifier: String) async -> Int32

  /// What finds no room in an answer of 3 MiB is left out from the end.
  func currentDownloads() async -> [Download]

  /// `timeout`: zero means to try once, nil to wait for as long as it takes.
  ///
  /// Each return of 0 is followed by exactly one `releaseExclusiveControl`: when the extension gives control back, or ends,
  /// or had ended before.
  func acquireExclusiveControl(timeout: Duration?) async -> Int32

  /// The next request of the extension is made after this has returned.
  func releaseExclusiveControl() async

  /// Whether the extension wants the events of all downloads of its app while it runs (B31): `Plugin.tellDelegate`.
  func observe(_ isObserving: Bool) async

  /// The runner's process is gone, and what it held has been released. Called once, after every other call has begun; one
  /// that doesn't heed its cancellation may still be under way.
  func runEnded() async
}

extension ExtensionServices {
  /// False: https alone.
  public var allowsPlainHTTPToLoopback: Bool { false }

  /// Does nothing.
  ///
  /// - Parameter isObserving: Whether the extension wants events.
  public func observe(_ isObserving: Bool) async {}

  /// Does nothing.
  public func runEnded() async {}
}
