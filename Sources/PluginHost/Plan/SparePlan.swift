internal import LinuxSystem

/// Decides when the fork server is asked for a spare runner: a wake that finds one ready is spared the fork. Making one
/// takes a core some milliseconds, so it waits until no call is under way, but not for ever. A pure value.
struct SparePlan: Equatable {
  private enum State: Equatable { case absent, asked, ready }

  /// Longer than a program takes from one call's answer to its next call, or from its last one to its end.
  static let quiet = Duration.milliseconds(2)
  static let longestDelay = Duration.milliseconds(50)
  /// The kernel holds up every process's end while it moves one into a cgroup of version 1, and may take so long for it:
  /// a plugin with less time than that before its deadline would be late to die.
  static let longestMove = Duration.milliseconds(40)

  private var state = State.absent
  /// Since when the spare is wanted.
  private var wanted: Duration?

  /// It may be handed a run before it is ready.
  var isThere: Bool { state != .absent }
  var isReady: Bool { state == .ready }

  /// Something ended, or a server began. Returns when to ask `isDue`, or nil where there is nothing to wait for.
  mutating func becameIdle(at now: Duration) -> Duration? {
    guard state == .absent else { return nil }
    if wanted == nil { wanted = now }
    return now + Self.quiet
  }

  /// Whether to ask for one now. `deadline`: the next one of a plugin that is at work; `isDying`: one is being killed.
  mutating func isDue(at now: Duration, isBusy: Bool, deadline: Duration? = nil, isDying: Bool = false) -> Bool {
    guard state == .absent, let wanted, !isBusy || now - wanted >= Self.longestDelay else { return false }
    if isDying { return false }
    if let deadline, deadline - now < Self.longestMove { return false }
    state = .asked
    self.wanted = nil
    return true
  }

  mutating func prepared() { if state == .asked { state = .ready } }
}
