internal import Glibc

/// Wakes a thread that waits for a socket, or for nothing (pipe(7)).
final class WakePipe: Sendable {
  private let ends: (reading: Int32, writing: Int32)

  /// - Throws: `errno`.
  init() throws(Errno) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw Errno(code: errno) }
    self.ends = (ends[0], ends[1])
    for end in ends {
      _ = fcntl(end, F_SETFD, FD_CLOEXEC)
      _ = fcntl(end, F_SETFL, O_NONBLOCK)
    }
  }

  struct Errno: Error {
    let code: Int32
  }

  deinit {
    close(ends.reading)
    close(ends.writing)
  }

  /// A full pipe wakes, too.
  func wake() {
    var byte: UInt8 = 0
    _ = write(ends.writing, &byte, 1)
  }

  /// Returns when woken, when `socket` is ready, or after so many milliseconds; nil: only for the others.
  ///
  /// - Returns: Whether the socket is ready.
  func wait(for socket: Int32?, atMost milliseconds: Int32?) -> Bool {
    var polled = [
      pollfd(fd: ends.reading, events: Int16(POLLIN), revents: 0),
      pollfd(fd: socket ?? -1, events: Int16(POLLIN), revents: 0),
    ]
    guard poll(&polled, 2, milliseconds ?? -1) > 0 else { return false }
    if polled[0].revents != 0 {
      var bytes = [UInt8](repeating: 0, count: 64)
      while read(ends.reading, &bytes, bytes.count) == bytes.count {}
    }
    return polled[1].revents != 0
  }
}
