internal import CLinux
internal import Glibc

/// Descriptors that this process may still open (RLIMIT_NOFILE). The kernel says EMFILE to a process that opens one too many, but
/// leaves out those that come with a message without a word (unix(7)).
package enum OpenFiles {
  /// How many can be opened now, up to `count`. Where the kernel doesn't tell how many are open (proc_pid_fd(5), Linux 6.2), or some have
  /// numbers beyond the limit, it opens that many.
  package static func free(upTo count: Int) -> Int {
    guard count > 0 else { return 0 }
    if let open = (try? Files.identity(of: "/proc/self/fd"))?.size, open > 0, limit - Int(open) >= count {
      return count
    }
    var opened: [Int32] = []
    opened.reserveCapacity(count)
    defer { for number in opened { close(number) } }
    let first = open("/dev/null", ol_open_path)
    // Anything else than their number says nothing about the limit.
    guard first >= 0 else { return errno == EMFILE ? 0 : count }
    opened.append(first)
    while opened.count < count {
      let number = fcntl(first, F_DUPFD_CLOEXEC, 0)
      guard number >= 0 else { break }
      opened.append(number)
    }
    return opened.count
  }

  /// The most that this process may have open at once.
  package static var limit: Int {
    var limits = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limits)
    return Int(clamping: limits.rlim_cur)
  }

  /// Whether a process has as many open as `limit`. Its lowest free number is the next that it gets, so that mostly one look at the last
  /// number tells. Others count: Linux 6.2 and later in one look (proc_pid_fd(5)), earlier ones up to 4096.
  package static func areAll(of process: UInt32, limit: Int) -> Bool {
    let folder = "/proc/\(process)/fd"
    guard Files.link("\(folder)/\(limit - 1)") != nil else { return false }
    if let count = (try? Files.identity(of: folder))?.size, count > 0 { return count >= limit }
    guard limit <= 4096 else { return false }
    return ((try? Files.names(in: folder, atMost: limit)) ?? []).count >= limit
  }

  /// Whether an errno value says that there are too many, here or on the whole machine.
  package static func isExhausted(_ code: Int32) -> Bool { code == EMFILE || code == ENFILE }

  /// Opens /dev/null where standard input, output or error is closed, so that nothing else gets their numbers: a result would
  /// go into whatever has them. It is opened the wrong way round, and reading or writing there fails (EBADF), as if
  /// it were closed.
  package static func fillStandardDescriptors() {
    for number in 0...2 as ClosedRange<Int32> where fcntl(number, F_GETFD) < 0 && errno == EBADF {
      // The lowest number that is free, and those below are taken.
      let opened = open("/dev/null", number == 0 ? O_WRONLY : O_RDONLY)
      if opened > number { close(opened) }
    }
  }
}
