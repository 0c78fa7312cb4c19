internal import ArgumentParser
internal import AssetService
internal import Foundation

struct SimulateDaysCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "days",
    abstract: "Simulates one machine over many days: networks, sleep, power, full disks, people, crashes.",
    discussion: """
      The decisions are those of the service itself; the same seed gives the same days. Ends with 1 when something \
      happened that never may: a download lost or told twice, a budget exceeded, a gate stuck.

      EXAMPLE
        outrider simulate days 90 --apps 20 --seed 7
      """)

  @Argument(help: "Days, 1 to 3650.") var days = 90
  @Option(help: "Apps on the machine, 1 to 500.") var apps = 20
  @Option(help: "Seed of everything that happens by chance.") var seed: UInt64 = 1
  @Flag(help: "Print one JSON object, with a timeline.") var json = false

  func validate() throws {
    guard (1...3650).contains(days) else { throw ValidationError("\(days) days; 1 to 3650 can be simulated.") }
    guard (1...500).contains(apps) else { throw ValidationError("--apps is \(apps); 1 to 500 can be simulated.") }
  }

  func run() {
    do {
      let report = DaysSimulation.report(days: days, apps: apps, seed: seed)
      if json { try Output.json(report) } else { print(report) }
      Exit.leave(report.violations.isEmpty ? 0 : 1)
    } catch {
      Exit.with(error)
    }
  }

  private func print(_ report: DaysReport) {
    Output.line("\(days) days of \(apps) apps, seed \(seed): \(report.events) events, \(report.timeline.count) noted")
    Output.line(
      "  asleep \(Int(report.hoursAsleep)) h, offline \(Int(report.hoursOffline)) h, disk full \(Int(report.hoursWithFullDisk)) h, service killed \(report.serviceRestarts) times"
    )
    Output.line(
      "  transfers: \(report.transfersBegun) begun, \(report.transfersRetried) failed and tried again or given up")
    let refusals = report.refusals.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
    Output.line("  wakes: \(report.wakes); refused: \(refusals.isEmpty ? "none" : refusals)")
    Output.line(
      "  among apps that are used alike the most woken has \(String(format: "%.2f", report.fairnessSpread)) times the wakes of the least"
    )
    Output.line(
      "APP      A DAY  LAUNCHES  WAKES  CRASHES  RUNTIME  SCHEDULED  DELIVERED  LEFT  UNDELIVERED  OPEN  GATE")
    for app in report.apps {
      let row = [
        Self.cell("\(app.launchesPerDay)", 5), Self.cell("\(app.launches)", 8), Self.cell("\(app.wakes)", 5),
        Self.cell("\(app.crashes)", 7), Self.cell("\(Int(app.runtimeSeconds)) s", 7), Self.cell("\(app.scheduled)", 9),
        Self.cell("\(app.delivered)", 9), Self.cell("\(app.left)", 4), Self.cell("\(app.undelivered)", 11),
        Self.cell("\(app.open)", 4), "\(Int(app.longestGateSeconds)) s",
      ]
      let name = app.identifier + String(repeating: " ", count: max(0, 7 - app.identifier.count))
      Output.line(name + "  " + row.joined(separator: "  "))
    }
    if report.violations.isEmpty {
      Output.line("Nothing was lost or told twice, no budget was exceeded, no gate was stuck.")
    } else {
      for violation in report.violations { Output.line("VIOLATION \(violation)") }
    }
  }

  private static func cell(_ text: String, _ width: Int) -> String {
    String(repeating: " ", count: max(0, width - text.count)) + text
  }
}
