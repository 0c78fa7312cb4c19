internal import COutrider
internal import Synchronization

/// The last pointer of any table: what names an object of one kind names none of another.
private let lastPointer = Atomic<UInt>(16)

/// What C holds pointers to. They are looked up and never followed, so that one that was freed, or never was one, is refused. In a child
/// of fork(2) there is none, and no lock is taken: its owner may be a thread that the child doesn't have.
final class Objects<Value: AnyObject & Sendable>: Sendable {
  private let live = Mutex<[UInt: Value]>([:])

  /// The pointer that stands for a value; never one that stood for another.
  func add(_ value: Value) -> OpaquePointer? {
    // No address of an object of C's, nor NULL.
    let pointer = lastPointer.add(16, ordering: .relaxed).newValue
    live.withLock { $0[pointer] = value }
    return OpaquePointer(bitPattern: pointer)
  }

  subscript(pointer: OpaquePointer?) -> Value? {
    guard let pointer, !Process.wasForked else { return nil }
    return live.withLock { $0[UInt(bitPattern: pointer)] }
  }

  var all: [Value] { live.withLock { Array($0.values) } }

  /// Takes the value out of the table.
  func remove(_ pointer: OpaquePointer?) -> Value? {
    guard let pointer, !Process.wasForked else { return nil }
    return live.withLock { $0.removeValue(forKey: UInt(bitPattern: pointer)) }
  }

  /// Takes out all for which `isMeant` holds.
  func removeAll(where isMeant: (Value) -> Bool) -> [Value] {
    live.withLock { live in
      let found = live.filter { isMeant($0.value) }
      for pointer in found.keys { live[pointer] = nil }
      return Array(found.values)
    }
  }
}
