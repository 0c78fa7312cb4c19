internal import Synchronization

/// One question to somebody else, with the safe answer when that takes too long.
struct TimedQuestion<Answer: Sendable>: Sendable {
  let timeout: Duration
  let otherwise: Answer
  let ask: @Sendable () async -> Answer

  /// Calls `completion` once, on whatever thread.
  func put(_ completion: @escaping @Sendable (Answer) -> Void) {
    let first = First()
    let asking = Task {
      let answer = await ask()
      if first.claim() { completion(answer) }
    }
    Task {
      try? await Task.sleep(for: timeout)
      // Decided before it is cancelled: what somebody answers because they are told to stop isn't an answer.
      let isLate = first.claim()
      asking.cancel()
      if isLate { completion(otherwise) }
    }
  }
}

private final class First: Sendable {
  private let isTaken = Atomic(false)

  func claim() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
}
