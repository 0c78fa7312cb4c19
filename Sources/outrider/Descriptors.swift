internal import Glibc
internal import LinuxSystem

/// Room for what a command opens: a journal with its log, sockets, files, and pipes to wake threads.
enum Descriptors {
  /// Whether so many more can be opened now, by the hard limit where the soft one is too low (RLIMIT_NOFILE). Who can't
  /// open a pipe or a poll of its own waits for ever: libdispatch doesn't say so.
  static func canOpen(_ count: Int) -> Bool { hasRoom(count) || raiseLimit() && hasRoom(count) }

  private static func hasRoom(_ count: Int) -> Bool { OpenFiles.free(upTo: count) == count }

  private static func raiseLimit() -> Bool {
    let before = OpenFiles.limit
    Files.raise(Int32(RLIMIT_NOFILE.rawValue))
    return OpenFiles.limit > before
  }
}
