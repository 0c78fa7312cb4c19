internal import Dispatch
internal import Synchronization

/// What `body` comes to, for a caller that has no tasks: it waits on its own thread, which is none of those that tasks run on.
func wait<Value: Sendable>(for body: @escaping @Sendable () async -> Value) -> Value {
  let answer = Answer<Value>()
  Task.detached { answer.give(await body()) }
  return answer.take()
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
