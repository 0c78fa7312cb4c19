internal import LinuxSystem

/// What is told of a running download, and how often.
struct ProgressMeter {
  var speed: SpeedGauge
  private var told: Duration = .zero

  init(_ now: Duration) { speed = SpeedGauge(now) }

  /// Whether it is time to tell again: at most four times a second.
  mutating func isDue(_ now: Duration) -> Bool {
    guard now - told >= .milliseconds(250) else { return false }
    told = now
    return true
  }
}
