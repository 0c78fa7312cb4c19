import Basics
import LinuxSystem
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct WakingWaitTests {
  private static let soon = Duration.microseconds(40)
  private static let late = Duration.microseconds(130)

  @Test("spinning is given up where answers don't come in time, and taken up again where they do")
  func givesUp() {
    var wait = WakingWait()
    var ways: [AnswerWait.Way] = []
    func call(_ spun: Duration) {
      let way = wait.way(cores: 2)
      ways.append(way)
      wait.took(way == .spinning ? spun : .microseconds(60), way)
    }
    for _ in 0..<20 { call(Self.soon) }
    #expect(ways.allSatisfy { $0 == .spinning })
    ways = []
    for _ in 0..<1000 { call(Self.late) }
    #expect(ways.prefix(4).allSatisfy { $0 == .spinning } && ways.count { $0 == .spinning } < 14, "\(ways)")
    ways = []
    for _ in 0..<600 { call(Self.soon) }
    #expect(ways.suffix(300).allSatisfy { $0 == .spinning })
  }

  @Test("an answer that is late now and then changes nothing")
  func occasional() {
    var wait = WakingWait()
    for index in 0..<300 {
      #expect(wait.way(cores: 2) == .spinning)
      wait.took(index % 4 == 3 ? Self.late : Self.soon, .spinning)
    }
  }

  @Test("on one processor no thread spins") func alone() {
    var wait = WakingWait()
    for _ in 0..<300 {
      #expect(wait.way(cores: 1) == .blocking)
      wait.took(Self.soon, .blocking)
    }
  }

  @Test(
    "in vain it spins for no more calls than it has paid for, but for tries", arguments: 0..<50 as Range<UInt64>)
  func isBounded(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var wait = WakingWait()
    var (inTime, vain, asleep) = (0, 0, 0)
    for _ in 0..<3000 {
      let way = wait.way(cores: 2)
      let isSoon = random.chance(3)
      if way == .blocking { asleep += 1 } else if isSoon { inTime += 1 } else { vain += 1 }
      wait.took(way == .spinning && isSoon ? Self.soon : Self.late, way)
    }
    #expect(vain <= 4 + inTime + asleep / WakingWait.gaps.lowerBound)
  }
}
