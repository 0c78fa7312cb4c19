/// Decides how a call's answer is waited for. Turning round on the channel saves this thread from being put to sleep and
/// woken, where another core is free to run the runner; where none is, it keeps the runner from its core. A pure value.
struct AnswerWait: Equatable {
  /// Calls that are waited for asleep after one that turning round didn't see the answer of.
  static let sleepsAfterMiss = 32

  private var sleeps = 0

  /// For the next call.
  mutating func turnsRound(cores: Int) -> Bool {
    if cores < 2 { return false }
    if sleeps == 0 { return true }
    sleeps -= 1
    return false
  }

  mutating func turnedRound(wasAnswered: Bool) { if !wasAnswered { sleeps = Self.sleepsAfterMiss } }
}
