internal import ServiceMachines

// What must hold at every moment, and what is counted at the end.
extension DaysWorld {
  mutating func checkWake(_ app: String) {
    if machine.isLowPower { violated("\(app) was woken in low power [B10]") }
    guard let record = core.planner.apps[app] else { return violated("\(app) was woken and isn't installed") }
    let limit = core.planner.dailyRuntime(of: app, now: now)
    // Use may have fallen since the runtime was granted: no app may go beyond the base.
    if record.runtime.used > max(limit, core.settings.dailyRuntime * 3 / 2) {
      violated("\(app) has used \(record.runtime.used.inSeconds) s of \(limit.inSeconds) s [B18]")
    }
    if core.planner.runs.count > core.settings.maxWakes { violated("\(core.planner.runs.count) wakes at a time") }
  }

  mutating func checkGates() {
    for index in report.apps.indices {
      let app = report.apps[index].identifier
      guard let machines = core.apps[app] else { continue }
      let fraction = machines.progress.report.fraction
      if machines.lifecycle.gate.isClosed {
        var gate = gates[app] ?? Gate(since: now)
        if fraction < gate.fraction { violated("the progress of \(app) ran backwards [B53]") }
        gate.fraction = fraction
        gates[app] = gate
      } else if let gate = gates.removeValue(forKey: app) {
        let seconds = (now - gate.since).inSeconds
        report.apps[index].longestGateSeconds = max(report.apps[index].longestGateSeconds, seconds)
        note(app, "gate opened", "\(machines.lifecycle.gate.reason)")
        if seconds > 24 * 3600 { violated("the gate of \(app) was closed for \(Int(seconds)) s") }
      }
    }
  }

  mutating func finish() {
    now = end
    if let offlineSince = machine.offlineSince { report.hoursOffline += (now - offlineSince).inSeconds / 3600 }
    if let fullSince = machine.fullSince { report.hoursWithFullDisk += (now - fullSince).inSeconds / 3600 }
    for (key, since) in deliveries.untold.sorted(by: { $0.key < $1.key }) {
      if let index = index(of: key.app) { report.apps[index].open += 1 }
      // Not lost: the engine has it, or the ledger waits for the extension.
      let isThere = transfers[key] != nil || core.apps[key.app]?.ledger.entries[key.download] != nil
      if !isThere { violated("\(key.download) is lost since \(DaysReport.text(of: since.seconds))") }
      if now - since > .days(21) { violated("\(key.download) has waited since \(DaysReport.text(of: since.seconds))") }
    }
    for (app, gate) in gates where now - gate.since > .hours(24) { violated("the gate of \(app) is stuck") }
    report.fairnessSpread = spread
  }

  /// Over groups of apps that are used alike and whose extensions work.
  private var spread: Double {
    var widest = 0.0
    for use in Set(report.apps.map(\.launchesPerDay)) {
      let wakes = report.apps.indices.filter { report.apps[$0].launchesPerDay == use && $0 % 7 != 3 }
        .map { Double(report.apps[$0].wakes) }
      guard let minWakes = wakes.min(), let maxWakes = wakes.max(), minWakes > 0 else { continue }
      widest = max(widest, maxWakes / minWakes)
    }
    return widest
  }
}
