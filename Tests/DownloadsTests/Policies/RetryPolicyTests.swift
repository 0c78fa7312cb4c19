import AssetModel
import Basics
import TestSupport
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct RetryPolicyTests {
  @Test(
    arguments: [
      (.foreground, false, 6, 1, 60), (.essential, true, 10, 1, 60), (.background, false, nil, 30, 3600),
      (.prefetch, true, nil, 30, 18000),
    ] as [(TransferClass, Bool, Int?, Int64, Int64)])
  func classes(transferClass: TransferClass, isIdle: Bool, limit: Int?, base: Int64, cap: Int64) {
    let policy = RetryPolicy(transferClass: transferClass, appIdleForWeek: isIdle)
    #expect(policy.attemptLimit == limit && policy.base == .seconds(base) && policy.cap == .seconds(cap))
    #expect(
      policy.delay(fruitless: 0, random: 0.5) == .seconds(base)
        && policy.delay(fruitless: 0, random: 0) == .seconds(base) / 2)
    #expect(policy.delay(fruitless: 3, random: 0.5) == min(.seconds(base * 8), .seconds(cap)))
    #expect(policy.delay(fruitless: .max, random: 0.5) == .seconds(cap))
  }

  @Test(arguments: 1...50 as ClosedRange<UInt64>) func delaysStayWithinTheirBounds(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for transferClass in TransferClass.allCases {
      let policy = RetryPolicy(transferClass: transferClass, appIdleForWeek: Bool.random(using: &random))
      var previous = Duration.zero
      for attempt in 0..<100 {
        let delay = policy.delay(fruitless: attempt, random: Double.random(in: 0..<1, using: &random))
        #expect(delay >= policy.base / 2 && delay < policy.cap * 1.5, "seed \(seed)")
        let middle = policy.delay(fruitless: attempt, random: 0.5)
        #expect(middle >= previous, "seed \(seed)")
        previous = middle
      }
    }
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity, -1, 2]) func delaysSurviveBadRandomness(random: Double) {
    let delay = RetryPolicy(transferClass: .foreground, appIdleForWeek: false).delay(fruitless: -5, random: random)
    #expect(delay >= .milliseconds(500) && delay <= .milliseconds(1500))
  }

  @Test(
    arguments: [
      (1 << 20, 0, nil, true), (1 << 20 - 1, 0, nil, false), (100, 0, 10_000, true), (99, 0, 10_000, false),
      (1, 0, 150, false), (2, 0, 150, true),
      (1, 0, 100, true), (1, 0, 1, true), (0, 0, 0, false), (5, 5, 5, false), (4, 5, 5, false),
      (1 << 20, 0, 1 << 40, true), (1 << 19, 0, 1 << 40, false),
      (10 << 20, 9 << 20, 1 << 40, true), (.max, -1, nil, false),
    ] as [(Int64, Int64, Int64?, Bool)])
  func progress(durable: Int64, highWater: Int64, total: Int64?, expected: Bool) {
    #expect(RetryPolicy.isProgress(durable: durable, highWater: highWater, total: total) == expected)
  }

  @Test(
    arguments: [
      (.status(404), .publication), (.status(408), .transient), (.status(429), .transient), (.status(500), .transient),
      (.status(503), .transient),
      (.status(599), .transient), (.status(999), .transient), (.status(400), .permanent(.refused)),
      (.status(425), .transient), (.status(413), .permanent(.refused)), (.status(421), .permanent(.refused)),
      (.status(418), .permanent(.refused)),
      (.status(304), .permanent(.refused)), (.status(410), .permanent(.gone)), (.status(451), .permanent(.gone)),
      (.status(401), .permanent(.challenge)),
      (.status(403), .permanent(.challenge)), (.status(407), .permanent(.challenge)), (.proxy("x"), .notAnAttempt),
      (.resolve("x"), .transient),
      (.connect("x"), .transient), (.tls("x"), .transient), (.reset("x"), .transient), (.truncated, .transient),
      (.stalled, .transient),
      (.headTimeout, .transient), (.http2(enhanceYourCalm: true, detail: "x"), .transient),
      (.protocolFault("x"), .transient),
    ] as [(TransferProblem, TransferProblem.Classification)])
  func classification(problem: TransferProblem, expected: TransferProblem.Classification) {
    #expect(problem.classification(hasTime: false) == expected && !problem.description.isEmpty)
  }

  @Test func whatIsTooLargeNowIsAskedForWhenTheServerSays() {
    #expect(TransferProblem.status(413).classification(hasTime: true) == .transient)
    #expect(TransferProblem.status(414).classification(hasTime: true) == .permanent(.refused))
  }

  static let now: Int64 = 784_111_777

  @Test(
    arguments: [
      ("0", 0), ("120", 120), ("86400", 86400), ("86401", 86400), ("9223372036854775807", 86400),
      ("9223372036854775808", 86400),
      (String(repeating: "9", count: 1000), 86400), ("Sun, 06 Nov 1994 08:49:47 GMT", 10),
      ("Sunday, 06-Nov-94 08:49:47 GMT", 10),
      ("Mon, 06 Nov 2034 08:49:37 GMT", 86400), ("Fri, 31 Dec 9999 23:59:59 GMT", 86400),
    ].map { (Abbreviated($0.0), $0.1) } as [(Abbreviated<String>, Int64)])
  func retryAfter(value: Abbreviated<String>, seconds: Int64) {
    let wait = RetryAfter.parse(value.value, responseDate: Self.now, wall: 0)
    #expect(wait == .seconds(seconds))
  }

  @Test(arguments: [
    "", "-1", "+1", "1.5", " 1", "1 ", "soon", "0x10", "1e3", "١", "Sun, 06 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 08:49:36 GMT", "Sun, 06 Nov 1994",
  ])
  func retryAfterGarbage(value: String) {
    #expect(RetryAfter.parse(value, responseDate: Self.now, wall: 0) == nil)
  }

  @Test func aDateCountsAgainstTheAnswersOwnDateOrElseTheMachines() {
    let date = "Sun, 06 Nov 1994 08:49:47 GMT"
    #expect(RetryAfter.parse(date, responseDate: nil, wall: Self.now) == .seconds(10))
    #expect(RetryAfter.parse(date, responseDate: nil, wall: 0) == .seconds(86400))
    #expect(RetryAfter.parse(date, responseDate: nil, wall: Self.now + 10) == nil)
    #expect(RetryAfter.parse("5", responseDate: nil, wall: .max) == .seconds(5))
    #expect(RetryAfter.parse(date, responseDate: .min, wall: .max) == .seconds(86400))
  }

  @Test func waitsAreBounded() {
    #expect(
      RetryAfter.wait(backoff: .seconds(5), requested: nil) == .seconds(5)
        && RetryAfter.wait(backoff: .seconds(5), requested: .seconds(1)) == .seconds(5))
    #expect(RetryAfter.wait(backoff: .seconds(5), requested: .seconds(9)) == .seconds(9))
    #expect(RetryAfter.wait(backoff: .seconds(5), requested: .seconds(1 << 40)) == .seconds(86400))
  }
}
