import BackgroundAssets

@MainActor final class Model {
  static let shared = Model()
  var n = 0
}
@main @MainActor
struct PreconcurrencyConformance: @preconcurrency BADownloaderExtension {
  let model = Model.shared
  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  {
    model.n += 1
    return []
  }
  func backgroundDownload(_ finishedDownload: BADownload, finishedWithFileURL fileURL: URL) { model.n += 1 }
  func backgroundDownload(_ download: BADownload, didReceive challenge: URLAuthenticationChallenge) async -> (
    URLSession.AuthChallengeDisposition, URLCredential?
  ) {
    model.n += 1
    return (.performDefaultHandling, nil)
  }
}
