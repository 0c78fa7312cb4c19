internal import CLinux

package enum Threads {
  /// Whether so many more can be started at once now, with memory left beside their stacks (RLIMIT_NPROC, RLIMIT_DATA and
  /// RLIMIT_AS of setrlimit(2), pids.max). Who can't be given one waits for it for ever: neither libdispatch nor Swift's
  /// executor says that it couldn't start any.
  package static func canStart(_ count: Int32, besides bytes: Int) -> Bool { ol_can_start_threads(count, bytes) != 0 }
}
