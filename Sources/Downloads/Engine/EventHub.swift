internal import Synchronization

/// Hands every event to every listener, in order.
final class EventHub: Sendable {
  private struct State {
    var listeners: [UInt64: AsyncStream<DownloadEvent>.Continuation] = [:]
    var gathered: [DownloadEvent] = []
    var isGathering = false
  }

  private let state = Mutex(State())
  private let numbers = Atomic<UInt64>(0)

  func stream() -> AsyncStream<DownloadEvent> {
    let number = numbers.add(1, ordering: .relaxed).newValue
    let (stream, continuation) = AsyncStream.makeStream(of: DownloadEvent.self, bufferingPolicy: .unbounded)
    state.withLock { $0.listeners[number] = continuation }
    continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.listeners[number] = nil } }
    return stream
  }

  /// From now until `flush` events wait: a listener that is woken for each of many would cost more than they are worth.
  func gather() { state.withLock { $0.isGathering = true } }

  func flush() {
    let (events, listeners) = state.withLock { state in
      defer {
        state.isGathering = false
        state.gathered.removeAll(keepingCapacity: state.gathered.count < 64)
      }
      return (state.gathered, state.gathered.isEmpty ? [] : Array(state.listeners.values))
    }
    for listener in listeners { for event in events { listener.yield(event) } }
  }

  func send(_ event: DownloadEvent) {
    let listeners = state.withLock { state in
      guard state.isGathering else { return Array(state.listeners.values) }
      state.gathered.append(event)
      return []
    }
    for listener in listeners { listener.yield(event) }
  }

  func finish() {
    flush()
    for listener in state.withLock({ Array($0.listeners.values) }) { listener.finish() }
  }
}
