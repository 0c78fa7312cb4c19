/// How often an app was launched, by days of service time, for two weeks.
package struct UseHistory: Sendable, Equatable, Codable {
  static let days = 14
  private static let day: Int64 = 86_400_000_000_000

  package private(set) var lastLaunch: Instant?
  private var today: Int64 = 0
  /// Today's first.
  private var counts: [Int] = []

  package init() {}

  package mutating func launched(_ now: Instant) {
    lastLaunch = now
    let day = now.nanoseconds / Self.day
    let passed = Int(min(Int64(Self.days), max(0, day - today)))
    today = max(today, day)
    counts = Array((Array(repeating: 0, count: passed) + counts).prefix(Self.days))
    if counts.isEmpty { counts = [0] }
    counts[0] = min(counts[0] + 1, 1000)
  }

  /// Launches of the last `days` days, at most 14.
  package func launches(inLast days: Int, now: Instant) -> Int {
    let passed = max(0, now.nanoseconds / Self.day - today)
    guard passed < Int64(days) else { return 0 }
    return counts.prefix(days - Int(passed)).reduce(0, +)
  }
}
