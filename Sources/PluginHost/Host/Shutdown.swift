internal import Dispatch
internal import Synchronization

/// The end of a host: one caller sees to it, and every other one waits for that.
final class Shutdown: Sendable {
  private let hasBegun = Atomic(false)
  private let group = DispatchGroup()

  init() { group.enter() }

  /// Whether the caller is the one. It calls `end` when everything is gone.
  func begins() -> Bool { !hasBegun.exchange(true, ordering: .relaxed) }

  func end() { group.leave() }

  func wait() { group.wait() }

  // A group that was entered and is released ends the program. No host gets that far without its end, but one that couldn't be made.
  deinit { if begins() { end() } }
}
