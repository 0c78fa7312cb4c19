import Dispatch

/// Takes turns at the advisory lock between the app and its extension.
///
/// One serial queue for the whole process: requests are granted in the order in which they were made, and a host or service
/// never sees two from one process at a time. Waiting happens on that queue's thread, never on the caller's.
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
    from source: ControlSource, before date: Date?, afterwards: @escaping @Sendable () -> Void = {},
    _ perform: @escaping ((any Error)?) -> Void
  ) {
    // Before returning, so that the host knows of the request before the entry point that made it ends.
    source.beginActivity()
    OutstandingWork.begin()
    let wasInTime = date.map { $0.timeIntervalSinceNow > 0 } ?? true
    let unchecked = Unchecked(value: perform)
    queue.async {
      defer {
        source.endActivity()
        afterwards()
        OutstandingWork.end()
      }
      let result = acquire(from: source, before: date, wasInTime: wasInTime)
      defer {
        // While the other side still stays out: it may read them next.
        Preferences.save()
        if case .success(let release) = result { release() }
      }
      if case .failure(let error) = result { unchecked.value(error) } else { unchecked.value(nil) }
    }
  }

  private func acquire(
    from source: ControlSource, before date: Date?, wasInTime: Bool
  ) -> Result<ControlSource.Release, any Error> {
    // A date that had passed when it was given means one try; one that passed while others had their turn means failure.
    if let date, date.timeIntervalSinceNow <= 0, wasInTime {
      return .failure(FrameworkError.exclusiveControlTimedOut(date))
    }
    return source.acquire(before: date)
  }
}

/// Carries a closure that isn't checked as `@Sendable` to the one place where it is called.
private struct Unchecked<Value>: @unchecked Sendable {
  let value: Value
}
