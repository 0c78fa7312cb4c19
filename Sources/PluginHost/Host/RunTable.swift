/// The runs of a host that aren't forgotten yet. Loop thread only.
final class RunTable {
  private var runs: [UInt64: Run] = [:]

  subscript(_ id: UInt64) -> Run? { runs[id] }

  var all: [Run] { Array(runs.values) }

  func add(_ run: Run) { runs[run.id] = run }

  func remove(_ id: UInt64) -> Run? { runs.removeValue(forKey: id) }

  /// Those whose runners a fork server makes.
  func of(_ server: ForkServerClient?) -> [Run] { runs.values.filter { $0.server.client === server } }

  /// The one whose load or call with that ticket is under way.
  func awaiting(_ ticket: UInt64) -> Run? { runs.values.first { $0.machine.awaits(ticket) } }

  /// How many haven't loaded their plugins yet.
  var loading: Int { runs.values.count { $0.machine.phase.isLoading } }

  var isAnyBusy: Bool { runs.values.contains { !$0.machine.phase.isIdle } }
  var isAnyDying: Bool { runs.values.contains { $0.machine.phase.isDying } }

  /// The next deadline of a plugin that is at work.
  var deadline: Duration? { runs.values.compactMap(\.watchdog.wallDeadline).min() }

  /// Whether every other run has ended.
  func isAlone(_ run: Run) -> Bool { runs.values.allSatisfy { $0 === run || $0.machine.phase.report != nil } }
}
