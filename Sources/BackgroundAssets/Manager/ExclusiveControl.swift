import CExtension
import Dispatch

/// Takes turns at the advisory lock between the app and its extension.
///
/// One serial queue for the whole process: requests are granted in the order in which they were made, and a host never sees
/// two from one process at a time. Waiting happens on that queue's thread, never on the caller's.
struct ExclusiveControl: Sendable {
  static let shared = ExclusiveControl()

  private let queue = DispatchQueue(label: "BackgroundAssets.exclusive-control")

  /// Returns at once; `perform` runs later, on the queue, and the lock is given back when it returns.
  ///
  /// - Parameters:
  ///   - afterwards: Runs when the lock has been given back.
  ///   - perform: Gets nil when the lock is held, otherwise why it isn't. Not checked as `@Sendable`, because the
  ///   public closure forms aren't: it is called once, after this returned, and never again.
  func request(
    before date: Date?, afterwards: @escaping @Sendable () -> Void = {}, _ perform: @escaping (NSError?) -> Void
  ) {
    guard let host = Host.current else {
      let error = FrameworkError.serviceNotRunning("withExclusiveControl")
      let unchecked = Unchecked(value: perform)
      queue.async { unchecked.value(error) }
      return
    }
    // Before returning, so that the host knows of the request before the entry point that made it ends.
    host.beginActivity()
    OutstandingWork.begin()
    let wasInTime = date.map { $0.timeIntervalSinceNow > 0 } ?? true
    let unchecked = Unchecked(value: perform)
    queue.async {
      defer {
        host.endActivity()
        afterwards()
        OutstandingWork.end()
      }
      let error = acquire(before: date, wasInTime: wasInTime, from: host)
      defer {
        // While the other side still stays out: it may read them next.
        Preferences.save()
        if error == nil { host.releaseExclusiveControl() }
      }
      unchecked.value(error)
    }
  }

  private func acquire(before date: Date?, wasInTime: Bool, from host: Host) -> NSError? {
    let seconds = date?.timeIntervalSinceNow
    // A date that had passed when it was given means one try; one that passed while others had their turn means failure.
    if let date, let seconds, seconds <= 0, wasInTime { return FrameworkError.exclusiveControlTimedOut(date) }
    let status = host.acquireExclusiveControl(timeout: seconds.map(nanoseconds) ?? BA_NO_TIMEOUT)
    if status == BA_OK { return nil }
    if let date, status == BA_FAILED { return FrameworkError.exclusiveControlTimedOut(date) }
    return FrameworkError.answered(status, to: "withExclusiveControl", fallback: .callerConnectionInvalid)
  }

  private func nanoseconds(_ seconds: TimeInterval) -> Int64 {
    // A century is for ever, and more of them wouldn't fit into 64 bits; what isn't a number is no time at all.
    seconds > 3_155_760_000 ? BA_NO_TIMEOUT : seconds > 0 ? Int64(seconds * 1e9) : 0
  }
}

/// Carries a closure that isn't checked as `@Sendable` to the one place where it is called.
private struct Unchecked<Value>: @unchecked Sendable {
  let value: Value
}
