/// Notices a fork server that keeps to itself what it has to tell of a run: that there is a runner, or that there is none any
/// more. A pure value.
///
/// Its timeout is counted in checks, before each of which what the server has said is received: a machine that was suspended, a
/// host that was stopped, or a processor that neither got for seconds is one check, however long it took. Nor does a check count
/// while the server has had too little of a processor to do its part: the kernel may keep a fork(2) waiting for seconds.
struct ServerSilence: Equatable {
  static let checkInterval = Duration.milliseconds(500)
  /// Checks in a row at which the server's message was overdue: 5 s and 2 s.
  static let maxMissedChecks = (beginning: 10, end: 4)

  /// Of a processor, in which a server that does its part would have done it many times.
  static let fairShare = Duration.milliseconds(50)
  /// After so many checks, a minute, what keeps the server doesn't matter.
  static let maxChecks = 120

  enum Step: Equatable {
    case checkAgain
    /// The server doesn't do its part.
    case giveUp
  }

  private(set) var isAwaited = false
  private var missedChecks = 0
  private var checks = 0
  /// What the server had used of a processor when a check counted last.
  private var used: Duration?

  /// The server's next word of the run is due. False where it was already.
  mutating func begin() -> Bool {
    guard !isAwaited else { return false }
    isAwaited = true
    forget()
    return true
  }

  /// It has said something.
  mutating func end() { isAwaited = false }

  private mutating func forget() {
    missedChecks = 0
    checks = 0
    used = nil
  }

  /// `hasHandle`: of the process, which the server sends with its first word. `isExhausted`: the kernel left it out; the
  /// server has been asked to end such a runner, and has others. `hasEnded`: the process is gone; what comes before that takes as long as
  /// the kernel needs. `server`: asked from the second check on, since looking costs as much as a call.
  mutating func check(
    hasHandle: Bool, isExhausted: Bool, hasEnded: Bool, server: () -> ThreadProgress.Look?
  ) -> Step {
    guard hasEnded || !hasHandle && !isExhausted else {
      forget()
      return .checkAgain
    }
    checks += 1
    if checks >= Self.maxChecks { return .giveUp }
    if missedChecks > 0, let look = server(), isHeldUp(look) { return .checkAgain }
    missedChecks += 1
    return missedChecks > (hasHandle ? Self.maxMissedChecks.end : Self.maxMissedChecks.beginning)
      ? .giveUp : .checkAgain
  }

  private mutating func isHeldUp(_ look: ThreadProgress.Look) -> Bool {
    guard look.isUnderWay else { return false }
    if let used, look.used - used < Self.fairShare { return true }
    defer { used = look.used }
    return used == nil
  }
}
