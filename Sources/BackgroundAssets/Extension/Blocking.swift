import Dispatch
import Synchronization

/// Waits for asynchronous work on the calling thread.
///
/// Only for entry points, whose thread has nothing else to do. On the first thread the main queue is served meanwhile, so
/// that an extension may use the main actor in its answer.
enum Blocking {
  static func run<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Value {
    let box = Box<Value>()
    let finished = DispatchSemaphore(value: 0)
    Task {
      let value = await work()
      box.value.withLock { $0 = value }
      finished.signal()
      // Wakes the run loop below, should it be asleep: RunLoop.perform only queues.
      DispatchQueue.main.async {}
    }
    while true {
      if finished.wait(timeout: Thread.isMainThread ? .now() : .distantFuture) == .success,
        let value = box.value.withLock({ $0 })
      {
        return value
      }
      _ = RunLoop.main.run(mode: .default, before: .distantFuture)
    }
  }

  private final class Box<Value: Sendable>: Sendable {
    let value = Mutex<Value?>(nil)
  }
}
