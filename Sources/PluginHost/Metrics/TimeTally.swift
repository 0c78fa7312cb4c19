internal import LinuxSystem

/// Counts how long something took, without allocating: a call of two microseconds is to notice nothing of it. A pure value.
struct TimeTally {
  /// With the one beyond all bounds.
  static let count = 23

  private var counts = InlineArray<23, Int>(repeating: 0)
  private var nanoseconds: Int64 = 0

  /// 1, 2, 5, 10 … microseconds, in nanoseconds.
  static func bound(_ index: Int) -> Int64 {
    var decade: Int64 = 1000
    for _ in 0..<index / 3 { decade *= 10 }
    return decade * [1, 2, 5][index % 3]
  }

  mutating func note(_ time: Duration) {
    let time = time.inNanoseconds
    nanoseconds &+= time
    var (index, decade) = (0, Int64(1000))
    while index < Self.count - 1, time > decade * 5 {
      index += 3
      decade *= 10
    }
    if time > decade { index += 1 }
    if time > decade * 2 { index += 1 }
    counts[min(index, Self.count - 1)] += 1
  }

  mutating func add(_ other: TimeTally) {
    for index in 0..<Self.count { counts[index] += other.counts[index] }
    nanoseconds &+= other.nanoseconds
  }

  var histogram: HostMetrics.Histogram {
    .init(counts: (0..<Self.count).map { counts[$0] }, sum: .nanoseconds(nanoseconds))
  }
}
