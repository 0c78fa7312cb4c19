import BackgroundAssets
import Foundation
import Synchronization

struct Pack: Codable, Hashable, Identifiable {
  let id: String
  let size: Int
  var download: BADownload {
    BAURLDownload(
      identifier: id, request: URLRequest(url: URL(string: "https://cdn.example.com")!.appending(path: id)),
      essential: false, fileSize: size, applicationGroupIdentifier: "group.com.example.client", priority: .default)
  }
}
final class Counter: NSObject, BADownloadManagerDelegate, Sendable {
  private let state = Mutex<[BADownload.State: Int]>([:])
  nonisolated func downloadDidBegin(_ download: BADownload) { state.withLock { $0[download.state, default: 0] += 1 } }
  nonisolated func downloadDidPause(_ download: BADownload) { state.withLock { $0[download.state, default: 0] += 1 } }
}
@main struct CountingDelegate {
  static func main() async {
    let counter = Counter()
    BADownloadManager.shared.delegate = counter
    let set: Set<BADownload> = Set([Pack(id: "a", size: 1), Pack(id: "b", size: 2)].map(\.download))
    let byID = Dictionary(set.map { ($0.identifier, $0) }, uniquingKeysWith: { a, _ in a })
    print(
      byID.keys.sorted(), byID["a"]?.state == .created, BADownload.State(rawValue: -1) == .failed,
      BADownload.Priority.max.rawValue > BADownload.Priority.default.rawValue)
    let formatted = (1_234_567).formatted(.byteCount(style: .file))
    print(formatted)
    for d in set { await send(d) }
    BADownloadManager.shared.delegate = nil
  }
  @concurrent static func send(_ d: BADownload) async { try? BADownloadManager.shared.scheduleDownload(d) }
}
