internal import Synchronization

/// What a long command has found so far: a user who interrupts it gets that.
final class Interim<Value: Sendable>: Sendable {
  private let value: Mutex<Value>

  init(_ value: Value) { self.value = Mutex(value) }

  /// Waits for ever where the command is being interrupted: what its end brings isn't a result.
  func update(_ body: (inout Value) -> Void) {
    Interrupts.yieldToHandler()
    value.withLock { body(&$0) }
  }

  var now: Value { value.withLock { $0 } }
}
