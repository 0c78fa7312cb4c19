internal import LinuxSystem

/// A token bucket that may go into debt: what arrived has arrived, the wait comes after.
struct RateBucket: Sendable {
  let bytesPerSecond: Int64
  private var tokens: Double
  private var filled: Duration?

  init(bytesPerSecond: Int64) {
    self.bytesPerSecond = max(1, bytesPerSecond)
    tokens = Double(self.bytesPerSecond) / 20
  }

  /// Takes bytes that arrived, and says how long to wait before more.
  mutating func take(_ bytes: Int, at now: Duration) -> Duration {
    if let filled { tokens = min(tokens + (now - filled).inSeconds * Double(bytesPerSecond), Double(bytesPerSecond) / 20) }
    filled = now
    tokens -= Double(bytes)
    return tokens >= 0 ? .zero : .nanoseconds(Int64(-tokens / Double(bytesPerSecond) * 1e9))
  }
}
