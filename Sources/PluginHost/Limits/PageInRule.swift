internal import LinuxSystem

/// Decides when the host brings in the file pages that a plugin maps. A pure value.
///
/// The kernel charges a file page to the cgroup of the process that touches it first, and never charges pages again
/// that are cached already. From a cold cache a runner pays for every page of its libraries and its data, and its few MiB are
/// reclaimed and read again without end. Pages that the host brings in are charged to the host's own cgroup, where they belong:
/// they are cache.
struct PageInRule: Equatable {
  /// What one turn looks at; a mapping may be as large as its file claims to be.
  static let maxBytesPerTurn: UInt64 = 1 << 30
  static let longestTurn = Duration.seconds(10)
  /// Waits of the plugin that are worth one: each brings in some 128 KiB, and stopping it costs as much as a few of them.
  static let fewestFaults = 4
  /// What all turns of a run may take together: a plugin can ask for more again and again.
  static let maxTime = Duration.seconds(20)

  private var hits: Int
  private var faults: Int
  private var spent = Duration.zero
  private var notBefore = Duration.zero
  private(set) var isUnderWay = false

  init(hits: Int, faults: Int) {
    self.hits = hits
    self.faults = faults
  }

  /// Whether the faults need to be read at all. `hits`: how often the cgroup was at its limit.
  func isPressed(hits: Int, at now: Duration) -> Bool {
    !isUnderWay && hits > self.hits && now >= notBefore && spent < Self.maxTime
  }

  /// Whether a turn begins now. `faults`: how often the plugin waited for a page of a file. The limit alone is no sign:
  /// reading a file from end to end keeps a cgroup at its limit and costs nothing.
  mutating func begins(hits: Int, faults: Int, at now: Duration) -> Bool {
    guard isPressed(hits: hits, at: now) else { return false }
    self.hits = hits
    guard faults - self.faults >= Self.fewestFaults else { return false }
    self.faults = faults
    isUnderWay = true
    return true
  }

  /// The plugin has at least as much time for itself as the last turn took from it.
  mutating func ended(after time: Duration, at now: Duration) {
    isUnderWay = false
    spent += time
    notBefore = now + time / 4
  }
}
