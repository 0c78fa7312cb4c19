import BackgroundAssets
import os

// Objective-C-ish Swift 5 code
final class DownloadsController: NSObject, @unchecked Sendable {
  static let sharedInstance = DownloadsController()
  let logger = Logger(
    subsystem: Bundle.main.bundleIdentifier ?? "", category: String(describing: DownloadsController.self))
  var handlers = [String: (Result<URL, Error>) -> Void]()
  let lock = NSLock()
  private override init() {
    super.init()
    BADownloadManager.shared.delegate = self
  }
  func download(_ url: URL, completion: @escaping (Result<URL, Error>) -> Void) {
    let d = BAURLDownload(
      identifier: url.absoluteString, request: URLRequest(url: url), essential: false, fileSize: 3,
      applicationGroupIdentifier: "group.com.example.client", priority: .default)
    lock.lock()
    handlers[d.uniqueIdentifier] = completion
    lock.unlock()
    do { try BADownloadManager.shared.startForegroundDownload(d) } catch { completion(.failure(error)) }
  }
}
extension DownloadsController: BADownloadManagerDelegate {
  func download(_ download: BADownload, finishedWithFileURL fileURL: URL) {
    lock.lock()
    let h = handlers.removeValue(forKey: download.uniqueIdentifier)
    lock.unlock()
    h?(.success(fileURL))
    NotificationCenter.default.post(name: .assetsChanged, object: self, userInfo: ["download": download])
  }
  func download(_ download: BADownload, failedWithError error: Error) {
    lock.lock()
    let h = handlers.removeValue(forKey: download.uniqueIdentifier)
    lock.unlock()
    h?(.failure(error))
  }
}
extension Notification.Name { static let assetsChanged = Notification.Name("assetsChanged") }
@main struct HandlerTable { static func main() { _ = DownloadsController.sharedInstance } }
