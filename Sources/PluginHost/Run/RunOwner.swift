/// What a run tells its host.
protocol RunOwner: AnyObject {
  /// A call or the run is over.
  func runBecameIdle(_ run: Run)
  /// Nothing of the run is left but its report.
  func runEnded(_ run: Run)
  /// Whether it has no other plugin that is at work.
  func isAlone(_ run: Run) -> Bool
}
