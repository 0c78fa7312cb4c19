import Basics
import Testing

@Suite(.timeLimit(.minutes(1))) struct QuantityTests {
  @Test(arguments: [
    ("1", 1), ("8MiB", 8 << 20), ("512k", 512 << 10), ("1.5KiB", 1536), ("2 GiB", 2 << 30), ("3GB", 3_000_000_000),
    ("10kB", 10_000), ("7b", 7), ("1g", 1 << 30), ("4 mb", 4_000_000),
  ])
  func bytes(_ text: String, _ value: Int) { #expect(Quantity.bytes(text) == value) }

  @Test(arguments: [
    "", "0", "-1", "+1", ".5", "0.5", "1e9", "nan", "inf", "MiB", "8MiBs", "8 M B", "1..2", "1.2.3", "٣", "½", "0x10",
    "99999999999GiB", " 1", "1,5", "1\u{0}", "1\n",
  ])
  func notBytes(_ text: String) { #expect(Quantity.bytes(text) == nil) }

  @Test(
    arguments: [
      ("300ms", .milliseconds(300)), ("1.5s", .milliseconds(1500)), ("2m", .seconds(120)), ("1h", .seconds(3600)),
      ("7", .seconds(7)), ("10us", .microseconds(10)), ("10µs", .microseconds(10)), ("1ns", .nanoseconds(1)),
    ] as [(String, Duration)])
  func durations(_ text: String, _ value: Duration) { #expect(Quantity.duration(text) == value) }

  @Test(arguments: ["", "0", "0s", "-1s", "0.1ns", "1d", "1e9s", "inf", "999999999999h", "s", "1 s s"])
  func notDurations(_ text: String) { #expect(Quantity.duration(text) == nil) }
}
