internal import LinuxSystem

/// Decides how the answer to a call is waited for that has to wake its runner. Spinning leaves one processor less to be
/// woken, and where the runner got one it answers in time; where it gets none, as on a busy machine, the caller is in its way.
/// A pure value.
struct WakingWait: Equatable {
  /// Calls that are slept for before spinning is tried again: twice as many after each try that brought nothing.
  static let gaps = 8...256
  private static let maxCredit = 8

  /// What spinning has brought of late. One answer that didn't come in time takes what two have brought.
  private var credit = maxCredit
  private var gap = gaps.lowerBound
  /// Calls before the next try.
  private var left = 0

  /// For the next call.
  func way(cores: Int) -> AnswerWait.Way { cores > 1 && credit > 0 ? .spinning : .blocking }

  mutating func took(_ time: Duration, _ way: AnswerWait.Way) {
    switch way {
    case .spinning where time <= AnswerWait.spinLimit:
      credit = min(credit + 1, Self.maxCredit)
      if credit == Self.maxCredit { gap = Self.gaps.lowerBound }
    case .spinning:
      credit = max(credit - 2, 0)
      guard credit == 0 else { return }
      left = gap
      gap = min(gap * 2, Self.gaps.upperBound)
    case .blocking:
      left -= 1
      if left <= 0 { credit = 1 }
    }
  }
}
