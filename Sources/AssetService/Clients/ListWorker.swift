internal import Dispatch
internal import Glibc
internal import LinuxSystem

/// Where long answers are made.
final class ListWorker: Sendable {
  /// For apps: on any free processor.
  static let apps = ListWorker(thread: nil)

  private let thread: EventLoop?

  private init(thread: EventLoop?) { self.thread = thread }

  /// For operators, whose lists are the longest there are and the least urgent: one thread for all of them, with less weight
  /// than everything else that runs (setpriority(2)).
  convenience init() {
    self.init(thread: try? EventLoop("outrider.lists"))
    thread?.submit { _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Self.niceness) }
  }

  deinit { thread?.shutDown() }

  private static let niceness: Int32 = 5

  func run(_ work: @escaping @Sendable () -> Void) {
    if let thread { thread.submit(work) } else { DispatchQueue.global().async(execute: work) }
  }
}
