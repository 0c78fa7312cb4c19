import Foundation
import Testing

@testable import AssetService

@Suite(.timeLimit(.minutes(10))) struct SimulationTests {
  @Test(
    "Over months of bad luck nothing is lost or told twice, no budget is exceeded, and no gate is stuck [B14, B18, B53]",
    arguments: [1, 2, UInt64.random(in: 0..<1_000_000)])
  func days(seed: UInt64) {
    let report = DaysSimulation.report(days: 30, apps: 12, seed: seed)
    #expect(report.violations.isEmpty, "seed \(seed)")
    #expect(report.wakes > 100 && report.serviceRestarts > 2 && report.refusals["quarantined"] ?? 0 > 0)
    for app in report.apps {
      #expect(app.scheduled == app.delivered + app.left + app.undelivered + app.open, "\(app.identifier), seed \(seed)")
    }
    // An app that is never launched is asked less and less [B23].
    let never = report.apps.filter { $0.launchesPerDay == 0 }.map(\.wakes).max() ?? 0
    let often = report.apps.filter { $0.launchesPerDay == 4 }.map(\.wakes).min() ?? 0
    #expect(never * 3 < often, "seed \(seed)")
  }

  @Test("The same seed gives the same days")
  func repeatable() throws {
    func text() throws -> Data {
      let encoder = JSONEncoder()
      encoder.outputFormatting = .sortedKeys
      return try encoder.encode(DaysSimulation.report(days: 10, apps: 7, seed: 3))
    }
    #expect(try text() == text())
  }

  @Test("A fleet's requests lie evenly, and the return of an origin isn't its next fall [B3, F-62]")
  func fleet() throws {
    // Few machines have high peaks by mere chance: an hour is counted as one.
    let report = Fleet.report(machines: 2500, seed: 11)
    let spread = try #require(report.variants.first { $0.isSpread })
    let crowded = try #require(report.variants.first { !$0.isSpread })
    func peak(_ variant: FleetReport.Variant, from: Double, to: Double) -> Double {
      let hours = stride(from: Int(from / 60), to: Int(to / 60) - 59, by: 60).map {
        Double(variant.arrivals[$0..<$0 + 60].reduce(0, +)) / 3600
      }
      return (hours.max() ?? 0) / variant.steady.mean
    }
    let day = 86_400.0
    #expect(peak(spread, from: day, to: 2 * day) < 1.5)
    #expect(peak(spread, from: report.outageEnds, to: report.outageEnds + day) < 3)
    #expect(peak(crowded, from: day, to: 2 * day) > 5, "which is what jitter is for")
    #expect(spread.unservedMachines == 0 && spread.secondsUntilAllServed < 6 * 3600)
    #expect(spread.concernedMachines > 100)
  }
}
