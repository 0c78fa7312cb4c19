import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct HostMetricsTests {
  @Test("a time is counted in the first step that it doesn't exceed") func steps() {
    for (index, bound) in HostMetrics.Histogram.bounds.enumerated() {
      for (time, expected) in [(bound, index), (bound + 1, index + 1)] {
        var tally = TimeTally()
        tally.note(.nanoseconds(time))
        #expect(tally.histogram.counts.firstIndex(of: 1) == expected, "\(time) ns")
        #expect(tally.histogram.count == 1)
        #expect(tally.histogram.sum == .nanoseconds(time))
      }
    }
    #expect(HostMetrics.Histogram.bounds.first == 1000)
    #expect(HostMetrics.Histogram.bounds.last == 10_000_000_000)
    var tally = TimeTally()
    tally.note(.zero)
    tally.note(.seconds(1 << 30))
    #expect(tally.histogram.counts.first == 1)
    #expect(tally.histogram.counts.last == 1)
  }

  @Test("Prometheus' text has cumulative buckets in seconds") func prometheus() {
    var (loads, calls) = (TimeTally(), TimeTally())
    loads.note(.milliseconds(3))
    for time in [2, 3, 400] { calls.note(.microseconds(time)) }
    let metrics = HostMetrics(
      refusedLoads: 1, running: 2, ends: [.crashed: 3], denials: ["seccomp": 4, "files": 5],
      loadTimes: loads.histogram, callTimes: calls.histogram)
    let lines = metrics.prometheus.split(separator: "\n")
    for line in [
      "outrider_runs_running 2", "outrider_loads_refused_total 1",
      "outrider_runs_ended_total{outcome=\"crashed\"} 3", "outrider_runs_ended_total{outcome=\"returned\"} 0",
      "outrider_denials_total{wall=\"files\"} 5", "outrider_denials_total{wall=\"seccomp\"} 4",
      "outrider_load_seconds_bucket{le=\"0.002\"} 0", "outrider_load_seconds_bucket{le=\"0.005\"} 1",
      "outrider_call_seconds_bucket{le=\"1e-06\"} 0", "outrider_call_seconds_bucket{le=\"2e-06\"} 1",
      "outrider_call_seconds_bucket{le=\"5e-06\"} 2", "outrider_call_seconds_bucket{le=\"0.0005\"} 3",
      "outrider_call_seconds_bucket{le=\"10.0\"} 3", "outrider_call_seconds_bucket{le=\"+Inf\"} 3",
      "outrider_call_seconds_count 3", "outrider_call_seconds_sum 0.000405",
    ] {
      #expect(lines.contains { $0 == line }, "\(line)")
    }
    #expect(metrics.prometheus.hasSuffix("\n"))
  }
}
