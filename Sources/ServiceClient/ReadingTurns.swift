/// Who reads the socket of a session: its own thread, or a caller that blocks for an answer.
///
/// A caller that reads for itself is woken once for its answer, and not after a thread that was woken before it. The thread
/// stays aside for a moment after such a call, since calls often follow each other, and then watches the socket again.
///
/// Pure. Times are milliseconds of one clock.
struct ReadingTurns {
  /// Milliseconds after a call in which the thread stays aside. As much later it may learn what nobody asked for.
  static let pause: Int32 = 2

  enum Thread: Equatable {
    /// Waits for the socket.
    case watching
    /// Leaves the socket to a caller.
    case aside
    /// Reads, and says what it has read.
    case busy
  }

  /// What the thread does next.
  enum Step: Equatable {
    case watch
    /// For so many milliseconds, or until it is woken.
    case stayAside(Int32)
    /// Says what a caller has read for it.
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

  /// - Parameter isWaitedFor: Somebody waits for what comes, or the thread has something to say.
  /// - Returns: Whether the thread has to be woken.
  mutating func endCall(at now: Int64, isWaitedFor: Bool) -> Bool {
    isCallerReading = false
    lastCall = isWaitedFor ? nil : now
    return isWaitedFor
  }

  /// Somebody begins to wait who doesn't read.
  ///
  /// - Returns: Whether the thread has to be woken.
  mutating func expect() -> Bool {
    lastCall = nil
    return thread == .aside && !isCallerReading
  }

  /// Before the thread does anything.
  mutating func next(at now: Int64, isHandedOver: Bool) -> Step {
    if isCallerReading {
      thread = .aside
      return .stayAside(Self.pause)
    }
    if isHandedOver {
      thread = .busy
      return .takeOver
    }
    if let lastCall, case let left = lastCall + Int64(Self.pause) - now, left > 0 {
      thread = .aside
      return .stayAside(Int32(clamping: left))
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
