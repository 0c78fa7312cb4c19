import Dispatch

extension BADownloadManager {
  /// Runs a closure while the other side, app or extension, stays out, and returns after control was given back.
  ///
  /// Disfavoured, so that an app's own wrapper of the same name is taken before it.
  ///
  /// - Returns: What the closure returns.
  /// - Throws: What the closure throws, or an `NSError` of ``BAErrorDomain`` if control can't be acquired.
  /// - Parameter body: What is run while the other side stays out.
  @concurrent @_disfavoredOverload
  public final func withExclusiveControl<ReturnType>(
    _ body: @escaping () throws -> sending ReturnType
  ) async throws -> sending ReturnType {
    let turn = try await Turn.begin(of: self, before: nil)
    return try turn.perform(body)
  }

  /// As the form without a date, but throws if control isn't acquired before `date`; the present moment means one try.
  ///
  /// - Parameters:
  ///   - date: When to give up.
  ///   - body: What is run while the other side stays out.
  /// - Returns: What the closure returns.
  /// - Throws: What the closure throws, or an `NSError` of ``BAErrorDomain`` if control can't be acquired in time.
  @concurrent @_disfavoredOverload
  public final func withExclusiveControl<ReturnType>(
    before date: Date, _ body: @escaping () throws -> sending ReturnType
  ) async throws -> sending ReturnType {
    let turn = try await Turn.begin(of: self, before: date)
    return try turn.perform(body)
  }
}

/// One turn at the lock, held open on the lock's queue while the body runs on the task's own thread: so the body needs not
/// be `@Sendable`, and closures of the other form can't overtake it.
private struct Turn: Sendable {
  private let bodyReturned = DispatchSemaphore(value: 0)
  private let controlReturned = DispatchSemaphore(value: 0)

  static func begin(of manager: BADownloadManager, before date: Date?) async throws -> Turn {
    let turn = Turn()
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
      manager.requestControl(before: date, afterwards: { turn.controlReturned.signal() }) { error in
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
