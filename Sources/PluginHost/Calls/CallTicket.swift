internal import Synchronization

/// One call for those who may cancel it: whether it has been is known before the call reaches the watchdog's thread.
final class CallTicket: Sendable {
  private static let last = Atomic<UInt64>(0)

  let id: UInt64
  private let cancelled = Atomic(false)

  init(_ id: UInt64 = CallTicket.next()) { self.id = id }

  /// No two calls of this process have the same.
  static func next() -> UInt64 { last.add(1, ordering: .relaxed).newValue }

  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func cancel() { cancelled.store(true, ordering: .releasing) }
}
