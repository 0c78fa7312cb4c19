/// What a host has done since it began, as counts that only grow, but for `running`. A value: it doesn't change once it was taken.
public struct HostMetrics: Sendable, Equatable {
  /// How long something took, in fixed steps: 1, 2, 5, 10 … microseconds up to ten seconds.
  public struct Histogram: Sendable, Equatable {
    /// The steps, in nanoseconds.
    public static let bounds: [Int64] = (0..<TimeTally.count - 1).map(TimeTally.bound)

    /// How many took at most each bound and more than the one before; the last entry has those beyond all of them.
    public var counts: [Int]
    /// All of them together.
    public var sum: Duration
    /// How many there were.
    public var count: Int { counts.reduce(0, +) }
  }

  /// Loads that were refused before there was a run: by what the machine lacks, or because too few descriptors were left.
  public var refusedLoads = 0
  /// Runs that haven't ended.
  public var running = 0
  /// How runs have ended.
  public var ends: [Outcome.Kind: Int] = [:]
  /// What was denied, by the wall that stopped it: `seccomp`, `files`, `limits`.
  public var denials: [String: Int] = [:]
  /// From the request to the plugin being loaded, one for each plugin that was.
  public var loadTimes: Histogram
  /// From a call's beginning to its answer, one for each that was answered.
  public var callTimes: Histogram

  /// Plugins that were loaded.
  public var loads: Int { loadTimes.count }
  /// Calls that were answered.
  public var calls: Int { callTimes.count }
}

extension PluginHost {
  /// What this host has done so far.
  ///
  /// - Returns: All counts, of one moment.
  public func metrics() async -> HostMetrics { await core.onLoop { $0.metrics.snapshot(of: $0.runs.all) } }
}
