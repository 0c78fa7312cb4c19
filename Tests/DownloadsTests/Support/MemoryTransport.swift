import Foundation
import LinuxSystem
import Synchronization

@testable import Downloads

/// A transport without a network: every request gets one file, whole or from where its range begins, in pieces.
final class MemoryTransport: Transport {
  /// Ends a wait, from any thread.
  final class Bell: Waker {
    private let condition = DispatchSemaphore(value: 0)

    func wake() { condition.signal() }
    /// Whether it was rung.
    func wait(atMost limit: Duration) -> Bool {
      condition.wait(timeout: .now() + .nanoseconds(Int(min(limit.inNanoseconds, 60_000_000_000)))) == .success
    }
  }

  /// What the engine said while a transfer was paused: how long nothing would have to be done.
  let limitsWhilePaused = Mutex<[Duration]>([])

  /// What the kernel says of each connection; nil: nothing.
  let receive = Mutex<(@Sendable (_ received: Int64) -> ReceiveWindow.Sample)?>(nil)
  /// The windows that the engine set.
  let windows = Mutex<[Int]>([])

  weak var client: (any TransportClient)?
  private let bell = Bell()
  var waker: any Waker { bell }
  private let content: [UInt8]
  private let piece: Int

  private struct Running {
    var request: TransportRequest
    var position: Int
    var isAnswered = false
    var isPaused = false
    var received: Int64 = 0
  }

  private var running: [TransferID: Running] = [:]

  init(_ content: [UInt8], piece: Int = 16 << 10) {
    self.content = content
    self.piece = piece
  }

  func start(_ request: TransportRequest, as id: TransferID) {
    let range = request.headers.first { $0.name == "Range" }?.value ?? "bytes=0-"
    let start = Int(range.drop { !$0.isNumber }.prefix { $0.isNumber }) ?? 0
    running[id] = Running(request: request, position: start)
  }

  func resume(_ id: TransferID) { running[id]?.isPaused = false }
  func cancel(_ id: TransferID) -> Int64 { running.removeValue(forKey: id)?.received ?? 0 }
  func receiveSample(of id: TransferID) -> ReceiveWindow.Sample? {
    guard let state = running[id] else { return nil }
    return receive.withLock { $0 }?(state.received)
  }
  func limitWindow(of id: TransferID, to bytes: Int) { windows.withLock { $0.append(bytes) } }
  func follow(_ options: TransportOptions) {}
  func forgetConnections() {}

  func poll(atMost limit: () -> Duration) {
    for id in running.keys { step(id) }
    let limit = limit()
    if running.values.contains(where: \.isPaused) { limitsWhilePaused.withLock { $0.append(limit) } }
    if running.values.allSatisfy(\.isPaused), bell.wait(atMost: limit) { while bell.wait(atMost: .zero) {} }
  }

  private func step(_ id: TransferID) {
    guard var state = running[id], !state.isPaused else { return }
    if !state.isAnswered {
      state.isAnswered = true
      running[id] = state
      guard client?.transfer(id, answered: head(from: state.position)) == .take else {
        return end(id, TransportEnd.Problem.aborted)
      }
    }
    while let now = running[id], now.position < content.count {
      let end = min(now.position + piece, content.count)
      let verdict = content[now.position..<end].withUnsafeBytes { client?.transfer(id, received: $0) } ?? .abort
      switch verdict {
      case .taken:
        running[id]?.position = end
        running[id]?.received += Int64(end - now.position)
      case .pause:
        running[id]?.isPaused = true
        return
      case .abort: return self.end(id, .aborted)
      }
    }
    if running[id] != nil { end(id, nil) }
  }

  private func end(_ id: TransferID, _ problem: TransportEnd.Problem?) {
    var end = TransportEnd()
    end.problem = problem
    end.receivedBytes = running.removeValue(forKey: id)?.received ?? 0
    client?.transfer(id, ended: end)
  }

  private func head(from position: Int) -> ResponseHead {
    let lines =
      [
        position > 0 ? "HTTP/1.1 206 Partial Content" : "HTTP/1.1 200 OK", "ETag: \"one\"",
        "Content-Length: \(content.count - position)",
      ] + (position > 0 ? ["Content-Range: bytes \(position)-\(content.count - 1)/\(content.count)"] : []) + [""]
    var reader = ResponseHeadReader()
    for line in lines {
      if let head = try? Array("\(line)\r\n".utf8).withUnsafeBytes({ try reader.append($0) }) { return head }
    }
    fatalError("the head isn't one")
  }
}
