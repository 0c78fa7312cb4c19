internal import Synchronization

/// What is done later on the service's thread, for its parts: they can't leave it, and so can't be in a task themselves.
final class ServiceThread: Sendable {
  typealias Work = @Sendable (isolated AssetService) async -> Void

  private struct Reference { weak var service: AssetService? }

  private let reference = Mutex(Reference())

  func belongs(to service: AssetService) { reference.withLock { $0.service = service } }

  /// The service, as long as there is one.
  var service: AssetService? { reference.withLock { $0.service } }

  /// Called on the thread. What is being done at this moment ends first.
  func later(_ work: @escaping Work) {
    service?.assumeIsolated { $0.later(work) }
  }
}
