internal import Synchronization

/// What C holds pointers to. They are looked up and never followed, so that one that was freed, or never was one, is refused.
final class Objects<Value: AnyObject & Sendable>: Sendable {
  private let live = Mutex<(next: UInt, values: [UInt: Value])>((16, [:]))

  /// The pointer that stands for a value; never one that stood for another.
  func add(_ value: Value) -> OpaquePointer? {
    live.withLock { live in
      // No address of an object of C's, nor NULL.
      live.next += 16
      live.values[live.next] = value
      return OpaquePointer(bitPattern: live.next)
    }
  }

  subscript(pointer: OpaquePointer?) -> Value? {
    live.withLock { live in pointer.flatMap { live.values[UInt(bitPattern: $0)] } }
  }

  var all: [Value] { live.withLock { Array($0.values.values) } }

  /// Takes the value out of the table.
  func remove(_ pointer: OpaquePointer?) -> Value? {
    live.withLock { live in pointer.flatMap { live.values.removeValue(forKey: UInt(bitPattern: $0)) } }
  }
}
