import Basics
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct AnswerWaitTests {
  /// What a call takes, in microseconds, waited for in either way.
  private struct Machine {
    var spinning: Int
    var blocking: Int

    /// The share of `calls` that were waited for spinning.
    func share(_ wait: inout AnswerWait, calls: Int = 1000) -> Double {
      var spun = 0
      for _ in 0..<calls {
        let way = wait.way(cores: 2)
        if way == .spinning { spun += 1 }
        wait.took(.microseconds(way == .spinning ? spinning : blocking), way)
      }
      return Double(spun) / Double(calls)
    }
  }

  @Test func learnsWhichIsFaster() {
    var wait = AnswerWait()
    #expect(Machine(spinning: 20, blocking: 60).share(&wait) > 0.95)
    #expect(Machine(spinning: 90, blocking: 30).share(&wait) < 0.3)
    #expect(Machine(spinning: 90, blocking: 30).share(&wait) < 0.05)
    #expect(Machine(spinning: 20, blocking: 60).share(&wait, calls: 2000) > 0.5)
  }

  @Test func doesNotTurnForWhatTakesLong() {
    var wait = AnswerWait()
    #expect(Machine(spinning: 5000, blocking: 5000).share(&wait) < 0.05)
    // Slow ones don't count for longer than they have to.
    #expect(Machine(spinning: 20, blocking: 60).share(&wait, calls: 2000) > 0.5)
  }

  @Test("a first call that took long, because everything was cold, doesn't decide for the rest")
  func first() {
    var wait = AnswerWait()
    for index in 0..<100 {
      let way = wait.way(cores: 2)
      wait.took(.microseconds(index == 0 ? 5000 : way == .spinning ? 3 : 8), way)
    }
    #expect(wait.way(cores: 2) == .spinning)
  }

  @Test(
    "after any change the faster way is found within some 500 calls, and the other tried seldom from then on",
    arguments: 0..<100 as Range<UInt64>)
  func finds(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var wait = AnswerWait()
    for _ in 0..<6 {
      let machine = Machine(
        spinning: Int.random(in: 2...400, using: &random), blocking: Int.random(in: 2...400, using: &random))
      // What takes longer than the spin limit isn't spun for.
      let best: AnswerWait.Way = machine.spinning < min(machine.blocking, 100) ? .spinning : .blocking
      _ = machine.share(&wait, calls: 600)
      let spun = machine.share(&wait, calls: 2000)
      // Which of two that are the same to a hundredth it is doesn't matter.
      guard abs(machine.spinning - min(machine.blocking, 100)) > 1 else { continue }
      #expect((best == .spinning ? 1 - spun : spun) < 0.04, "\(machine)")
    }
  }

  @Test func oneCoreIsTheRunners() {
    let wait = AnswerWait()
    let way = wait.way(cores: 1)
    #expect(way == .blocking)
  }
}
