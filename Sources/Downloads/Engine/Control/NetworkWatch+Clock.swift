internal import AssetModel
internal import Basics
internal import LinuxSystem

/// Certificates that aren't valid yet by a clock that is in doubt: not a failure and not an attempt.
extension NetworkWatch {
  /// How often a clock in doubt is looked at; nothing is sent meanwhile.
  static let clockCheck: Duration = .seconds(30)

  var clockDoubt: ClockDoubt? {
    ClockDoubt(
      wall: clock.wall / 1_000_000_000, isSynchronised: clock.isSynchronised, release: engine.options.earliestWallTime)
  }

  /// How far wall time is ahead of boot time: it changes only when the clock is set.
  private var wallOffset: Int64 { clock.wall - clock.boot.inNanoseconds }

  /// What follows for a job whose certificate isn't valid yet; nil: the clock is believed.
  func stepInDoubt() -> NextStep? {
    clockDoubt.map { .hold(.clock($0, offset: wallOffset), after: Self.clockCheck) }
  }

  /// Whether a job that waits for the clock goes on waiting: nothing about the clock has changed.
  func stillWaitsForClock(_ hold: Hold, _ now: Duration) -> Bool {
    guard case .clock(_, let offset) = hold.reason, clockDoubt != nil else { return false }
    // A second or more: slewing isn't setting.
    guard abs(wallOffset - offset) < 1_000_000_000 else { return false }
    engine.holds[hold.entry.id]?.until = now + Self.clockCheck
    engine.setDue(hold.entry.id, at: now + Self.clockCheck, hold.serial)
    return true
  }
}
