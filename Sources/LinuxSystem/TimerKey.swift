/// Names one timer of a loop: whose it is, and which of its owner's timers. The loop makes them (`EventLoop.newTimers`).
package struct TimerKey: Hashable, Sendable {
  enum Only: UInt8 { case only }

  private let owner: UInt64
  private let purpose: UInt8

  fileprivate init(owner: UInt64, purpose: UInt8) {
    self.owner = owner
    self.purpose = purpose
  }
}

/// The timers of one owner, each with its purpose.
package struct TimerKeys<Purpose: RawRepresentable & Sendable>: Sendable where Purpose.RawValue == UInt8 {
  private let owner: UInt64

  init(owner: UInt64) { self.owner = owner }

  package subscript(_ purpose: Purpose) -> TimerKey { TimerKey(owner: owner, purpose: purpose.rawValue) }
}
