extension HostMetrics {
  /// The same in the text format of Prometheus (version 0.0.4), for an endpoint that is scraped; its media type is
  /// `text/plain; version=0.0.4`.
  public var prometheus: String {
    var text = ""
    func family(_ name: String, _ type: String, _ help: String) {
      text += "# HELP outrider_\(name) \(help)\n# TYPE outrider_\(name) \(type)\n"
    }
    family("runs_running", "gauge", "Runs that haven't ended.")
    text += "outrider_runs_running \(running)\n"
    family("loads_refused_total", "counter", "Loads that were refused before there was a run.")
    text += "outrider_loads_refused_total \(refusedLoads)\n"
    family("runs_ended_total", "counter", "Runs that ended, by their outcome.")
    for kind in Outcome.Kind.allCases {
      text += "outrider_runs_ended_total{outcome=\"\(kind.rawValue)\"} \(ends[kind] ?? 0)\n"
    }
    family("denials_total", "counter", "What plugins tried and didn't get, by the wall that stopped it.")
    for (wall, count) in denials.sorted(by: { $0.key < $1.key }) {
      text += "outrider_denials_total{wall=\"\(wall)\"} \(count)\n"
    }
    family("load_seconds", "histogram", "From the request to the plugin being loaded.")
    text += Self.lines("outrider_load_seconds", loadTimes)
    family("call_seconds", "histogram", "From a call's beginning to its answer.")
    text += Self.lines("outrider_call_seconds", callTimes)
    return text
  }

  private static func lines(_ name: String, _ histogram: Histogram) -> String {
    var text = ""
    var sum = 0
    for (bound, count) in zip(Histogram.bounds, histogram.counts) {
      sum += count
      text += "\(name)_bucket{le=\"\(Double(bound) / 1e9)\"} \(sum)\n"
    }
    text += "\(name)_bucket{le=\"+Inf\"} \(histogram.count)\n"
    let (seconds, attoseconds) = histogram.sum.components
    text += "\(name)_sum \(Double(seconds) + Double(attoseconds) / 1e18)\n\(name)_count \(histogram.count)\n"
    return text
  }
}
