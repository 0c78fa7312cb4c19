import Synchronization

/// Whether the delegate implements the method for the event that is being delivered.
///
/// Belongs to the call and not to the conformer, so that one class can handle failures and leave finished files to the
/// extension. Task-local, which reaches both the synchronous calls and the asynchronous challenge.
final class DelegateEvent: Sendable {
  @TaskLocal private static var inProgress: DelegateEvent?

  private let unhandled = Atomic(false)

  /// Called by the delegate protocol's default implementations.
  static func markUnhandled() { inProgress?.unhandled.store(true, ordering: .relaxed) }

  /// Returns whether `deliver` reached an implementation that isn't a default.
  static func isHandled(delivering deliver: () -> Void) -> Bool {
    let event = DelegateEvent()
    $inProgress.withValue(event, operation: deliver)
    return !event.unhandled.load(ordering: .relaxed)
  }

  /// As above, for the challenge.
  static func isAnswered(asking deliver: () async -> Void) async -> Bool {
    let event = DelegateEvent()
    await $inProgress.withValue(event, operation: deliver)
    return !event.unhandled.load(ordering: .relaxed)
  }
}
