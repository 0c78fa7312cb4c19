import BackgroundAssets

@main
class DelegateOfExtension: BADownloaderExtension {
  let delegate = Delegate()
  required init() {
    BADownloadManager.shared.delegate = delegate
  }
  func downloads(for request: BAContentRequest, manifestURL: URL, extensionInfo: BAAppExtensionInfo) -> Set<BADownload>
  {
    Set<BADownload>()
  }
}

final class Delegate: NSObject, BADownloadManagerDelegate {
  func downloadDidBegin(_ download: BADownload) { NSLog("began %@", download.identifier) }
  func downloadDidPause(_ download: BADownload) { NSLog("paused %@", download.identifier as NSString) }
  func download(
    _ download: BADownload, didWriteBytes bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite totalExpectedBytes: Int64
  ) {
    NSLog("progress %lld of %lld", totalBytesWritten, totalExpectedBytes)
  }
  func download(
    _ download: BADownload, didReceive challenge: URLAuthenticationChallenge,
    completionHandler: @escaping (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
  ) {
    completionHandler(.performDefaultHandling, nil)
  }
  func download(_ download: BADownload, failedWithError error: Error) { NSLog("failed \(error)") }
  func download(_ download: BADownload, finishedWithFileURL fileURL: URL) { NSLog("finished \(fileURL)") }
}
