/// Whether next to nothing arrives: fewer than 1 KiB/s over a moving window. Time that we paused doesn't count.
struct StallWindow: Sendable {
  static let leastBytesPerSecond = 1024
  private static let slices = 10

  private let length: Duration
  private var counts = [Int](repeating: 0, count: slices)
  private var slice = 0
  private var sliceEnd: Duration
  /// The window isn't full before.
  private var fullAt: Duration
  private var pausedAt: Duration?

  init(isForeground: Bool, now: Duration) {
    length = .seconds(isForeground ? 30 : 60)
    sliceEnd = now + length / Self.slices
    fullAt = now + length
  }

  mutating func received(_ bytes: Int, at now: Duration) {
    if pausedAt != nil { resumed(at: now) }
    advance(to: now)
    counts[slice] += bytes
  }

  private mutating func advance(to now: Duration) {
    let step = length / Self.slices
    if now >= sliceEnd + length {
      counts = [Int](repeating: 0, count: Self.slices)
      sliceEnd = now + step
      return
    }
    while now >= sliceEnd {
      slice = (slice + 1) % Self.slices
      counts[slice] = 0
      sliceEnd += step
    }
  }

  mutating func pausedByUs(at now: Duration) {
    if pausedAt == nil {
      advance(to: now)
      pausedAt = now
    }
  }

  mutating func resumed(at now: Duration) {
    guard let pausedAt else { return }
    sliceEnd += now - pausedAt
    fullAt += now - pausedAt
    self.pausedAt = nil
  }

  mutating func isStalled(at now: Duration) -> Bool {
    guard pausedAt == nil, now >= fullAt else { return false }
    advance(to: now)
    let seconds = Int(length.components.seconds)
    return counts.reduce(0, +) < Self.leastBytesPerSecond * seconds
  }

  /// When it is worth another look; nil while paused.
  var nextCheck: Duration? { pausedAt == nil ? max(fullAt, sliceEnd) : nil }
}
