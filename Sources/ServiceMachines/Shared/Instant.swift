/// A moment of service time: nanoseconds that never run backwards, over restarts and reboots. See `ServiceClock`.
package struct Instant: Sendable, Hashable, Comparable, Codable, CustomStringConvertible {
  package var nanoseconds: Int64

  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  package init(seconds: Double) { nanoseconds = Nanoseconds.saturated(seconds) }

  package init(from decoder: any Decoder) throws {
    nanoseconds = try decoder.singleValueContainer().decode(Int64.self)
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(nanoseconds)
  }

  /// When the service first ran.
  package static let start = Instant(nanoseconds: 0)

  package var seconds: Double { Double(nanoseconds) / 1e9 }
  package var description: String { "\(seconds) s" }

  package static func < (left: Self, right: Self) -> Bool { left.nanoseconds < right.nanoseconds }

  /// Stops at the ends of the scale.
  package static func + (left: Self, right: Duration) -> Self {
    Instant(nanoseconds: Nanoseconds.sum(left.nanoseconds, right.inNanoseconds))
  }

  package static func - (left: Self, right: Self) -> Duration {
    .nanoseconds(Nanoseconds.sum(left.nanoseconds, right.nanoseconds == .min ? .max : -right.nanoseconds))
  }
}

enum Nanoseconds {
  static func sum(_ left: Int64, _ right: Int64) -> Int64 {
    let (sum, overflow) = left.addingReportingOverflow(right)
    return overflow ? (right < 0 ? .min : .max) : sum
  }

  static func saturated(_ seconds: Double) -> Int64 {
    guard !seconds.isNaN else { return 0 }
    return seconds >= 9.2e9 ? .max : seconds <= -9.2e9 ? .min : Int64(seconds * 1e9)
  }
}

extension Duration {
  /// Stops at the ends of the scale: 292 years.
  package var inNanoseconds: Int64 {
    let (seconds, rest) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return overflow ? (seconds < 0 ? .min : .max) : Nanoseconds.sum(product, rest / 1_000_000_000)
  }

  package var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }

  package static func minutes(_ count: Int) -> Duration { .seconds(60 * count) }
  package static func hours(_ count: Int) -> Duration { .seconds(3600 * count) }
  package static func days(_ count: Int) -> Duration { .seconds(86_400 * count) }
}
