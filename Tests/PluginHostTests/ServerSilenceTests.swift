import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct ServerSilenceTests {
  private static let beginning = ServerSilence.Step.lookAgain(after: ServerSilence.patience.beginning)
  private static let end = ServerSilence.Step.lookAgain(after: ServerSilence.patience.end)

  /// Never at the first look: what it said while this host was stopped is received in between.
  @Test(arguments: [false, true], [false, true]) func looksTwice(hasHandle: Bool, hasEnded: Bool) {
    var silence = ServerSilence()
    let begun = silence.begin()
    #expect(begun && silence.isAwaited)
    let first = silence.look(hasHandle: hasHandle, isExhausted: false, hasEnded: hasEnded)
    #expect(first == (hasHandle ? Self.end : Self.beginning))
    let second = silence.look(hasHandle: hasHandle, isExhausted: false, hasEnded: hasEnded)
    #expect(second == (hasHandle && !hasEnded ? Self.end : .giveUp))
  }

  /// It isn't the server's fault that this host has no room for the handle.
  @Test func exhaustionIsForgiven() {
    var silence = ServerSilence()
    _ = silence.begin()
    for _ in 0..<5 {
      let step = silence.look(hasHandle: false, isExhausted: true, hasEnded: false)
      #expect(step == Self.beginning)
    }
  }

  @Test func aWordBeginsItAnew() {
    var silence = ServerSilence()
    _ = silence.begin()
    _ = silence.look(hasHandle: true, isExhausted: false, hasEnded: true)
    let again = silence.begin()
    #expect(!again)
    silence.end()
    #expect(!silence.isAwaited)
    _ = silence.begin()
    let step = silence.look(hasHandle: true, isExhausted: false, hasEnded: true)
    #expect(step == Self.end)
  }
}
