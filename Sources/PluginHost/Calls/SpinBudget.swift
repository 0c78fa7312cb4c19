/// Decides for how long a runner spins for the next question before it sleeps, by how long the last ones kept it waiting.
/// A pure value: the host knows when it asks, and so nothing has to be tried.
struct SpinBudget: Equatable {
  enum Event {
    /// A question came so long after the last answer.
    case asked(after: Duration)
  }

  /// About twice what waking an idle core takes.
  static let longest = Duration.microseconds(100)
  private static let maxCredit = 8

  /// What spinning has brought of late. One question that came late takes what two early ones have brought.
  private var credit = 4

  /// For how long the runner spins after its next answer.
  var spinLimit: Duration { credit > 0 ? Self.longest : .zero }

  mutating func handle(_ event: Event) {
    switch event {
    case .asked(let gap): credit = gap <= Self.longest ? min(credit + 1, Self.maxCredit) : max(credit - 2, 0)
    }
  }
}
