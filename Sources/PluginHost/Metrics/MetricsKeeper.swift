/// What a host's metrics have of runs that have ended, and of loads. Loop thread only.
struct MetricsKeeper {
  private var refused = 0
  private var ends: [Outcome.Kind: Int] = [:]
  private var denials: [String: Int] = [:]
  private var loads = TimeTally()
  private var calls = TimeTally()

  mutating func refusedLoad() { refused += 1 }

  mutating func loaded(_ run: Run) { if Self.counts(run) { loads.note(run.meter.wake) } }

  private static func counts(_ run: Run) -> Bool { !run.plan.options.isProof }

  /// Its report is put together. From now on it isn't among those that `snapshot` adds.
  mutating func ended(_ run: Run) {
    guard Self.counts(run) else { return }
    if let kind = run.machine.phase.report?.outcome.kind { ends[kind, default: 0] += 1 }
    denials.merge(run.supervisor.denials.countsByWall, uniquingKeysWith: +)
    calls.add(run.lane.callTimes)
  }

  func snapshot(of runs: [Run]) -> HostMetrics {
    let running = runs.filter { $0.machine.phase.report == nil && Self.counts($0) }
    var (calls, denials) = (calls, denials)
    for run in running {
      denials.merge(run.supervisor.denials.countsByWall, uniquingKeysWith: +)
      calls.add(run.lane.callTimes)
    }
    return HostMetrics(
      refusedLoads: refused, running: running.count, ends: ends, denials: denials, loadTimes: loads.histogram,
      callTimes: calls.histogram)
  }
}
