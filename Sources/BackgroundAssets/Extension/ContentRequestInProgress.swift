import Synchronization

/// Whether `downloads(for:manifestURL:extensionInfo:)` runs: the manager refuses to schedule meanwhile, on every thread.
enum ContentRequestInProgress {
  private static let running = Atomic(false)

  static var isRunning: Bool { running.load(ordering: .acquiring) }

  static func during<Result>(_ body: () -> Result) -> Result {
    running.store(true, ordering: .releasing)
    defer { running.store(false, ordering: .releasing) }
    return body()
  }
}
