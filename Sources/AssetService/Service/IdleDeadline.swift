/// When a service that nothing uses ends: pure.
struct IdleDeadline {
  let patience: Duration
  /// nil: something uses it.
  private(set) var due: Duration?

  init(patience: Duration) { self.patience = patience }

  /// To be called after each change; one that leaves it idle doesn't begin the time anew.
  mutating func look(isIdle: Bool, now: Duration) { due = isIdle ? due ?? now + patience : nil }
}
