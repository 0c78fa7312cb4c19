import Basics
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct StallWindowTests {
  @Test(arguments: [(true, 30), (false, 60)] as [(Bool, Int64)]) func silenceIsAStall(
    isForeground: Bool, seconds: Int64
  ) {
    let window = StallWindow(isForeground: isForeground, now: .seconds(100))
    #expect(
      !window.isStalled(at: .seconds(100 + seconds) - .milliseconds(1)) && window.isStalled(at: .seconds(100 + seconds))
    )
    #expect(window.nextCheck == .seconds(100 + seconds))
  }

  @Test func whatIsJustFastEnoughIsNone() {
    var window = StallWindow(isForeground: true, now: .zero)
    for second in 1...300 as ClosedRange<Int64> {
      window.received(1024, at: .seconds(second) - .milliseconds(1))
      #expect(!window.isStalled(at: .seconds(second)))
    }
  }

  @Test func aTrickleIsAStall() {
    var window = StallWindow(isForeground: true, now: .zero)
    for second in 1..<30 { window.received(900, at: .seconds(Int64(second))) }
    #expect(!window.isStalled(at: .seconds(29)) && window.isStalled(at: .seconds(30)))
  }

  @Test func aBurstLastsAsLongAsTheWindow() {
    var window = StallWindow(isForeground: true, now: .zero)
    window.received(1 << 20, at: .seconds(10))
    #expect(!window.isStalled(at: .seconds(40)) && window.isStalled(at: .seconds(43)))
    window.received(1 << 20, at: .seconds(42))
    #expect(!window.isStalled(at: .seconds(72)) && window.isStalled(at: .seconds(75)))
  }

  @Test func pausedTimeDoesntCount() {
    var window = StallWindow(isForeground: true, now: .zero)
    window.pausedByUs(at: .seconds(20))
    window.pausedByUs(at: .seconds(25))
    #expect(!window.isStalled(at: .seconds(1000)) && window.nextCheck == nil)
    window.resumed(at: .seconds(1020))
    #expect(!window.isStalled(at: .seconds(1029)) && window.isStalled(at: .seconds(1030)))
    window.pausedByUs(at: .seconds(1025))
    window.received(30 << 10, at: .seconds(2025))
    #expect(window.nextCheck != nil && !window.isStalled(at: .seconds(2030)), "bytes end a pause")
  }

  @Test func survivesNonsense() {
    var window = StallWindow(isForeground: false, now: .seconds(100))
    for time in [0, 50, 1 << 40, 100, 1 << 40] as [Int64] {
      for bytes in [Int.max, Int.max, -1, .min] { window.received(bytes, at: .seconds(time)) }
      window.pausedByUs(at: .seconds(time))
      window.resumed(at: .zero)
    }
    #expect(window.nextCheck != nil)
  }

  /// Against the definition itself: what has enough in every window is never stalled, and what has too little in the window
  /// and a slice is. The next check is the moment of the stall.
  @Test(arguments: 1...100 as ClosedRange<UInt64>) func agreesWithTheDefinition(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var window = StallWindow(isForeground: true, now: .zero)
    var received: [(at: Int64, bytes: Int)] = []
    var now: Int64 = 0
    for _ in 0..<200 {
      now += Int64.random(in: 0...8000, using: &random)
      let bytes = Int.random(in: 0...12000, using: &random)
      window.received(bytes, at: .milliseconds(now))
      received.append((now, bytes))
      func sum(_ length: Int64) -> Int { received.filter { $0.at > now - length }.reduce(0) { $0 + $1.bytes } }
      let isStalled = window.isStalled(at: .milliseconds(now))
      if sum(30000) >= 30 << 10 || now < 30000 { #expect(!isStalled, "seed \(seed) at \(now)") }
      if sum(33001) < 30 << 10, now >= 30000 { #expect(isStalled, "seed \(seed) at \(now)") }
      let next = try #require(window.nextCheck)
      #expect(window.isStalled(at: next) && !window.isStalled(at: next - .milliseconds(1)), "seed \(seed) at \(now)")
    }
  }
}
