internal import AssetModel
internal import ServiceMachines

/// Operators that wait for what becomes of a simulated event.
final class SimulationWaiters {
  typealias Continuation = CheckedContinuation<AppLifecycle.GateReason?, Never>

  private var waiting: [String: [ContentRequestKind: [Continuation]]] = [:]

  func add(_ app: String, _ kind: ContentRequestKind, _ continuation: Continuation) {
    waiting[app, default: [:]][kind, default: []].append(continuation)
  }

  func end(_ app: String, _ kind: ContentRequestKind, _ reason: AppLifecycle.GateReason) {
    for continuation in waiting[app]?.removeValue(forKey: kind) ?? [] { continuation.resume(returning: reason) }
  }

  /// The app is gone.
  func end(_ app: String) {
    for (kind, _) in waiting[app] ?? [:] { end(app, kind, .removing) }
    waiting[app] = nil
  }

  /// The service ends.
  func endAll() {
    for continuation in waiting.values.flatMap({ $0.values.flatMap(\.self) }) { continuation.resume(returning: nil) }
    waiting = [:]
  }
}
