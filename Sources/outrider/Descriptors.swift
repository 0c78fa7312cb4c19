internal import Foundation
internal import Glibc

/// Room for what a command opens: a journal with its log, sockets, files, and pipes to wake threads.
enum Descriptors {
  /// Whether so many more can be opened now, by the hard limit where the soft one is too low (RLIMIT_NOFILE). Who can't
  /// open a pipe or a poll of its own waits for ever: libdispatch doesn't say so.
  static func canOpen(_ count: Int) -> Bool { hasRoom(count) || raiseLimit() && hasRoom(count) }

  private static func hasRoom(_ count: Int) -> Bool {
    var opened: [Int32] = []
    defer { for number in opened { close(number) } }
    while opened.count < count {
      let number = open("/dev/null", O_RDONLY | O_CLOEXEC)
      // Anything else than their number says nothing about the limit.
      guard number >= 0 else { return errno != EMFILE }
      opened.append(number)
    }
    return true
  }

  private static func raiseLimit() -> Bool {
    var limits = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0, limits.rlim_cur < limits.rlim_max
    else { return false }
    limits.rlim_cur = limits.rlim_max
    return setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits) == 0
  }
}
