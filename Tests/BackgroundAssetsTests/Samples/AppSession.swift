// The app's side, as an Xcode project has it.
import BackgroundAssets
import OSLog

class DownloadSession: NSObject, BADownloadManagerDelegate {
  private static let logger = Logger(subsystem: Bundle.main.bundleIdentifier ?? "com.example", category: "session")
  private var manifestURL: String? { Bundle.main.object(forInfoDictionaryKey: "BAManifestURL") as? String }
  private(set) var failures: [String: Int] = [:]

  override init() {
    super.init()
    BADownloadManager.shared.delegate = self
  }

  func start(_ url: URL, named name: String) throws {
    let download = BAURLDownload(
      identifier: name, request: URLRequest(url: url), essential: false, fileSize: 1024,
      applicationGroupIdentifier: "group.com.example", priority: .init(10))
    try BADownloadManager.shared.startForegroundDownload(download)
  }

  func promote() async throws {
    for download in try await BADownloadManager.shared.currentDownloads where download.state != .failed {
      try BADownloadManager.shared.startForegroundDownload(download)
    }
    BADownloadManager.shared.fetchCurrentDownloads { downloads, error in
      if let error { Self.logger.error("\(error.localizedDescription)") }
      for download in downloads where download is BAURLDownload { print(download.uniqueIdentifier) }
    }
  }

  func tidy(in directory: URL) async throws -> Int {
    BADownloadManager.shared.withExclusiveControl { acquired, error in _ = (acquired, error) }
    BADownloadManager.shared.withExclusiveControl(beforeDate: Date(timeIntervalSinceNow: 1)) { acquired, _ in
      _ = acquired
    }
    try await BADownloadManager.shared.withExclusiveControl {
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }
    return try await BADownloadManager.shared.withExclusiveControl(before: .now + 5) {
      try FileManager.default.contentsOfDirectory(atPath: directory.path).count
    }
  }

  func downloadDidBegin(_ download: BADownload) { Self.logger.log("began \(download.identifier)") }

  func download(
    _ download: BADownload, didWriteBytes bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite totalExpectedBytes: Int64
  ) {
    guard type(of: download) == BAURLDownload.self else { return }
    let fraction = Double(totalBytesWritten) / Double(totalExpectedBytes)
    Self.logger.info("\(fraction, format: .fixed(precision: 2)) \(bytesWritten)")
  }

  func download(
    _ download: BADownload, didReceive challenge: URLAuthenticationChallenge
  ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
    (.cancelAuthenticationChallenge, nil)
  }

  func download(_ download: BADownload, failedWithError error: Error) {
    failures[download.identifier] = (error as NSError).code
  }
}
