internal import Dispatch
internal import Synchronization

/// What `body` comes to, for a caller that has no tasks: it waits on its own thread, which is none of those that tasks run on. A
/// function that a plugin calls has a task, whose local values `body` inherits: they say which plugins wait for it.
func wait<Value: Sendable>(for body: @escaping @Sendable () async -> Value) -> Value {
  let answer = Answer<Value>()
  Task { answer.give(await body()) }
  return answer.take()
}

/// A thread of its own for functions that may wait for whatever they like: tasks have as many threads as the machine has processors,
/// and functions of so many plugins that wait for another one would keep it from answering.
final class WaitingExecutor: TaskExecutor {
  /// A queue of its own always gets a thread, also where others wait.
  private let queue = DispatchQueue(label: "outrider.callbacks")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
  }
}

private final class Answer<Value: Sendable>: Sendable {
  private let value = Mutex<Value?>(nil)
  private let isGiven = DispatchSemaphore(value: 0)

  func give(_ value: Value) {
    self.value.withLock { $0 = value }
    isGiven.signal()
  }

  func take() -> Value {
    while true {
      isGiven.wait()
      if let value = value.withLock({ $0 }) { return value }
    }
  }
}
