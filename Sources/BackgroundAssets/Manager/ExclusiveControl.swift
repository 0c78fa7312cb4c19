import Dispatch
import Synchronization

/// Takes turns at the advisory lock between the app and its extension.
///
/// One serial queue for the whole process: requests are granted in the order in which they were made, and a host or service
/// never sees two from one process at a time. Waiting happens on that queue's thread, never on the caller's.
final class ExclusiveControl: Sendable {
  static let shared = ExclusiveControl()

  private let queue = DispatchQueue(label: "BackgroundAssets.exclusive-control")
  /// For requests whose date comes while others of this process have their turn.
  private let failures = DispatchQueue(label: "BackgroundAssets.exclusive-control.failures")
  /// Requests that hold control or wait for it.
  private let unended = Mutex(0)

  /// Returns at once; `perform` runs later, on a queue of this, and the lock is given back when it returns.
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
    let request = Request(source: source, date: date, afterwards: afterwards, perform: perform)
    let isAlone = unended.withLock { count in
      defer { count += 1 }
      return count == 0
    }
    guard let date else { return queue.async { self.turn(of: request) } }
    let left = date.timeIntervalSinceNow
    if !isAlone, !(left > 0) { return failures.async { self.fail(request, date) } }
    queue.async { self.turn(of: request) }
    if !isAlone, left <= ControlSource.maxSeconds {
      failures.asyncAfter(wallDeadline: .now() + left) { self.fail(request, date) }
    }
  }

  private func turn(of request: Request) {
    guard request.begin() else { return }
    switch acquire(request) {
    case .success(let release):
      request.perform(nil)
      // While the other side still stays out: it may read them next.
      Preferences.save()
      release()
      leave()
    case .failure(let error): perform(request, failingWith: error)
    }
    end(request)
  }

  private func acquire(_ request: Request) -> Result<ControlSource.Release, any Error> {
    // A date that had passed when it was given means one try; one that passed while others had their turn means failure.
    if let date = request.date, request.wasInTime, date.timeIntervalSinceNow <= 0 {
      return .failure(FrameworkError.exclusiveControlTimedOut(date))
    }
    return request.source.acquire(before: request.date)
  }

  private func fail(_ request: Request, _ date: Date) {
    guard request.begin() else { return }
    perform(request, failingWith: FrameworkError.exclusiveControlTimedOut(date))
    end(request)
  }

  private func perform(_ request: Request, failingWith error: any Error) {
    leave()
    request.perform(error)
    Preferences.save()
  }

  /// Before anybody is told: who hears of the end, or of the failure, may ask again, and is alone then.
  private func leave() { unended.withLock { $0 -= 1 } }

  private func end(_ request: Request) {
    request.source.endActivity()
    request.afterwards()
    OutstandingWork.end()
  }
}

/// One request for control. It is granted or fails, whichever comes first.
///
/// @unchecked Sendable: `perform`, which isn't checked, is called by the one who began it.
private final class Request: @unchecked Sendable {
  let source: ControlSource
  let date: Date?
  /// Whether the date had not come when it was given.
  let wasInTime: Bool
  let afterwards: @Sendable () -> Void
  let perform: ((any Error)?) -> Void
  private let isBegun = Atomic(false)

  init(
    source: ControlSource, date: Date?, afterwards: @escaping @Sendable () -> Void,
    perform: @escaping ((any Error)?) -> Void
  ) {
    (self.source, self.date, self.afterwards, self.perform) = (source, date, afterwards, perform)
    wasInTime = date.map { $0.timeIntervalSinceNow > 0 } ?? true
  }

  /// Whether nobody has begun it before.
  func begin() -> Bool { !isBegun.exchange(true, ordering: .acquiringAndReleasing) }
}
