import Testing

@testable import PluginHost

@Suite struct AnswerWaitTests {
  @Test func sleepsForAWhileAfterAMiss() {
    var wait = AnswerWait()
    for _ in 0..<3 {
      let turns = wait.turnsRound(cores: 2)
      #expect(turns)
      wait.turnedRound(wasAnswered: true)
    }
    let last = wait.turnsRound(cores: 2)
    wait.turnedRound(wasAnswered: false)
    let sleeps = (0..<AnswerWait.sleepsAfterMiss).map { _ in wait.turnsRound(cores: 2) }
    let next = wait.turnsRound(cores: 2)
    #expect(last && !sleeps.contains(true) && next)
  }

  @Test func oneCoreIsTheRunners() {
    var wait = AnswerWait()
    let turns = wait.turnsRound(cores: 1)
    #expect(!turns)
  }
}
