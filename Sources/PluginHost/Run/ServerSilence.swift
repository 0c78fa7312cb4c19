/// Notices a fork server that keeps to itself what it has to tell of a run: that there is a runner, or that there is none any
/// more. A pure value.
///
/// Its timeout is counted in checks, before each of which what the server has said is received: a machine that was suspended, a
/// host that was stopped, or a processor that neither got for seconds is one check, however long it took.
struct ServerSilence: Equatable {
  static let checkInterval = Duration.milliseconds(500)
  /// Checks in a row at which the server's message was overdue: 5 s and 2 s.
  static let maxMissedChecks = (beginning: 10, end: 4)

  enum Step: Equatable {
    case checkAgain
    /// The server doesn't do its part.
    case giveUp
  }

  private(set) var isAwaited = false
  private var missedChecks = 0

  /// The server's next word of the run is due. False where it was already.
  mutating func begin() -> Bool {
    guard !isAwaited else { return false }
    isAwaited = true
    missedChecks = 0
    return true
  }

  /// It has said something.
  mutating func end() { isAwaited = false }

  /// `hasHandle`: of the process, which the server sends with its first word. `isExhausted`: the kernel left it out; the
  /// server has been asked to end such a runner, and has others. `hasEnded`: the process is gone; what comes before that takes as long as
  /// the kernel needs.
  mutating func check(hasHandle: Bool, isExhausted: Bool, hasEnded: Bool) -> Step {
    guard hasEnded || !hasHandle && !isExhausted else {
      missedChecks = 0
      return .checkAgain
    }
    missedChecks += 1
    return missedChecks > (hasHandle ? Self.maxMissedChecks.end : Self.maxMissedChecks.beginning)
      ? .giveUp : .checkAgain
  }
}
