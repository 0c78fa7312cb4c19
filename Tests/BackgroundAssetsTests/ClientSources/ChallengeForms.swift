import BackgroundAssets

class ChallengeDelegate: NSObject, BADownloadManagerDelegate {
  var credential: URLCredential?
  func download(
    _ download: BADownload, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodHTTPBasic,
      challenge.protectionSpace.host == "cdn.example.com"
    else {
      completionHandler(.performDefaultHandling, nil)
      return
    }
    completionHandler(.useCredential, URLCredential(user: "u", password: "p", persistence: .permanent))
  }
}
class SendableChallengeDelegate: NSObject, BADownloadManagerDelegate {
  func download(
    _ download: BADownload, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    DispatchQueue.global().async { completionHandler(.cancelAuthenticationChallenge, nil) }
  }
}
class Base: NSObject, BADownloadManagerDelegate {
  func download(_ download: BADownload, failedWithError error: Error) {}
}
final class Derived: Base {
  override func download(_ download: BADownload, failedWithError error: Error) {
    super.download(download, failedWithError: error)
  }
  func download(_ download: BADownload, finishedWithFileURL fileURL: URL) {}
}
@main struct ChallengeForms {
  static func main() throws {
    let delegate = ChallengeDelegate()
    BADownloadManager.shared.delegate = delegate
    BADownloadManager.shared.fetchCurrentDownloads { downloads, error in
      print(downloads.count, error?.localizedDescription ?? "none")
    }
    BADownloadManager.shared.fetchCurrentDownloads(completionHandler: { (list: [BADownload], _: Error?) in _ = list })
    withExtendedLifetime(delegate) { RunLoop.current.run(until: Date() + 0.2) }
  }
}
