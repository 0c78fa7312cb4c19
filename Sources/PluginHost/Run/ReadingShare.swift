/// Decides when the host goes on reading what a plugin sends or writes without end. Reading for one plugin takes a quarter of a
/// processor in the long run, so that its neighbours have the rest, and it waits where its pipe is full. What comes in a burst
/// is read at once. A pure value.
struct ReadingShare: Equatable {
  /// Time for which it may be read at once, after a pause that was long enough.
  static let burst = Duration.milliseconds(5)
  /// One part of so many is for reading.
  static let divisor = 4
  /// Of one go, after which others have their turn.
  static let portions = Duration.microseconds(250)...Duration.milliseconds(1)

  private var saved = burst
  private var looked = Duration.zero

  /// How long a go may take that begins now.
  mutating func portion(at now: Duration) -> Duration {
    save(until: now)
    return min(max(saved, Self.portions.lowerBound), Self.portions.upperBound)
  }

  /// A go took so long. When to go on; nil: as soon as there is something.
  mutating func spent(_ work: Duration, at now: Duration) -> Duration? {
    save(until: now)
    saved -= max(work, .zero)
    return saved < .zero ? now - saved * Self.divisor : nil
  }

  private mutating func save(until now: Duration) {
    saved = min(saved + max(now - looked, .zero) / Self.divisor, Self.burst)
    looked = max(looked, now)
  }
}
