/// `outrider simulate days`.
package enum DaysSimulation {
  /// The same seed gives the same report.
  package static func report(days: Int, apps: Int, seed: UInt64) -> DaysReport {
    var world = DaysWorld(days: days, apps: apps, seed: seed)
    return world.run()
  }
}
