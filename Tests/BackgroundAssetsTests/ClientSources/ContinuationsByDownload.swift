import BackgroundAssets

struct TimeoutError: Error {}
final class Waiter: NSObject, BADownloadManagerDelegate, @unchecked Sendable {
  private let lock = NSLock()
  private var continuations: [String: CheckedContinuation<URL, any Error>] = [:]
  func wait(for download: BADownload) async throws -> URL {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        lock.withLock { continuations[download.uniqueIdentifier] = continuation }
        do { try BADownloadManager.shared.startForegroundDownload(download) } catch {
          lock.withLock { continuations.removeValue(forKey: download.uniqueIdentifier) }?.resume(throwing: error)
        }
      }
    } onCancel: {
      try? BADownloadManager.shared.cancel(download)
    }
  }
  func download(_ download: BADownload, failedWithError error: any Error) {
    lock.withLock { continuations.removeValue(forKey: download.uniqueIdentifier) }?.resume(throwing: error)
  }
  func download(_ download: BADownload, finishedWithFileURL fileURL: URL) {
    let url = URL.cachesDirectory.appending(path: download.identifier)
    lock.withLock { continuations.removeValue(forKey: download.uniqueIdentifier) }?.resume(
      with: Result {
        try FileManager.default.createDirectory(at: .cachesDirectory, withIntermediateDirectories: true)
        try FileManager.default.moveItem(at: fileURL, to: url)
        return url
      })
  }
}
@main struct ContinuationsByDownload {
  static func main() async {
    let waiter = Waiter()
    BADownloadManager.shared.delegate = waiter
    do {
      let url = try await withThrowingTaskGroup(of: URL.self) { group in
        group.addTask {
          try await waiter.wait(
            for: BAURLDownload(
              identifier: "x", request: URLRequest(url: URL(string: "https://cdn.example.com/x")!), essential: false,
              fileSize: 3, applicationGroupIdentifier: "group.com.example.client", priority: .default))
        }
        group.addTask {
          try await Task.sleep(for: .seconds(3))
          throw TimeoutError()
        }
        defer { group.cancelAll() }
        return try await group.next()!
      }
      print(url)
    } catch { print(error) }
  }
}
