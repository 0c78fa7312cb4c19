internal import Glibc
internal import LinuxSystem

/// How far a thread of a plugin has come that the host has let go on.
enum ThreadProgress {
  /// No clone(2) of a thread takes so much of a processor: its maker is beyond it.
  private static let longestClone = Duration.milliseconds(2)

  /// What the thread has used of a processor; nil where the kernel doesn't say (/proc/PID/schedstat, CONFIG_SCHED_INFO).
  static func used(by thread: UInt32) -> Duration? {
    guard let text = try? Files.text(of: "/proc/\(thread)/schedstat", limit: 256),
      let word = text.split(separator: " ").first
    else { return nil }
    return Int64(word).map(Duration.nanoseconds)
  }

  /// Whether a thread whose clone(2) was granted when it had used so much is beyond that: it sleeps or is gone, or has run for longer
  /// than that takes. One that waits for a processor, for the disk or to be continued needn't be.
  static func isBeyondClone(_ thread: UInt32, used before: Duration?) -> Bool {
    guard let state = state(of: thread) else { return true }
    guard ["R", "D", "T", "t"].contains(state) else { return true }
    guard let before, let used = used(by: thread) else { return state == "R" }
    return used - before >= longestClone
  }

  /// A thread at one moment.
  struct Look: Equatable {
    /// It runs, waits for a processor, or is in a call of the kernel that nothing interrupts: it isn't idle, whatever others see of it.
    var isUnderWay: Bool
    /// What it has used of a processor.
    var used: Duration
  }

  /// nil where the thread is gone or the kernel doesn't say.
  static func look(at thread: UInt32) -> Look? {
    guard let state = state(of: thread), let used = used(by: thread) else { return nil }
    return Look(isUnderWay: ["R", "D"].contains(state), used: used)
  }

  private static func state(of thread: UInt32) -> Substring? {
    (try? Files.text(of: "/proc/\(thread)/stat", limit: 1024)).flatMap { ProcessStat.fields(of: $0)?.first }
  }
}
