import BackgroundAssets
import OSLog

private let logger = Logger(subsystem: "com.example.client", category: "app")

final class SessionManager: NSObject, BADownloadManagerDelegate, @unchecked Sendable {
  static let shared = SessionManager()
  private let queue = DispatchQueue(label: "sessions")
  private var progress: [String: Progress] = [:]

  func downloadDidBegin(_ download: BADownload) { logger.info("begin \(download.identifier)") }
  func downloadDidPause(_ download: BADownload) { logger.info("pause \(download.identifier)") }
  func download(
    _ download: BADownload, didWriteBytes bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite totalExpectedBytes: Int64
  ) {
    guard type(of: download) == BAURLDownload.self else { return }
    queue.sync {
      let p = progress[download.identifier] ?? Progress(totalUnitCount: totalExpectedBytes)
      p.completedUnitCount = totalBytesWritten
      progress[download.identifier] = p
      print(p.fractionCompleted, p.localizedDescription ?? "")
    }
  }
  func download(_ download: BADownload, didReceive challenge: URLAuthenticationChallenge) async -> (
    URLSession.AuthChallengeDisposition, URLCredential?
  ) {
    (.performDefaultHandling, nil)
  }
  func download(_ download: BADownload, failedWithError error: Error) {
    logger.error("failed \(download.identifier): \(error)")
  }
  func download(_ download: BADownload, finishedWithFileURL fileURL: URL) {
    BADownloadManager.shared.withExclusiveControl { acquired, error in
      guard acquired else { return }
      logger.log("\(fileURL.path(), privacy: .public)")
    }
  }
}

@main
struct CommandLineApp {
  static func main() async throws {
    BADownloadManager.shared.delegate = SessionManager.shared
    let downloads = try await BADownloadManager.shared.currentDownloads
    for d in downloads { print(d.identifier, d.state, d.priority.rawValue, d.isEssential, d.uniqueIdentifier) }
    if let d = downloads.first(where: { $0.identifier == "a" && $0.state != .failed }) {
      try BADownloadManager.shared.startForegroundDownload(d)
    }
  }
}
