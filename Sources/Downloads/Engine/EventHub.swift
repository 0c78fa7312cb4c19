internal import LinuxSystem
internal import Synchronization

/// Hands every event to every listener, in order.
final class EventHub: Sendable {
  private typealias Listener = AsyncStream<[DownloadEvent]>.Continuation

  private struct State {
    var listeners: [UInt64: Listener] = [:]
    /// What happened before there was a listener; nil: there was one.
    var early: [DownloadEvent]? = []
    /// What listeners haven't been given yet.
    var gathered: [DownloadEvent] = []
    /// When listeners were last given something.
    var handedOverAt: Duration?
    var isFinished = false
    var lastNumber: UInt64 = 0
  }

  private let state = Mutex(State())
  private let now: @Sendable () -> Duration

  /// `now`: the machine's own time, also where the engine is given another clock: how often listeners are woken is no
  /// decision of its.
  init(now: @escaping @Sendable () -> Duration = { BootClock.now }) { self.now = now }

  /// Events that wait for a first listener; of more the oldest are forgotten.
  private static let maxEarly = 1024

  func stream() -> AsyncStream<DownloadEvent> {
    let (batches, continuation) = AsyncStream.makeStream(of: [DownloadEvent].self, bufferingPolicy: .unbounded)
    let (number, isFinished) = state.withLock { state in
      state.lastNumber += 1
      state.listeners[state.lastNumber] = continuation
      defer { state.early = nil }
      // Under the lock, so that nothing newer comes before it.
      if let early = state.early { continuation.yield(early) }
      return (state.lastNumber, state.isFinished)
    }
    continuation.onTermination = { [weak self] _ in self?.state.withLock { $0.listeners[number] = nil } }
    if isFinished { continuation.finish() }
    let reader = BatchReader(batches)
    return AsyncStream { await reader.next() }
  }

  /// How long an event waits for others at most. A listener is woken for all of them at once: to wake it for each of
  /// many costs the network thread more than handling them costs the listener.
  static let maxWait: Duration = .milliseconds(2)

  func send(_ event: DownloadEvent) { state.withLock { $0.gathered.append(event) } }

  /// Hands over what was sent, unless listeners were given something less than `maxWait` ago.
  func flushIfDue() {
    if timeLeft == .zero { flush() }
  }

  /// Until there is something to hand over; nil: nothing waits.
  var timeLeft: Duration? {
    state.withLock { state in
      if state.gathered.isEmpty { return nil }
      return state.handedOverAt.map { max(.zero, Self.maxWait - (now() - $0)) } ?? .zero
    }
  }

  var listenerCount: Int { state.withLock { $0.listeners.count } }

  /// Hands over what was sent, whenever that was last done.
  func flush() {
    let (events, listeners) = state.withLock { state -> ([DownloadEvent], [Listener]) in
      let events = state.gathered
      if events.isEmpty { return ([], []) }
      state.gathered.removeAll(keepingCapacity: events.count < 64)
      state.handedOverAt = now()
      return (events, recipients(of: events, &state))
    }
    for listener in listeners { listener.yield(events) }
  }

  private func recipients(of events: [DownloadEvent], _ state: inout State) -> [Listener] {
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

/// Gives the events of a stream of batches one by one. For one reader.
private final class BatchReader: Sendable {
  private let batches: AsyncStream<[DownloadEvent]>
  private let rest = Mutex<ArraySlice<DownloadEvent>>([])

  init(_ batches: AsyncStream<[DownloadEvent]>) { self.batches = batches }

  func next() async -> DownloadEvent? {
    var iterator = batches.makeAsyncIterator()
    while true {
      if let event = rest.withLock({ $0.popFirst() }) { return event }
      guard let batch = await iterator.next() else { return nil }
      rest.withLock { $0 = batch[...] }
    }
  }
}
