internal import CLinux

/// For how long the kernel lets a runner compute before it is another one's turn (sched_setattr(2), `sched_runtime`, Linux 6.12).
///
/// A thread with a short slice runs sooner: a runner that wakes for a call doesn't wait until a computing process has used up
/// milliseconds. That is for calls that are answered at once. What takes longer, and everything that a plugin does outside of calls, has
/// the usual time, so that no plugin computes in short turns for long.
struct RunnerSlice {
  /// The shortest that there is.
  private static let short: UInt64 = 100_000

  private var isShort = false

  /// `process`: as pidfd_open(2) for `pid`.
  mutating func shorten(of pid: Int32, process: Int32) {
    guard !isShort else { return }
    isShort = true
    set(Self.short, of: pid, process: process)
  }

  mutating func restore(of pid: Int32, process: Int32) {
    guard isShort else { return }
    isShort = false
    set(0, of: pid, process: process)
  }

  /// Where the kernel doesn't know it, or doesn't let this host do it, calls are answered all the same.
  private func set(_ nanoseconds: UInt64, of pid: Int32, process: Int32) {
    guard pid > 0, ol_pidfd_signal(process, 0) == 0 else { return }
    _ = ol_set_slice(pid, nanoseconds)
  }
}
