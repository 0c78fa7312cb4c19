/// Who reads the socket of a session: its own thread, or a caller that blocks for an answer.
///
/// A caller that reads for itself is woken once for its answer, and not after a thread that was woken before it. The thread
/// reads nothing for a moment after such a call, since calls often follow each other, and then watches the socket again.
///
/// Pure. Times are milliseconds of one clock.
struct ReadingTurns {
  /// Milliseconds after a call in which the thread reads nothing. Messages without a question may come as much later.
  static let pause: Int32 = 2

  enum Thread: Equatable {
    /// Waits for the socket.
    case watching
    /// A caller reads the socket, or has done so a moment ago.
    case notReading
    /// Reads, and says what it has read.
    case busy
  }

  /// What the thread does next.
  enum Step: Equatable {
    case watch
    /// Wait for so many milliseconds, or until it is woken.
    case pauseReading(Int32)
    /// Deliver what a caller has read for it.
    case takeOver
  }

  private(set) var thread = Thread.busy
  private(set) var isCallerReading = false
  private var lastCall: Int64?

  /// - Parameter isHandedOver: A caller has left something that the thread hasn't said yet; it comes first.
  mutating func beginCall(isHandedOver: Bool) -> (mayRead: Bool, wakesThread: Bool) {
    guard !isCallerReading, !isHandedOver, thread != .busy else { return (false, false) }
    isCallerReading = true
    return (true, thread == .watching)
  }

  /// - Parameter isWaitedFor: A caller waits for what comes, or the thread has something to say.
  /// - Returns: Whether the thread has to be woken.
  mutating func endCall(at now: Int64, isWaitedFor: Bool) -> Bool {
    isCallerReading = false
    lastCall = isWaitedFor ? nil : now
    return isWaitedFor
  }

  /// A caller that doesn't read begins to wait.
  ///
  /// - Returns: Whether the thread has to be woken.
  mutating func expect() -> Bool {
    lastCall = nil
    return thread == .notReading && !isCallerReading
  }

  /// Before the thread does anything.
  mutating func next(at now: Int64, isHandedOver: Bool) -> Step {
    if isCallerReading {
      thread = .notReading
      return .pauseReading(Self.pause)
    }
    if isHandedOver {
      thread = .busy
      return .takeOver
    }
    if let lastCall, case let left = lastCall + Int64(Self.pause) - now, left > 0 {
      thread = .notReading
      return .pauseReading(Int32(clamping: left))
    }
    thread = .watching
    return .watch
  }

  /// The socket is ready. False: a caller reads it.
  mutating func beginReading() -> Bool {
    guard !isCallerReading else { return false }
    thread = .busy
    return true
  }
}
