/// When a run whose shared memory may be gone is stopped and looked at. A pure value.
struct SharedMemoryLook: Equatable {
  /// A plugin that frees and maps again for ever has its host look for no more than one part in so many of the time.
  private static let restPerLook = 10
  private static let soonest = Duration.milliseconds(1)
  /// A thread that is that long on its way to standing still keeps the look from being made.
  private static let longest = Duration.milliseconds(500)

  /// What a thread that was in the kernel may still use before it stands. A plugin that has itself continued ends for more.
  private static let maxGrowth = 1 << 20

  private var since: Duration?
  private var memory = 0
  private var notBefore = Duration.zero

  var isUnderWay: Bool { since != nil }

  func isDue(at now: Duration) -> Bool { now >= notBefore }

  /// The run is being stopped; when to see whether it stands. `memory`: what it uses, as far as is known, in bytes.
  mutating func begin(at now: Duration, memory: Int) -> Duration {
    since = now
    self.memory = memory
    return max(now + Self.soonest, notBefore)
  }

  /// When to see again whether it stands; nil: not any more.
  func next(at now: Duration) -> Duration? {
    guard let since, now - max(since, notBefore) < Self.longest else { return nil }
    return now + Self.soonest
  }

  mutating func ended(at now: Duration, cost: Duration) {
    since = nil
    notBefore = now + cost * Self.restPerLook
  }

  /// Whether a run that uses `memory` in bytes, of which `shared` is what was granted, is looked at before it ends for that, or
  /// goes on being looked at.
  func isWorthwhile(memory: Int, shared: Int, limit: Int) -> Bool {
    memory > limit && shared > 0 && memory - shared <= limit
      && (!isUnderWay || memory <= self.memory + Self.maxGrowth)
  }
}
