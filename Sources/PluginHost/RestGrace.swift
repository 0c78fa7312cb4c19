/// For how long a runner is left awake after a call, before it is stopped. A pure value.
///
/// A stopped process wakes slower than one that sleeps. One whose calls come soon after each other stays awake until the next, as
/// long as its plugin does nothing meanwhile.
struct RestGrace: Sendable, Equatable {
  /// A call that follows at once finds it warm.
  static let shortest = Duration.milliseconds(1)
  static let longest = Duration.milliseconds(20)
  /// CPU time from the first look in a rest to the end of it. A plugin that uses more is stopped after `shortest` from then on.
  static let maxCPU = Duration.microseconds(200)

  private(set) var length = shortest
  /// At the first look in this rest: until then the runner may wait for the next call by spinning.
  private var cpu: Duration?
  private var isRestless = false
  /// How long it was left awake before it was stopped.
  private var awake = Duration.zero

  /// A call is over.
  mutating func begin() { cpu = nil }

  /// Whether it is to be stopped now. `rested`: since the last call. `used`: CPU time of the process.
  mutating func isOver(rested: Duration, cpu used: Duration) -> Bool {
    guard rested >= Self.shortest else { return false }
    if let cpu, used - cpu > Self.maxCPU { isRestless = true }
    cpu = cpu ?? used
    guard isRestless || rested >= length else { return false }
    awake = rested
    return true
  }

  /// It was stopped for so long until the next call.
  mutating func woke(after stopped: Duration) {
    length = !isRestless && awake + stopped <= Self.longest ? Self.longest : Self.shortest
  }

  /// When to look next in a rest, counted from the last call: more and more seldom. `looked`: the last look. `sampling`: at most
  /// so far apart.
  func nextLook(after looked: Duration, sampling: Duration) -> Duration {
    min(looked + min(max(looked, Self.shortest), sampling), max(length, Self.shortest))
  }
}
