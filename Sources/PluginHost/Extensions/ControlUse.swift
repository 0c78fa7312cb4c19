/// Exclusive control as one run uses it: what it waits for, and what it holds. Pure.
struct ControlUse: Equatable {
  /// Requests that may be open at a time; a client in Swift has one.
  static let maxPending = 64

  private(set) var pending = 0
  private(set) var held = 0

  /// Whether the other side may have to wait for this run: then it must go on running.
  var isEngaged: Bool { pending > 0 || held > 0 }
  /// Whether the run waits for the other side, and the other side not for it.
  var isWaiting: Bool { pending > 0 && held == 0 }

  /// False where too many are open.
  mutating func request() -> Bool {
    guard pending < Self.maxPending else { return false }
    pending += 1
    return true
  }

  mutating func answered(granted: Bool) {
    precondition(pending > 0)
    pending -= 1
    if granted { held += 1 }
  }

  /// False for what the run doesn't hold.
  mutating func release() -> Bool {
    guard held > 0 else { return false }
    held -= 1
    return true
  }

  /// The run has ended. How often control is to be given back.
  mutating func end() -> Int {
    defer { held = 0 }
    return held
  }
}
