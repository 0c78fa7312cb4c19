internal import Synchronization

/// Hands every event to every listener, in order.
final class EventHub: Sendable {
  private let listeners = Mutex<[UInt64: AsyncStream<DownloadEvent>.Continuation]>([:])
  private let numbers = Atomic<UInt64>(0)

  func stream() -> AsyncStream<DownloadEvent> {
    let number = numbers.add(1, ordering: .relaxed).newValue
    let (stream, continuation) = AsyncStream.makeStream(of: DownloadEvent.self, bufferingPolicy: .unbounded)
    listeners.withLock { $0[number] = continuation }
    continuation.onTermination = { [weak self] _ in self?.listeners.withLock { $0[number] = nil } }
    return stream
  }

  func send(_ event: DownloadEvent) {
    for listener in listeners.withLock({ Array($0.values) }) { listener.yield(event) }
  }

  func finish() { for listener in listeners.withLock({ Array($0.values) }) { listener.finish() } }
}
