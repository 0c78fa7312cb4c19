internal import Synchronization

/// One call for those who may cancel it: whether it has been is known before the call reaches the watchdog's thread.
final class CallTicket: Sendable {
  private static let last = Atomic<UInt64>(0)

  let id = CallTicket.last.add(1, ordering: .relaxed).newValue
  private let cancelled = Atomic(false)

  var isCancelled: Bool { cancelled.load(ordering: .acquiring) }

  func cancel() { cancelled.store(true, ordering: .releasing) }
}
