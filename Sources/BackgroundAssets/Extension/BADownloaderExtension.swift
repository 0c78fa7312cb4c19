/// A program that the service wakes to learn which assets an app needs, and to hand over the files that have arrived.
///
/// Corresponds to Apple's `BADownloaderExtension`. Conform with `@main struct MyDownloader: BADownloaderExtension` and build
/// a dynamic library: the source needs no line that is special to Linux.
///
/// The functions are called one at a time, on the process's first thread, and time spent in them counts as runtime. Nothing
/// in memory lasts from one wake to the next.
public protocol BADownloaderExtension: AppExtension {
  /// Says what has to be downloaded.
  ///
  /// Must return quickly: installation waits for it. `BADownloadManager` doesn't schedule anything meanwhile.
  ///
  /// - Parameters:
  ///   - request: Why the service asks. Only for `install` and `update` may the answer hold essential downloads.
  ///   - manifestURL: The app's manifest: a read-only file, valid until this returns.
  ///   - extensionInfo: What may still be downloaded before the app's first launch.
  /// - Returns: The downloads. An invalid one is rejected alone, through `backgroundDownload(_:failedWithError:)`.
  func downloads(
    for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo
  ) -> Set<BADownload>

  /// The server of a download wants to know who asks. Answer promptly; the default leaves it to the service.
  func backgroundDownload(
    _ download: BADownload, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)

  /// A download has failed. It may be scheduled again; an essential one only after `removingEssential()`.
  func backgroundDownload(_ failedDownload: BADownload, failedWithError error: any Error)

  /// A file has arrived. Move it, don't copy it: what is still at `fileURL` when this returns is deleted.
  func backgroundDownload(_ finishedDownload: BADownload, finishedWithFileURL fileURL: URL)

  /// The extension may be about to end. Advisory: it may never be called.
  @available(*, deprecated, message: "There is no replacement: an extension can end at any time")
  func extensionWillTerminate()
}

extension BADownloaderExtension {
  public func downloads(
    for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo
  ) -> Set<BADownload> { [] }

  public func backgroundDownload(
    _ download: BADownload, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) { (.performDefaultHandling, nil) }

  public func backgroundDownload(_ failedDownload: BADownload, failedWithError error: any Error) {}

  public func backgroundDownload(_ finishedDownload: BADownload, finishedWithFileURL fileURL: URL) {}

  public func extensionWillTerminate() {}

  /// The only configuration that there is.
  public var configuration: DownloaderConfiguration { DownloaderConfiguration() }

  /// The library's entry point: remembers the `@main` type and returns. The host then asks for the table of entry points.
  public static func main() { ExtensionRegistry.register(Self.self) }
}
