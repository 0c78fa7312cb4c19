import Basics
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct RateBucketTests {
  @Test func debtIsWaitedFor() {
    var bucket = RateBucket(bytesPerSecond: 1000, burst: 500)
    #expect(bucket.take(500, at: .zero) == .zero && bucket.take(250, at: .zero) == .milliseconds(250))
    #expect(
      bucket.take(0, at: .milliseconds(250)) == .zero && bucket.take(500, at: .seconds(100)) == .zero,
      "silence fills it to the burst")
    #expect(bucket.take(1000, at: .seconds(100)) == .seconds(1))
  }

  @Test func survivesNonsense() {
    var bucket = RateBucket(bytesPerSecond: -5, burst: 0)
    #expect(bucket.take(.max, at: .zero) == .seconds(3600) && bucket.take(.min, at: .seconds(-100)) <= .seconds(3600))
    #expect(bucket.take(1, at: .seconds(1 << 40)) >= .zero)
  }

  /// A transfer that waits as told gets the rate, and no more than the burst above it.
  @Test(arguments: 1...50 as ClosedRange<UInt64>) func keepsTheRate(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let rate = Int64.random(in: 1000...10_000_000, using: &random)
    var (bucket, now, taken) = (RateBucket(bytesPerSecond: rate), Duration.zero, 0)
    for _ in 0..<500 {
      let bytes = Int.random(in: 0...65536, using: &random)
      now += bucket.take(bytes, at: now)
      taken += bytes
    }
    let seconds = now / .seconds(1)
    #expect(Double(taken) <= Double(rate) * seconds + Double(bucket.burst) + 1, "seed \(seed)")
    #expect(Double(taken) >= Double(rate) * seconds * 0.999 - 1, "seed \(seed)")
  }
}
