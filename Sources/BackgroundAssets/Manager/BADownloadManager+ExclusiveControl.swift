import Dispatch

extension BADownloadManager {
  /// Runs a closure while the other side, app or extension, stays out. Advisory: it protects only if both use it.
  ///
  /// Returns at once. The closure runs later on a serial queue of the framework, and control is given back when it returns.
  /// An extension is kept running until then. There is no timeout.
  ///
  /// - Parameter performHandler: Gets whether control was acquired, and otherwise why not.
  @available(*, deprecated, message: "Use the asynchronous withExclusiveControl(_:)")
  public func withExclusiveControl(_ performHandler: @escaping (Bool, (any Error)?) -> Void) {
    ExclusiveControl.shared.request(before: nil) { performHandler($0 == nil, $0) }
  }

  /// As ``withExclusiveControl(_:)``, but fails if control isn't acquired before a date; the present moment means one try.
  @available(*, deprecated, message: "Use the asynchronous withExclusiveControl(before:_:)")
  public func withExclusiveControl(
    beforeDate date: Date, perform performHandler: @escaping (Bool, (any Error)?) -> Void
  ) {
    ExclusiveControl.shared.request(before: date) { performHandler($0 == nil, $0) }
  }

  /// Runs a closure while the other side, app or extension, stays out, and returns after control was given back.
  ///
  /// Disfavoured, so that an app's own wrapper of the same name is taken before it.
  ///
  /// - Returns: What the closure returns.
  /// - Throws: What the closure throws, or an `NSError` of ``BAErrorDomain`` if control can't be acquired.
  @concurrent @_disfavoredOverload
  public final func withExclusiveControl<ReturnType>(
    _ body: @escaping () throws -> sending ReturnType
  ) async throws -> sending ReturnType {
    let turn = try await Turn.begin(before: nil)
    return try turn.perform(body)
  }

  /// As the form without a date, but throws if control isn't acquired before `date`; the present moment means one try.
  @concurrent @_disfavoredOverload
  public final func withExclusiveControl<ReturnType>(
    before date: Date, _ body: @escaping () throws -> sending ReturnType
  ) async throws -> sending ReturnType {
    let turn = try await Turn.begin(before: date)
    return try turn.perform(body)
  }
}

/// One turn at the lock, held open on the lock's queue while the body runs on the task's own thread: so the body needs not
/// be `@Sendable`, and closures of the other form can't overtake it.
private struct Turn: Sendable {
  private let bodyReturned = DispatchSemaphore(value: 0)
  private let controlReturned = DispatchSemaphore(value: 0)

  static func begin(before date: Date?) async throws -> Turn {
    let turn = Turn()
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      ExclusiveControl.shared.request(before: date, afterwards: { turn.controlReturned.signal() }) { error in
        if let error { return continuation.resume(throwing: error) }
        continuation.resume()
        turn.bodyReturned.wait()
      }
    }
    return turn
  }

  func perform<ReturnType>(_ body: () throws -> sending ReturnType) throws -> sending ReturnType {
    // The wait for the release is as short as the host's answer.
    defer {
      bodyReturned.signal()
      controlReturned.wait()
    }
    return try body()
  }
}
