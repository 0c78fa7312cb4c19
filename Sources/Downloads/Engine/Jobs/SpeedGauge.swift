internal import LinuxSystem

/// Bytes per second over the last few seconds.
struct SpeedGauge {
  private var samples: [(at: Duration, bytes: Int64)] = []
  private var total: Int64 = 0
  private static let window: Duration = .seconds(5)

  init(_ now: Duration) { samples = [(now, 0)] }

  mutating func add(_ bytes: Int64, at now: Duration) {
    total += bytes
    if let last = samples.last, now - last.at < .milliseconds(100) { return }
    samples.append((now, total))
    while samples.count > 2, now - samples[1].at > Self.window { samples.removeFirst() }
  }

  func bytesPerSecond(at now: Duration) -> Double {
    guard let first = samples.first, now > first.at else { return 0 }
    return Double(total - first.bytes) / (now - first.at).inSeconds
  }
}
