internal import Glibc

/// Room for a descriptor that comes later than its owner, and is closed with it.
package struct DescriptorSlot: ~Copyable {
  /// -1 while there is none.
  package private(set) var number: Int32 = -1

  package init() {}

  package init(_ descriptor: consuming OwnedDescriptor) { number = descriptor.release() }

  package var isEmpty: Bool { number < 0 }

  /// Takes a descriptor; one that was there is closed.
  package mutating func fill(_ descriptor: consuming OwnedDescriptor) {
    empty()
    number = descriptor.release()
  }

  /// Hands over what is there.
  package mutating func take() -> OwnedDescriptor? {
    guard number >= 0 else { return nil }
    defer { number = -1 }
    return OwnedDescriptor(taking: number)
  }

  package mutating func empty() {
    guard number >= 0 else { return }
    _ = Glibc.close(number)
    number = -1
  }

  deinit { if number >= 0 { _ = Glibc.close(number) } }
}
