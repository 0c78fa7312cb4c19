internal import LinuxSystem

/// Whether other connections pay: the throughput with each number of connections, measured in short windows.
struct SegmentGrowth {
  private var since: Duration?
  private var bytes: Int64 = 0
  private var connections = 0
  private var bestRate = 0.0
  private var isDone = false

  static let window: Duration = .milliseconds(50)
  private static let worthwhile = 1.05

  mutating func permits(connections: Int, bytes: Int64, now: Duration) -> Bool {
    if connections == 0 { return true }
    guard !isDone else { return false }
    guard let since, self.connections == connections else {
      self.since = now
      self.bytes = bytes
      self.connections = connections
      return false
    }
    guard now - since >= Self.window, bytes > self.bytes else { return false }
    let rate = Double(bytes - self.bytes) / (now - since).inSeconds
    guard rate > bestRate * Self.worthwhile else {
      isDone = true
      return false
    }
    bestRate = rate
    return true
  }
}
