internal import Synchronization

/// Hands every event to every listener, in order.
final class EventHub: Sendable {
  private struct State {
    var listeners: [UInt64: AsyncStream<DownloadEvent>.Continuation] = [:]
    /// What happened before there was a listener; nil: there was one.
    var early: [DownloadEvent]? = []
    var gathered: [DownloadEvent] = []
    var isGathering = false
    var isFinished = false
    var lastNumber: UInt64 = 0
  }

  private let state = Mutex(State())

  /// Events that wait for a first listener; of more the oldest are forgotten.
  private static let maxEarly = 1024

  func stream() -> AsyncStream<DownloadEvent> {
    let (stream, continuation) = AsyncStream.makeStream(of: DownloadEvent.self, bufferingPolicy: .unbounded)
    let (number, isFinished) = state.withLock { state in
      state.lastNumber += 1
      state.listeners[state.lastNumber] = continuation
      defer { state.early = nil }
      // Under the lock, so that nothing newer comes before it.
      for event in state.early ?? [] { continuation.yield(event) }
      return (state.lastNumber, state.isFinished)
    }
    continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.listeners[number] = nil } }
    if isFinished { continuation.finish() }
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
      return (state.gathered, recipients(of: state.gathered, &state))
    }
    for listener in listeners { for event in events { listener.yield(event) } }
  }

  func send(_ event: DownloadEvent) {
    let listeners = state.withLock { state in
      guard state.isGathering else { return recipients(of: [event], &state) }
      state.gathered.append(event)
      return []
    }
    for listener in listeners { listener.yield(event) }
  }

  private func recipients(
    of events: [DownloadEvent], _ state: inout State
  ) -> [AsyncStream<DownloadEvent>.Continuation] {
    guard !events.isEmpty else { return [] }
    if let early = state.early { state.early = (early + events).suffix(Self.maxEarly) }
    return Array(state.listeners.values)
  }

  func finish() {
    flush()
    let listeners = state.withLock { state in
      state.isFinished = true
      return Array(state.listeners.values)
    }
    for listener in listeners { listener.finish() }
  }
}
