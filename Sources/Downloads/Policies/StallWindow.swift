/// Whether next to nothing arrives: fewer than 1 KiB/s over a moving window. Time that we paused doesn't count.
///
/// Bytes are counted in slices. One slice more than the window has is kept, so that what it covers is never less than the
/// window: a stall is seen up to a tenth of the window late, and a transfer that is fast enough is never taken for one.
struct StallWindow: Sendable {
  static let minBytesPerSecond = 1024
  private static let slices = 10

  private let length: Duration
  private let step: Duration
  private let minBytes: Int
  /// A ring; `slice` is the newest.
  private var counts = [Int](repeating: 0, count: slices + 1)
  private var slice = 0
  private var sliceEnd: Duration
  /// The window isn't full before.
  private var fullAt: Duration
  private var pausedAt: Duration?

  init(isForeground: Bool, now: Duration) {
    let seconds = isForeground ? 30 : 60
    length = .seconds(seconds)
    minBytes = seconds * Self.minBytesPerSecond
    step = length / Self.slices
    sliceEnd = now + step
    fullAt = now + length
  }

  mutating func received(_ bytes: Int, at now: Duration) {
    resumed(at: now)
    advance(to: now)
    // More than enough is enough, and can't overflow.
    counts[slice] = min(counts[slice] + min(max(bytes, 0), minBytes), minBytes)
  }

  private mutating func advance(to now: Duration) {
    if now >= sliceEnd + length + step {
      counts = [Int](repeating: 0, count: counts.count)
      sliceEnd = now + step
    }
    while now >= sliceEnd {
      slice = (slice + 1) % counts.count
      counts[slice] = 0
      sliceEnd += step
    }
  }

  mutating func pausedByUs(at now: Duration) {
    guard pausedAt == nil else { return }
    advance(to: now)
    pausedAt = now
  }

  mutating func resumed(at now: Duration) {
    guard let pausedAt else { return }
    let paused = max(.zero, now - pausedAt)
    sliceEnd += paused
    fullAt += paused
    self.pausedAt = nil
  }

  func isStalled(at now: Duration) -> Bool { nextCheck.map { now >= $0 } ?? false }

  /// When it is stalled unless more arrives; nil while paused.
  var nextCheck: Duration? {
    guard pausedAt == nil else { return nil }
    var remaining = counts.reduce(0, +)
    if remaining < minBytes { return fullAt }
    // The oldest slices leave the window first.
    for age in (0..<counts.count).reversed() {
      remaining -= counts[(slice + counts.count - age) % counts.count]
      if remaining < minBytes { return max(fullAt, sliceEnd - step * age + length) }
    }
    return max(fullAt, sliceEnd + length)
  }
}
