import Testing

@testable import AssetService

/// When a service that nothing uses ends.
@Suite(.timeLimit(.minutes(1))) struct IdleDeadlineTests {
  @Test("the time begins when the service becomes idle, goes on through what leaves it so, and begins anew after use")
  func begins() {
    var idle = IdleDeadline(patience: .seconds(10))
    let looks: [(isIdle: Bool, now: Int, due: Int?)] = [
      (false, 0, nil), (true, 5, 15), (true, 9, 15), (false, 14, nil), (false, 40, nil), (true, 50, 60), (true, 61, 60),
    ]
    for look in looks {
      idle.look(isIdle: look.isIdle, now: .seconds(look.now))
      #expect(idle.due == look.due.map { .seconds($0) }, "at \(look.now)")
    }
  }
}
