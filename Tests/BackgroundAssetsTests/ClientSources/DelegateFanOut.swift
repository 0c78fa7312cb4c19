// swift-format-ignore-file: ReplaceForEachWithForLoop

import BackgroundAssets

final class Multi: NSObject, BADownloadManagerDelegate {
  private var delegates: [any BADownloadManagerDelegate] = []
  func downloadDidBegin(_ download: BADownload) { delegates.forEach { $0.downloadDidBegin(download) } }
  func download(_ download: BADownload, didReceive challenge: URLAuthenticationChallenge) async -> (
    URLSession.AuthChallengeDisposition, URLCredential?
  ) {
    for d in delegates { return await d.download(download, didReceive: challenge) }
    return (.performDefaultHandling, nil)
  }
}
@main struct DelegateFanOut {
  static func main() {
    BADownloadManager.shared.delegate?.downloadDidBegin(
      BAURLDownload(
        identifier: "", request: URLRequest(url: URL(string: "https://a")!), fileSize: 1, applicationGroupIdentifier: ""
      ))
  }
}
