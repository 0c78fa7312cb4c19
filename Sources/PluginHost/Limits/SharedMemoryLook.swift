/// When a run whose shared memory may be gone is stopped and looked at. A pure value.
struct SharedMemoryLook: Equatable {
  /// A plugin that frees and maps again for ever has its host look for no more than one part in so many of the time.
  private static let restPerLook = 10
  /// Between two tries, and after a search for what one grant became, for which the plugin waits.
  private static let restPerTry = 4
  private static let soonest = Duration.milliseconds(1)
  /// A thread that is that long on its way to standing still, and at so many tries, keeps the look from being made. Time alone
  /// wouldn't do: a host that had no processor meanwhile, as its plugins hadn't, has tried once.
  private static let longest = (time: Duration.milliseconds(500), tries: 100)

  /// What a thread that was in the kernel may still use before it stands. A plugin that has itself continued ends for more.
  private static let maxGrowth = 1 << 20

  private var since: Duration?
  private var tries = 0
  private var lastSeen: Stillness?
  private var memory = 0
  private var notBefore = Duration.zero
  /// What the tries of this look have cost the host.
  private var spent = Duration.zero

  var isUnderWay: Bool { since != nil }

  func isDue(at now: Duration) -> Bool { now >= notBefore }

  /// The run is being stopped; when to see whether it stands. `memory`: what it uses, as far as is known, in bytes.
  mutating func begin(at now: Duration, memory: Int) -> Duration {
    since = now
    tries = 0
    lastSeen = nil
    self.memory = memory
    return max(now + Self.soonest, notBefore)
  }

  /// It was tried, and doesn't stand yet. When to try again; nil: not any more. A try counts only if a thread may have run
  /// since the last. `cost`: of this one.
  mutating func next(at now: Duration, _ stillness: Stillness, cost: Duration) -> Duration? {
    spent += cost
    if stillness.mayHaveRun(since: lastSeen) { tries += 1 }
    lastSeen = stillness
    guard let since, tries < Self.longest.tries || now - max(since, notBefore) < Self.longest.time else { return nil }
    return now + max(Self.soonest, cost * Self.restPerTry)
  }

  /// It was searched for what one grant became.
  mutating func searched(at now: Duration, cost: Duration) { notBefore = max(notBefore, now + cost * Self.restPerTry) }

  mutating func ended(at now: Duration, cost: Duration) {
    since = nil
    notBefore = now + (spent + cost) * Self.restPerLook
    spent = .zero
  }

  /// Whether a run that uses `memory` in bytes, of which `shared` is what was granted, is looked at before it ends for that, or
  /// goes on being looked at.
  func isWorthwhile(memory: Int, shared: Int, limit: Int) -> Bool {
    memory > limit && shared > 0 && memory - shared <= limit
      && (!isUnderWay || memory <= self.memory + Self.maxGrowth)
  }
}
