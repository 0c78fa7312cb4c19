import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct AnswerWaitTests {
  /// What a call takes, in microseconds, waited for in either way.
  private struct Machine {
    var turning: Int
    var asleep: Int

    /// The share of `calls` that were waited for turning round.
    func share(_ wait: inout AnswerWait, calls: Int = 1000) -> Double {
      var turned = 0
      for _ in 0..<calls {
        let way = wait.way(cores: 2)
        if way == .turning { turned += 1 }
        wait.took(.microseconds(way == .turning ? turning : asleep), way)
      }
      return Double(turned) / Double(calls)
    }
  }

  @Test func learnsWhichIsFaster() {
    var wait = AnswerWait()
    #expect(Machine(turning: 20, asleep: 60).share(&wait) > 0.95)
    #expect(Machine(turning: 90, asleep: 30).share(&wait) < 0.3)
    #expect(Machine(turning: 90, asleep: 30).share(&wait) < 0.05)
    #expect(Machine(turning: 20, asleep: 60).share(&wait, calls: 2000) > 0.5)
  }

  @Test func doesNotTurnForWhatTakesLong() {
    var wait = AnswerWait()
    #expect(Machine(turning: 5000, asleep: 5000).share(&wait) < 0.05)
    // Slow ones don't count for longer than they have to.
    #expect(Machine(turning: 20, asleep: 60).share(&wait, calls: 2000) > 0.5)
  }

  @Test func oneCoreIsTheRunners() {
    var wait = AnswerWait()
    let way = wait.way(cores: 1)
    #expect(way == .asleep)
  }
}
