internal import CLinux

package enum Threads {
  /// Whether so many more can be started at once now (RLIMIT_NPROC of setrlimit(2), pids.max). Who can't be given one waits
  /// for it for ever: neither libdispatch nor Swift's executor says that it couldn't start any.
  package static func canStart(_ count: Int32) -> Bool { ol_can_start_threads(count) != 0 }
}
