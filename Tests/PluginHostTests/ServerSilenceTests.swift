import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct ServerSilenceTests {
  /// After how many checks the server is given up; nil: after none.
  private func looksUntilGivenUp(
    _ silence: inout ServerSilence, hasHandle: Bool, isExhausted: Bool = false, hasEnded: Bool,
    server: (Int) -> ThreadProgress.Look? = { _ in nil }
  ) -> Int? {
    for look in 1...200 {
      let step = silence.check(hasHandle: hasHandle, isExhausted: isExhausted, hasEnded: hasEnded) { server(look) }
      if step == .giveUp { return look }
    }
    return nil
  }

  @Test("A server that has had too little of a processor to do its part isn't given up for a minute") func isHeldUp() {
    func looks(_ server: (Int) -> ThreadProgress.Look?) -> Int? {
      var silence = ServerSilence()
      _ = silence.begin()
      return looksUntilGivenUp(&silence, hasHandle: true, hasEnded: true, server: server)
    }
    func used(_ milliseconds: Int, isUnderWay: Bool = true) -> ThreadProgress.Look {
      ThreadProgress.Look(isUnderWay: isUnderWay, used: .milliseconds(milliseconds))
    }
    let (usual, longest) = (ServerSilence.maxMissedChecks.end + 1, ServerSilence.maxChecks)
    #expect(looks { _ in used(7) } == longest, "in the kernel, or without a processor")
    #expect(looks { used($0) } == longest, "a millisecond of each half second")
    #expect(looks { used($0 * 500) } == usual + 1, "it runs and says nothing; the first look knows no earlier one")
    #expect(looks { used($0 * 25) } == 2 * usual, "it takes twice as long to have had as much")
    #expect(looks { _ in used(7, isUnderWay: false) } == usual, "it sleeps, or is stopped")
    #expect(looks { _ in nil } == usual, "where the kernel doesn't say")
    // Once it was seen to sleep, it is as overdue as before.
    #expect(looks { used(7, isUnderWay: $0 < 50) } == 49 + usual - 1)
  }

  @Test("A server isn't looked at as long as it answers at once") func looksLate() {
    var silence = ServerSilence()
    _ = silence.begin()
    _ = silence.check(hasHandle: false, isExhausted: false, hasEnded: false) {
      Issue.record("looked at")
      return nil
    }
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
    let step = silence.check(hasHandle: hasEnded, isExhausted: false, hasEnded: hasEnded) { nil }
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
      _ = silence.check(hasHandle: true, isExhausted: false, hasEnded: true) { nil }
    }
    let again = silence.begin()
    #expect(!again)
    silence.end()
    #expect(!silence.isAwaited)
    _ = silence.begin()
    #expect(looksUntilGivenUp(&silence, hasHandle: true, hasEnded: true) == ServerSilence.maxMissedChecks.end + 1)
  }
}
