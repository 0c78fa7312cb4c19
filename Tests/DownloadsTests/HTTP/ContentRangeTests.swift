import Basics
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct ContentRangeTests {
  @Test(
    arguments: [
      ("bytes 0-0/1", .bytes(first: 0, last: 0, total: 1)), ("bytes 5-9/*", .bytes(first: 5, last: 9, total: nil)),
      ("Bytes 5-9/10", .bytes(first: 5, last: 9, total: 10)), ("bytes */0", .unsatisfied(total: 0)),
      ("bytes 0-9223372036854775806/9223372036854775807", .bytes(first: 0, last: .max - 1, total: .max)),
      ("bytes */9223372036854775807", .unsatisfied(total: .max)),
    ] as [(String, ContentRange)])
  func reads(value: String, expected: ContentRange) {
    #expect(ContentRange(value) == expected)
  }

  @Test(arguments: [
    "", "bytes", "bytes ", "bytes */*", "bytes 0-9", "bytes 0-9/", "bytes /10", "bytes 9-5/10", "bytes 0-10/10",
    "bytes 0-9/5",
    "bytes -5/10", "bytes 5-/10", "bytes 0-9/10/10", "bytes=0-9/10", "items 0-9/10", "bytes  0-9/10", "bytes 0-9 /10",
    "bytes 0-9/ 10", "bytes 0-9/10, bytes 0-9/10", "bytes +0-9/10", "bytes 0--9/10", "bytes 0-9223372036854775807/*",
    "bytes 0-9/9223372036854775808", "bytes 0-99999999999999999999/*", "bytes 0-9/0x10", "bytes ٠-٩/١٠",
    "bytes\t0-9/10",
  ])
  func refuses(value: String) {
    #expect(ContentRange(value) == nil)
  }

  /// Whatever is taken can be counted with: nothing overflows, and the range lies within its total.
  @Test(arguments: 1...50 as ClosedRange<UInt64>) func whatIsTakenIsConsistent(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let parts = ["bytes ", "0", "-", "/", "*", "9223372036854775807", "12", " ", "7", "9223372036854775806"]
    for _ in 0..<500 {
      let count = Int.random(in: 0...6, using: &random)
      let value = "bytes " + (0..<count).map { _ in parts[Int.random(in: 0..<parts.count, using: &random)] }.joined()
      guard case .bytes(let first, let last, let total)? = ContentRange(value) else { continue }
      #expect(first >= 0 && first <= last && last - first + 1 > 0 && last < total ?? .max, "seed \(seed): \(value)")
    }
  }
}
