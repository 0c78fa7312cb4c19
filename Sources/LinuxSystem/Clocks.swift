internal import CLinux
internal import Glibc

/// Time since boot, suspended time included: what limits are measured on (CLOCK_BOOTTIME, clock_gettime(2)).
package enum BootClock {
  package static var now: Duration { .nanoseconds(Int64(ol_boottime())) }
  /// How long the machine has slept since boot.
  package static var slept: Duration { .nanoseconds(Int64(clamping: ol_slept())) }
}

/// What the calling thread has used of a processor (CLOCK_THREAD_CPUTIME_ID, clock_gettime(2)). Each look is a system call.
package enum ThreadClock {
  package static var now: Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }
}

/// The time of day (CLOCK_REALTIME), and whether the kernel believes it.
package enum WallClock {
  package static var isSynchronised: Bool { ol_clock_is_synchronised() != 0 }

  /// Nanoseconds since 1970.
  package static func now() -> Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// `20261121T085500Z`: sorts by time and is safe in a file name.
  package static func stamp(_ nanoseconds: Int64) -> String { text(nanoseconds, "", "") }

  /// `2026-11-21T08:55:00Z` (ISO 8601): for messages.
  package static func text(_ nanoseconds: Int64) -> String { text(nanoseconds, "-", ":") }

  private static func text(_ nanoseconds: Int64, _ dash: String, _ colon: String) -> String {
    var seconds = time_t(nanoseconds / 1_000_000_000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    func padded(_ number: Int32, _ width: Int) -> String {
      let digits = String(number)
      return String(repeating: "0", count: max(0, width - digits.count)) + digits
    }
    let date = [padded(parts.tm_year + 1900, 4), padded(parts.tm_mon + 1, 2), padded(parts.tm_mday, 2)]
    let time = [padded(parts.tm_hour, 2), padded(parts.tm_min, 2), padded(parts.tm_sec, 2)]
    return date.joined(separator: dash) + "T" + time.joined(separator: colon) + "Z"
  }
}

extension Duration {
  /// Whole nanoseconds, saturating.
  package var inNanoseconds: Int64 {
    // A division of 128 bits takes as long as a look at the clock.
    if let short = Int64(exactly: attoseconds) { return short / 1_000_000_000 }
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return overflow
      ? (seconds < 0 ? .min : .max) : product.addingReportingOverflow(attoseconds / 1_000_000_000).partialValue
  }

  package var inSeconds: Double { Double(inNanoseconds) / 1e9 }
}
