internal import Dispatch
internal import ServiceProtocol
internal import Synchronization

/// The answer for a caller that blocks; any thread may read it.
final class Waiter: Sendable {
  private let result = Mutex<Result<Reply, ServiceFailure>?>(nil)
  private let answered = DispatchSemaphore(value: 0)

  var isComplete: Bool { result.withLock { $0 != nil } }

  func complete(_ result: Result<Reply, ServiceFailure>) {
    self.result.withLock { $0 = result }
    answered.signal()
  }

  /// nil: it hasn't come in time.
  func wait(until deadline: ContinuousClock.Instant?) -> Result<Reply, ServiceFailure>? {
    if let result = result.withLock({ $0 }) { return result }
    guard let deadline else {
      answered.wait()
      return result.withLock { $0 }
    }
    let left = ContinuousClock.now.duration(to: deadline) / .nanoseconds(1)
    guard answered.wait(timeout: .now() + .nanoseconds(Int(max(0, left)))) == .success else { return nil }
    return result.withLock { $0 }
  }
}
