internal import LinuxSystem

/// Decides how a call's answer is waited for. Turning round on the channel saves this thread from being put to sleep and
/// woken, where another core is free to run the runner; where none is, it keeps the runner from its core. Which it is
/// changes with everything else on the machine, so it goes by how long the last answers took. A pure value.
struct AnswerWait: Equatable {
  enum Way: Equatable { case turning, asleep }

  /// For so long a plugin may keep the host from its other plugins.
  static let patience = Duration.microseconds(100)
  /// Of so many calls one is waited for the other way, to see what that takes by now.
  static let trial = 32
  /// The same where one way is better by far, and trying the other costs as much as many calls.
  static let rareTrial = 512
  private static let byFar = 4

  private var turning: Duration?
  private var asleep: Duration?
  private var calls = 0

  /// For the next call.
  mutating func way(cores: Int) -> Way {
    guard cores > 1 else { return .asleep }
    calls += 1
    guard let turning else { return .turning }
    guard let asleep else { return .asleep }
    // An answer that doesn't come while it is waited for is none the later for sleeping.
    let better: Way = turning < min(asleep, Self.patience) ? .turning : .asleep
    let isByFar = better == .turning && turning * Self.byFar < asleep
    guard calls % (isByFar ? Self.rareTrial : Self.trial) == 0 else { return better }
    return better == .turning ? .asleep : .turning
  }

  mutating func took(_ time: Duration, _ way: Way) {
    // One call that was long says nothing of the short ones.
    let time = min(time, Self.patience * 2)
    func mean(_ before: Duration?) -> Duration { before.map { $0 + (time - $0) / 8 } ?? time }
    switch way {
    case .turning: turning = mean(turning)
    case .asleep: asleep = mean(asleep)
    }
  }
}
