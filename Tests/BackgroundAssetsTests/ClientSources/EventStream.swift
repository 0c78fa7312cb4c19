import BackgroundAssets

enum DownloadEvent: Sendable {
  case began(String)
  case paused(String)
  case progress(String, Int64, Int64)
  case failed(String, any Error)
  case finished(String, URL)
}

final class EventSource: NSObject, BADownloadManagerDelegate, Sendable {
  let events: AsyncStream<DownloadEvent>
  private let continuation: AsyncStream<DownloadEvent>.Continuation
  override init() {
    (events, continuation) = AsyncStream.makeStream(of: DownloadEvent.self, bufferingPolicy: .bufferingNewest(100))
    super.init()
  }
  func downloadDidBegin(_ download: BADownload) { continuation.yield(.began(download.identifier)) }
  func downloadDidPause(_ download: BADownload) { continuation.yield(.paused(download.identifier)) }
  func download(
    _ download: BADownload, didWriteBytes bytesWritten: Int64, totalBytesWritten: Int64,
    totalBytesExpectedToWrite totalExpectedBytes: Int64
  ) {
    continuation.yield(.progress(download.identifier, totalBytesWritten, totalExpectedBytes))
  }
  func download(_ download: BADownload, failedWithError error: any Error) {
    continuation.yield(.failed(download.identifier, error))
  }
  func download(_ download: BADownload, finishedWithFileURL fileURL: URL) {
    let kept = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
    try? FileManager.default.moveItem(at: fileURL, to: kept)
    continuation.yield(.finished(download.identifier, kept))
  }
}

actor Library {
  private var local: [String: URL] = [:]
  func run(_ source: EventSource) async {
    for await event in source.events {
      switch event {
      case .finished(let id, let url): local[id] = url
      case .failed(_, let error as NSError) where error.domain == BAErrorDomain: print(error.code)
      default: continue
      }
    }
  }
  func fetch(_ downloads: [BADownload]) async throws {
    try await withThrowingTaskGroup(of: BADownload.self) { group in
      for d in downloads {
        group.addTask {
          try BADownloadManager.shared.scheduleDownload(d)
          return d
        }
      }
      for try await d in group { print(d.identifier) }
    }
    let count = try await BADownloadManager.shared.withExclusiveControl { 3 }
    print(count)
  }
}
@main struct EventStream {
  static func main() async throws {
    let source = EventSource()
    BADownloadManager.shared.delegate = source
    async let run: Void = Library().run(source)
    try await Library().fetch([])
    await run
  }
}
