internal import Synchronization

/// One question to the owner of the engine, with the safe answer when that takes too long.
struct TimedQuestion<Answer: Sendable>: Sendable {
  let timeout: Duration
  let otherwise: Answer
  let ask: @Sendable () async -> Answer

  /// Calls `completion` once, on any thread.
  func put(_ completion: @escaping @Sendable (Answer) -> Void) {
    let first = First()
    Task {
      await withTaskGroup { group in
        group.addTask {
          let answer = await ask()
          if first.claim() { completion(answer) }
        }
        group.addTask {
          guard (try? await Task.sleep(for: timeout)) != nil else { return }
          if first.claim() { completion(otherwise) }
        }
        // Decided before the other is cancelled: what comes because the question was cancelled isn't an answer.
        await group.next()
        group.cancelAll()
      }
    }
  }
}

private final class First: Sendable {
  private let isTaken = Atomic(false)

  func claim() -> Bool { !isTaken.exchange(true, ordering: .relaxed) }
}
