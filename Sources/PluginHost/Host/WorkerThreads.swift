internal import Dispatch

/// Threads for what may take long: a plugin decides how many files its folder has, and a process starts when it does. Each
/// piece of work has one, so that none waits for another's; the watchdog's has deadlines to keep meanwhile.
final class WorkerThreads: Sendable {
  private let group = DispatchGroup()

  func submit(_ work: @escaping @Sendable () -> Void) {
    // A serial queue of its own gets a thread even where as many are busy as there are cores; a concurrent one doesn't.
    let queue = DispatchQueue(label: "outrider.worker")
    queue.setSpecific(key: Self.mark, value: ObjectIdentifier(self))
    queue.async(group: group, execute: work)
  }

  private static let mark = DispatchSpecificKey<ObjectIdentifier>()

  /// Whether the caller is one of them.
  var isCurrent: Bool { DispatchQueue.getSpecific(key: Self.mark) == ObjectIdentifier(self) }

  /// Until everything that was submitted before is done.
  func wait() { group.wait() }
}
