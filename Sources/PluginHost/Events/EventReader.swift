internal import Synchronization

/// One reader of a plugin's events, between the watchdog's thread and a task.
final class EventReader: Sendable {
  private struct State {
    var queue = EventQueue()
    var isOver = false
    var waiting: CheckedContinuation<PluginEvent?, Never>?
  }

  private let state = Mutex(State())

  var isFull: Bool { state.withLock { $0.queue.isFull } }

  /// `event`: made only where there is room for it.
  func offer(_ event: () -> PluginEvent) {
    let waiting = state.withLock { (state) -> (CheckedContinuation<PluginEvent?, Never>, PluginEvent)? in
      guard !state.isOver else { return nil }
      if state.queue.isFull {
        state.queue.miss()
        return nil
      }
      guard let continuation = state.waiting.take() else {
        state.queue.add(event())
        return nil
      }
      return (continuation, event())
    }
    waiting?.0.resume(returning: waiting?.1)
  }

  /// Nothing more comes; what is here is still read.
  func end() {
    let waiting = state.withLock { state in
      state.isOver = true
      return state.waiting.take()
    }
    waiting?.resume(returning: nil)
  }

  /// For one task at a time.
  func next() async -> PluginEvent? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let now = state.withLock { (state) -> PluginEvent?? in
          if Task.isCancelled { return .some(nil) }
          if let event = state.queue.next() { return event }
          if state.isOver { return .some(nil) }
          state.waiting = continuation
          return nil
        }
        if let now { continuation.resume(returning: now) }
      }
    } onCancel: {
      state.withLock { $0.waiting.take() }?.resume(returning: nil)
    }
  }
}

/// The readers of one run's events. Loop thread only.
final class EventFeed {
  private struct Place { weak var reader: EventReader? }

  private var places: [Place] = []

  func add(_ reader: EventReader) { places.append(Place(reader: reader)) }

  /// Whether any reader has room for an event.
  var isWanted: Bool { places.contains { $0.reader?.isFull == false } }

  /// `event`: made at most once, and only where a reader has room for it.
  func tell(_ event: () -> PluginEvent) {
    guard !places.isEmpty else { return }
    var made: PluginEvent?
    places.removeAll { place in
      guard let reader = place.reader else { return true }
      reader.offer {
        if let made { return made }
        let fresh = event()
        made = fresh
        return fresh
      }
      return false
    }
  }

  func end() {
    for place in places { place.reader?.end() }
    places = []
  }
}
