import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct ServerSilenceTests {
  /// After how many checks the server is given up; nil: after none.
  private func looksUntilGivenUp(
    _ silence: inout ServerSilence, hasHandle: Bool, isExhausted: Bool = false, hasEnded: Bool
  )
    -> Int?
  {
    for look in 1...100
    where silence.check(hasHandle: hasHandle, isExhausted: isExhausted, hasEnded: hasEnded) == .giveUp { return look }
    return nil
  }

  @Test("A server is given up after so many missed checks, and never while a process ends")
  func counts() {
    for (hasHandle, hasEnded, looks) in [
      (false, false, ServerSilence.maxMissedChecks.beginning + 1), (true, true, ServerSilence.maxMissedChecks.end + 1),
      (true, false, nil),
    ] as [(Bool, Bool, Int?)] {
      var silence = ServerSilence()
      let begun = silence.begin()
      #expect(begun && silence.isAwaited)
      #expect(looksUntilGivenUp(&silence, hasHandle: hasHandle, hasEnded: hasEnded) == looks)
    }
  }

  /// A process that takes long to end, and is found gone at the last look, has only just ended.
  @Test("The time that the kernel takes to end a process isn't the server's silence") func slowEnd() {
    var silence = ServerSilence()
    _ = silence.begin()
    #expect(looksUntilGivenUp(&silence, hasHandle: true, hasEnded: false) == nil)
    #expect(looksUntilGivenUp(&silence, hasHandle: true, hasEnded: true) == ServerSilence.maxMissedChecks.end + 1)
  }

  /// Suspended for an hour, or without a processor for seconds, a machine has looked once.
  @Test("However long it took, one look in vain gives no server up", arguments: [false, true])
  func oneLook(hasEnded: Bool) {
    var silence = ServerSilence()
    _ = silence.begin()
    let step = silence.check(hasHandle: hasEnded, isExhausted: false, hasEnded: hasEnded)
    #expect(step == .checkAgain)
  }

  /// It isn't the server's fault that this host has no room for the handle.
  @Test func exhaustionIsForgiven() {
    var silence = ServerSilence()
    _ = silence.begin()
    #expect(looksUntilGivenUp(&silence, hasHandle: false, isExhausted: true, hasEnded: false) == nil)
  }

  @Test func aWordBeginsItAnew() {
    var silence = ServerSilence()
    _ = silence.begin()
    for _ in 0..<ServerSilence.maxMissedChecks.end {
      _ = silence.check(hasHandle: true, isExhausted: false, hasEnded: true)
    }
    let again = silence.begin()
    #expect(!again)
    silence.end()
    #expect(!silence.isAwaited)
    _ = silence.begin()
    #expect(looksUntilGivenUp(&silence, hasHandle: true, hasEnded: true) == ServerSilence.maxMissedChecks.end + 1)
  }
}
