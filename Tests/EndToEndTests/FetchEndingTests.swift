import Testing

@testable import outrider

/// What a signal, or the end of the time that a command has, does to it.
@Suite(.timeLimit(.minutes(1))) struct FetchEndingTests {
  @Test("the first one puts the downloads away, and says how the command ends") func first() {
    let ending = FetchEnding()
    #expect(!ending.isAsked && ending.status == nil)
    #expect(ending.ask(130) == .first && ending.ask(75) == .again)
    #expect(ending.isAsked && ending.status == 130)
    #expect(!ending.beginHandingOver(), "what was told to end hands nothing over")
    #expect(ending.ask(75) == .again)
  }

  @Test("while a file is handed over there is nothing to put away") func handingOver() {
    let ending = FetchEnding()
    #expect(ending.beginHandingOver())
    #expect(ending.ask(75) == .nothingToPutAway && ending.ask(130) == .nothingToPutAway)
  }
}
