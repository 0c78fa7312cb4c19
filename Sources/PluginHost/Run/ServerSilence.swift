/// Notices a fork server that keeps to itself what it has to tell of a run: that there is a runner, or that there is none any
/// more. It is looked at twice, so far apart: what it said while this host was stopped is received in between. A pure value.
struct ServerSilence: Equatable {
  static let patience = (beginning: Duration.seconds(5), end: Duration.seconds(2))

  enum Step: Equatable {
    case lookAgain(after: Duration)
    /// The server doesn't do its part.
    case giveUp
  }

  private(set) var isAwaited = false
  private var hasLooked = false

  /// The server's next word of the run is due. False where it was already.
  mutating func begin() -> Bool {
    guard !isAwaited else { return false }
    isAwaited = true
    hasLooked = false
    return true
  }

  /// It has said something.
  mutating func end() { isAwaited = false }

  /// `hasHandle`: of the process, which the server sends with its first word. `isExhausted`: the kernel left it out; such a
  /// runner ends by itself, and the server has others. `hasEnded`: the process is gone.
  mutating func look(hasHandle: Bool, isExhausted: Bool, hasEnded: Bool) -> Step {
    if hasLooked, hasEnded || !hasHandle && !isExhausted { return .giveUp }
    hasLooked = true
    return .lookAgain(after: hasHandle ? Self.patience.end : Self.patience.beginning)
  }
}
