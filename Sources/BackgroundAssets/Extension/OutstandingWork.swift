import CExtension
import Dispatch
import Synchronization

/// What an entry point's function has begun and left: jobs of tasks that are ready to run or do, requests for exclusive
/// control, handlers that wait for their turn, and whatever is on the main queue.
///
/// The run may end as soon as the entry point has returned, so it returns when all of that has come to rest. Whatever a piece
/// of it begins is counted before that piece ends, so none is left when the count is zero.
enum OutstandingWork {
  private static let count = Atomic(0)
  private static let isAwaited = Atomic(false)

  static func begin() { count.add(1, ordering: .sequentiallyConsistent) }

  static func end() {
    let left = count.subtract(1, ordering: .sequentiallyConsistent).newValue
    // Wakes the run loop below.
    if left == 0, isAwaited.load(ordering: .sequentiallyConsistent) { DispatchQueue.main.async {} }
  }

  /// Serves the main queue until nothing is left, since no other thread does. Work that never ends is ended by the wall clock of the
  /// call.
  ///
  /// On the first thread only: elsewhere the caller may itself be a job that is counted.
  static func waitForAll() {
    guard ba_is_first_thread() != 0, isAtWork else { return }
    isAwaited.store(true, ordering: .sequentiallyConsistent)
    defer { isAwaited.store(false, ordering: .sequentiallyConsistent) }
    while isAtWork { _ = RunLoop.main.run(mode: .default, before: .distantFuture) }
  }

  /// In this order: what is counted may put something on the main queue before it ends.
  private static var isAtWork: Bool {
    count.load(ordering: .sequentiallyConsistent) > 0 || ba_main_queue_waits() != 0
  }
}
