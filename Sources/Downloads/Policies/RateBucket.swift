internal import LinuxSystem

/// A token bucket that may go into debt: what arrived has arrived, the wait comes after.
struct RateBucket: Sendable {
  let bytesPerSecond: Int64
  /// Bytes that may come at once after silence.
  let burst: Int64
  private var tokens: Double
  private var filled: Duration?

  private static let longestWait = 3600.0

  /// Without a `burst`: a twentieth of a second's bytes.
  init(bytesPerSecond: Int64, burst: Int64? = nil) {
    self.bytesPerSecond = max(1, bytesPerSecond)
    self.burst = max(1, burst ?? self.bytesPerSecond / 20)
    tokens = Double(self.burst)
  }

  /// Takes bytes that arrived, and says how long to wait before more.
  mutating func take(_ bytes: Int, at now: Duration) -> Duration {
    if let filled { tokens = min(tokens + max(0, (now - filled).inSeconds) * Double(bytesPerSecond), Double(burst)) }
    filled = max(now, filled ?? now)
    tokens -= Double(max(0, bytes))
    return tokens >= 0 ? .zero : .nanoseconds(Int64(min(-tokens / Double(bytesPerSecond), Self.longestWait) * 1e9))
  }
}
