import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(2))) struct TimedQuestionTests {
  /// Many at once, so that threads change between any two steps.
  @Test func whoAnswersBecauseItIsCancelledIsntHeard() async {
    await withTaskGroup(of: Bool.self) { group in
      for _ in 0..<500 {
        group.addTask {
          await withCheckedContinuation { continuation in
            TimedQuestion(timeout: .milliseconds(1), otherwise: false) {
              try? await Task.sleep(for: .seconds(3600))
              return true
            }.put { continuation.resume(returning: $0) }
          }
        }
      }
      for await isGranted in group { #expect(!isGranted) }
    }
  }

  @Test func theFirstAnswerCountsOnce() async {
    let answer = await withCheckedContinuation { continuation in
      TimedQuestion(timeout: .zero, otherwise: 1) { 2 }.put { continuation.resume(returning: $0) }
    }
    #expect([1, 2].contains(answer))
  }

  private final class Answer: Sendable {}

  @Test func nothingIsKeptOnceThereIsAnAnswer() async {
    weak var kept: Answer?
    do {
      let otherwise = Answer()
      kept = otherwise
      let answer = await withCheckedContinuation { continuation in
        TimedQuestion(timeout: .seconds(3600), otherwise: otherwise) { Answer() }
          .put { continuation.resume(returning: $0) }
      }
      #expect(answer !== otherwise)
    }
    while kept != nil { await Task.yield() }
  }
}
