import LinuxSystem
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct CallPaceTests {
  /// Calls that take `time`, each so long after the last; how answers were waited for.
  private func calls(
    _ pace: inout CallPace, _ now: inout Duration, _ count: Int, after gap: Duration, taking time: Duration
  )
    -> [AnswerWait.Way]
  {
    (0..<count).map { _ in
      now += gap
      pace.begin(at: now, cores: 2)
      let way = pace.choice
      now += time
      pace.end(at: now)
      return way
    }
  }

  @Test("a call that wakes a runner after a pause says nothing of those that follow each other")
  func pauses() {
    var pace = CallPace()
    var now = Duration.seconds(1)
    var ways: [AnswerWait.Way] = []
    for round in 0..<200 {
      _ = calls(&pace, &now, 1, after: .milliseconds(5), taking: .microseconds(200))
      for _ in 0..<2 {
        now += .microseconds(1)
        pace.begin(at: now, cores: 2)
        if round >= 50 { ways.append(pace.choice) }
        now += pace.choice == .spinning ? .microseconds(2) : .microseconds(40)
        pace.end(at: now)
      }
    }
    #expect(ways.count { $0 == .spinning } > 290, "of 300, but for trials")
  }

  @Test(
    "calls after pauses are waited for in the way that is faster for them, whatever those do that follow each other")
  func wakes() {
    var pace = CallPace()
    var now = Duration.seconds(1)
    var ways: [AnswerWait.Way] = []
    for round in 0..<300 {
      now += .milliseconds(5)
      pace.begin(at: now, cores: 2)
      if round >= 100 { ways.append(pace.choice) }
      #expect(pace.spinLimit == (pace.choice == .blocking ? .microseconds(400) : AnswerWait.spinLimit))
      #expect(pace.sleepLimit == (pace.choice == .blocking ? .zero : .microseconds(400)), "as long in all")
      now += pace.choice == .spinning ? .microseconds(140) : .microseconds(60)
      pace.end(at: now)
      _ = calls(&pace, &now, 3, after: .microseconds(1), taking: .microseconds(2))
      #expect(pace.spinLimit == AnswerWait.spinLimit)
      #expect(pace.sleepLimit == .zero)
    }
    #expect(ways.count { $0 == .blocking } > 190, "of 200, but for trials")
  }

  @Test("on the runner's own processor no thread spins for calls that follow, and nothing is learned from them")
  func shared() {
    var pace = CallPace()
    var now = Duration.seconds(1)
    func call(isShared: Bool) -> AnswerWait.Way {
      now += .microseconds(1)
      pace.begin(at: now, cores: 2, isOnRunnersProcessor: isShared)
      let way = pace.choice
      now += isShared ? .microseconds(150) : way == .spinning ? .microseconds(2) : .microseconds(40)
      pace.end(at: now)
      return way
    }
    let before = (0..<100).map { _ in call(isShared: false) }
    let meanwhile = (0..<100).map { _ in call(isShared: true) }
    let after = (0..<20).map { _ in call(isShared: false) }
    #expect(before.suffix(20).allSatisfy { $0 == .spinning })
    #expect(meanwhile.allSatisfy { $0 == .blocking })
    #expect(after.count { $0 == .spinning } >= 16, "but for a trial")
  }

  @Test("a caller moves away from its runner's processor, but for no call after a pause, and on one processor never")
  func moving() {
    var pace = CallPace()
    var now = Duration.seconds(1)
    _ = calls(&pace, &now, 2, after: .microseconds(1), taking: .microseconds(2))
    let soon = now + .microseconds(10)
    for _ in 0..<100 {
      let asked = [
        pace.isToMove(at: soon, cores: 1, isOnRunnersProcessor: true),
        pace.isToMove(at: now + .milliseconds(3), cores: 2, isOnRunnersProcessor: true),
        pace.isToMove(at: soon, cores: 2, isOnRunnersProcessor: false),
      ]
      #expect(asked == [false, false, false])
    }
    let moves = (0..<8).map { _ in pace.isToMove(at: soon, cores: 2, isOnRunnersProcessor: true) }
    #expect(moves == [false, false, false, false, false, false, false, true])
  }

  @Test("slow answers to calls that follow each other are noticed") func slow() {
    var pace = CallPace()
    var now = Duration.seconds(1)
    _ = calls(&pace, &now, 100, after: .microseconds(1), taking: .microseconds(2))
    _ = calls(&pace, &now, 100, after: .microseconds(1), taking: .microseconds(500))
    let ways = calls(&pace, &now, 100, after: .microseconds(1), taking: .microseconds(500))
    #expect(ways.count { $0 == .blocking } > 90)
  }
}
