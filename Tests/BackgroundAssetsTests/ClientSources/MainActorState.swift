import BackgroundAssets
import os

@MainActor final class Store {
  static let shared = Store()
  var names: Set<String> = []
}
@main
struct MainActorState: BADownloaderExtension {
  nonisolated(unsafe) static var counter = 0
  @MainActor init() { Store.shared.names.insert("init") }

  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  {
    MainActor.assumeIsolated { _ = Store.shared.names.insert("downloads") }
    return []
  }
  func backgroundDownload(_ download: BADownload, didReceive challenge: URLAuthenticationChallenge) async -> (
    URLSession.AuthChallengeDisposition, URLCredential?
  ) {
    await MainActor.run { _ = Store.shared.names.insert(download.identifier) }
    return (.performDefaultHandling, nil)
  }
  func backgroundDownload(_ finishedDownload: BADownload, finishedWithFileURL fileURL: URL) {
    Task { @MainActor in Store.shared.names.insert(finishedDownload.identifier) }
    DispatchQueue.global(qos: .utility).async { _ = fileURL.lastPathComponent }
  }
}
