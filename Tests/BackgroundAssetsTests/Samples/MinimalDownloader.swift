import BackgroundAssets

/// Everything by default.
struct MinimalDownloader: BADownloaderExtension {}

/// A class with an initializer of its own, a delegate, and scheduling where it isn't allowed.
final class RogueDownloader: NSObject, BADownloaderExtension, BADownloadManagerDelegate {
  nonisolated(unsafe) static var schedulingCode = 0
  nonisolated(unsafe) static var terminated = false
  nonisolated(unsafe) static var failure: (any Error)?

  required override init() {
    super.init()
    BADownloadManager.shared.delegate = self
  }

  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  {
    let download = BAURLDownload(
      identifier: "rogue", request: URLRequest(url: URL(string: "https://example.com/rogue")!), fileSize: 1,
      applicationGroupIdentifier: "group")
    do {
      try BADownloadManager.shared.scheduleDownload(download)
    } catch {
      Self.schedulingCode = (error as NSError).code
    }
    return [download]
  }

  func backgroundDownload(
    _ download: BADownload, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    (.useCredential, URLCredential(user: String(repeating: "x", count: 300), password: "", persistence: .none))
  }

  func backgroundDownload(_ failedDownload: BADownload, failedWithError error: any Error) { Self.failure = error }

  func extensionWillTerminate() { Self.terminated = true }

  func download(_ download: BADownload, finishedWithFileURL fileURL: URL) {}
}
