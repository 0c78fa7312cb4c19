import BackgroundAssets

protocol DownloadManaging: AnyObject {
  var delegate: (any BADownloadManagerDelegate)? { get set }
  var currentDownloads: [BADownload] { get async throws }
  func fetchCurrentDownloads() throws -> [BADownload]
  func scheduleDownload(_ download: BADownload) throws
  func startForegroundDownload(_ download: BADownload) throws
  func cancel(_ download: BADownload) throws
}
extension BADownloadManager: DownloadManaging {}

final class MockManager: DownloadManaging {
  weak var delegate: (any BADownloadManagerDelegate)?
  var scheduled: [BADownload] = []
  var currentDownloads: [BADownload] { get async throws { scheduled } }
  func fetchCurrentDownloads() throws -> [BADownload] { scheduled }
  func scheduleDownload(_ download: BADownload) throws {
    if scheduled.contains(where: { $0.identifier == download.identifier }) {
      throw NSError(
        domain: BAErrorDomain, code: BAErrorCode.downloadAlreadyScheduled.rawValue,
        userInfo: [NSLocalizedDescriptionKey: "x"])
    }
    scheduled.append(download)
    delegate?.downloadDidBegin(download)
  }
  func startForegroundDownload(_ download: BADownload) throws { try scheduleDownload(download) }
  func cancel(_ download: BADownload) throws {
    scheduled.removeAll { $0.uniqueIdentifier == download.uniqueIdentifier }
  }
}
final class Controller {
  let manager: any DownloadManaging
  init(manager: any DownloadManaging = BADownloadManager.shared) { self.manager = manager }
  func go() async throws -> [BADownload.State: [BADownload]] {
    Dictionary(grouping: try await manager.currentDownloads, by: \.state)
  }
}
final class NilDelegate: NSObject, BADownloadManagerDelegate {}
@main struct ManagerProtocol {
  static func main() async throws {
    let c = Controller(manager: MockManager())
    let d = NilDelegate()
    c.manager.delegate = d
    print(try await c.go())
  }
}
