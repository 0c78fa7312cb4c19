import BackgroundAssets
import Observation

@MainActor
@Observable
final class AssetModel: NSObject {
  private(set) var fraction: [String: Double] = [:]
  @ObservationIgnored private let manager = BADownloadManager.shared
  override init() {
    super.init()
    manager.delegate = self
  }
  func start(url: URL) {
    let download = BAURLDownload(
      identifier: url.lastPathComponent, request: URLRequest(url: url), essential: false, fileSize: 100,
      applicationGroupIdentifier: "group.com.example.client", priority: .default)
    do { try manager.startForegroundDownload(download) } catch { print("Failed to start: \(error)") }
  }
  func refresh() async {
    do {
      let current = try await manager.currentDownloads
      fraction = Dictionary(uniqueKeysWithValues: current.map { ($0.identifier, 0) })
    } catch { fraction = [:] }
  }
}
extension AssetModel: BADownloadManagerDelegate {
  nonisolated func download(
    _ download: BADownload, didWriteBytes bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite totalExpectedBytes: Int64
  ) {
    let value = Double(totalBytesWritten) / Double(totalExpectedBytes)
    let id = download.identifier
    Task { @MainActor in fraction[id] = value }
  }
  nonisolated func download(_ download: BADownload, failedWithError error: any Error) {
    DispatchQueue.main.async { MainActor.assumeIsolated { self.fraction[download.identifier] = nil } }
  }
  nonisolated func download(_ download: BADownload, finishedWithFileURL fileURL: URL) {}
}
@main enum ObservableModel {
  @MainActor static func main() async {
    let m = AssetModel()
    await m.refresh()
  }
}
