internal import CSeccomp

/// The names that people have for values of system calls' arguments, as this machine's headers define them.
package struct CallConstants: Sendable {
  /// In the order of the headers.
  package let names: [String]
  private let values: [String: UInt64]

  private init(names: [String], values: [String: UInt64]) { (self.names, self.values) = (names, values) }

  private init(_ set: ol_constant_set) {
    var (names, values): ([String], [String: UInt64]) = ([], [:])
    var index = 0
    while let constant = ol_constant_at(index)?.pointee {
      index += 1
      guard constant.set == set, let text = constant.name else { continue }
      let name = String(cString: text)
      names.append(name)
      values[name] = constant.value
    }
    (self.names, self.values) = (names, values)
  }

  private func within(_ bits: UInt64) -> CallConstants {
    CallConstants(names: names.filter { (values[$0] ?? 0) & ~bits == 0 }, values: values)
  }

  /// What a text such as `O_CREAT|O_EXCL` comes to; nil: a part of it isn't one of these names.
  package func value(of text: String) -> UInt64? {
    var value: UInt64 = 0
    for part in text.split(separator: "|", omittingEmptySubsequences: false) {
      let name = part.trimmingSpaces
      guard names.contains(name), let number = values[name] else { return nil }
      value |= number
    }
    return value
  }

  /// Of a call's argument, what the kernel reads of it; nil: its values have no names.
  package static func all(of call: String, _ argument: Int) -> CallConstants? {
    guard let parameter = CallParameter.all(of: call)?[argument] else { return nil }
    return sets[call]?[argument].flatMap { known[$0.rawValue] }?.within(parameter.bits)
  }

  private static let known: [UInt32: CallConstants] = Dictionary(
    uniqueKeysWithValues: Set(sets.values.flatMap(\.values).map(\.rawValue)).map {
      ($0, CallConstants(ol_constant_set($0)))
    })

  private static let sets: [String: [Int: ol_constant_set]] = [
    "open": [1: ol_constants_open], "openat": [2: ol_constants_open], "pipe2": [1: ol_constants_open],
    "creat": [1: ol_constants_mode], "mkdir": [1: ol_constants_mode], "mkdirat": [2: ol_constants_mode],
    "chmod": [1: ol_constants_mode], "fchmod": [1: ol_constants_mode], "fchmodat": [2: ol_constants_mode],
    "umask": [0: ol_constants_mode], "unlinkat": [2: ol_constants_at], "linkat": [4: ol_constants_at],
    "utimensat": [3: ol_constants_at], "execveat": [4: ol_constants_at], "renameat2": [4: ol_constants_rename],
    "fcntl": [1: ol_constants_fcntl], "ioctl": [1: ol_constants_ioctl], "flock": [1: ol_constants_lock],
    "fallocate": [1: ol_constants_fallocate], "close_range": [2: ol_constants_close_range],
    "mmap": [2: ol_constants_protection, 3: ol_constants_map], "mprotect": [2: ol_constants_protection],
    "madvise": [2: ol_constants_advice], "mremap": [3: ol_constants_remap], "msync": [2: ol_constants_sync],
    "memfd_create": [1: ol_constants_memfd], "membarrier": [0: ol_constants_membarrier],
    "clone": [0: ol_constants_clone], "unshare": [0: ol_constants_clone], "setns": [1: ol_constants_clone],
    "prctl": [0: ol_constants_prctl], "personality": [0: ol_constants_personality],
    "prlimit64": [1: ol_constants_limit], "getrlimit": [0: ol_constants_limit], "getpriority": [0: ol_constants_who],
    "setpriority": [0: ol_constants_who], "sched_setscheduler": [1: ol_constants_scheduler],
    "wait4": [2: ol_constants_wait], "waitid": [3: ol_constants_wait], "kill": [1: ol_constants_signal],
    "tkill": [1: ol_constants_signal], "tgkill": [2: ol_constants_signal], "rt_sigqueueinfo": [1: ol_constants_signal],
    "pidfd_send_signal": [1: ol_constants_signal], "clock_settime": [0: ol_constants_clock],
    "timer_create": [0: ol_constants_clock], "timerfd_create": [0: ol_constants_clock, 1: ol_constants_timerfd],
    "timerfd_settime": [1: ol_constants_timerfd], "setitimer": [0: ol_constants_timer],
    "getitimer": [0: ol_constants_timer], "epoll_ctl": [1: ol_constants_epoll], "eventfd2": [1: ol_constants_eventfd],
    "socket": [0: ol_constants_family, 1: ol_constants_socket_type, 2: ol_constants_protocol],
    "socketpair": [0: ol_constants_family, 1: ol_constants_socket_type, 2: ol_constants_protocol],
    "accept4": [3: ol_constants_socket_type], "getsockopt": [1: ol_constants_level, 2: ol_constants_socket_option],
    "setsockopt": [1: ol_constants_level, 2: ol_constants_socket_option], "shutdown": [1: ol_constants_shutdown],
    "ptrace": [0: ol_constants_ptrace],
  ]
}

extension Substring {
  fileprivate var trimmingSpaces: String {
    String(drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
  }
}
