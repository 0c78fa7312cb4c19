/// How the kernel reads one argument of a system call, which says what a rule about it may compare.
///
/// A rule that looks at bits which the kernel doesn't read would be none: a plugin could set them as it likes. So there are rules
/// only about what is in this table, and lengths, offsets and times aren't: other values come to the same pages or are cut to the
/// same bound.
package struct CallParameter: Sendable, Equatable {
  package enum Kind: Sendable, Equatable {
    /// Each value of these low bits means something else, and the kernel reads no others.
    case number(bits: Int)
    /// Each of these bits has a meaning of its own, and the kernel may ignore the others.
    case flags(UInt64)
    /// What it leads to could change between a look at it and the kernel's.
    case pointer
  }

  /// What the manual pages call it, about.
  package var name: String
  package var kind: Kind

  /// The bits that a rule may look at.
  var bits: UInt64 {
    switch kind {
    case .number(let bits): bits >= 64 ? .max : 1 << UInt64(bits) - 1
    case .flags(let bits): bits
    case .pointer: 0
    }
  }

  /// Those of a call by their places; nil: there are no rules about this call.
  package static func all(of call: String) -> [Int: CallParameter]? { table[call] }

  /// The calls that there are rules about, sorted.
  package static let calls: [String] = table.filter { $0.value.values.contains { $0.kind != .pointer } }.keys.sorted()

  /// Of a call, for people: places with names; a star: `mask` is needed.
  package static func summary(of call: String) -> String {
    (table[call] ?? [:]).filter { $0.value.kind != .pointer }.sorted { $0.key < $1.key }.map { place, parameter in
      if case .flags = parameter.kind { "\(place) \(parameter.name)*" } else { "\(place) \(parameter.name)" }
    }.joined(separator: ", ")
  }
}

extension CallParameter {
  private static func int(_ name: String) -> CallParameter { .init(name: name, kind: .number(bits: 32)) }
  private static func long(_ name: String) -> CallParameter { .init(name: name, kind: .number(bits: 64)) }
  private static func flags(_ name: String, _ bits: UInt64) -> CallParameter { .init(name: name, kind: .flags(bits)) }
  private static func pointer(_ name: String) -> CallParameter { .init(name: name, kind: .pointer) }

  private static let file = int("descriptor")
  private static let process = int("process")
  private static let signal = int("signal")
  private static let path = pointer("path")
  private static let address = pointer("address")
  /// The kernel takes 16 bits of a mode, and of those the ones with a meaning.
  private static let mode = flags("mode", 0o7777)
  /// The type's number, SOCK_NONBLOCK and SOCK_CLOEXEC.
  private static let socketType = flags("type", 0o2_004_017)

  /// All that open(2) reads but O_LARGEFILE, which the kernel sets itself, and O_ASYNC, which it does nothing with.
  private static var opening: CallParameter {
    #if arch(arm64)
      flags("flags", 0o37_757_703 & ~0o400_000)
    #else
      flags("flags", 0o37_757_703 & ~0o100_000)
    #endif
  }

  /// PROT_READ, WRITE and EXEC.
  private static let protection = flags("prot", 7)

  /// Without MAP_DENYWRITE, EXECUTABLE and STACK, which mean nothing (mmap(2)), and the sizes of huge pages.
  private static var mapping: CallParameter {
    let everywhere: UInt64 = 0x1d_e13f
    #if arch(x86_64)
      return flags("flags", everywhere | 0x40)
    #else
      return flags("flags", everywhere)
    #endif
  }

  /// clone(2) reads the low half of its register, and nothing of CLONE_DETACHED.
  private static let sharing = flags("flags", 0xffbf_ffff)

  private static let table: [String: [Int: CallParameter]] = [
    // Files.
    "open": [0: path, 1: opening], "openat": [0: file, 1: path, 2: opening], "creat": [0: path, 1: mode],
    "mkdir": [0: path, 1: flags("mode", 0o1777)], "mkdirat": [0: file, 1: path, 2: flags("mode", 0o1777)],
    "chmod": [0: path, 1: mode], "fchmod": [0: file, 1: mode], "fchmodat": [0: file, 1: path, 2: mode],
    "umask": [0: flags("mode", 0o777)], "unlinkat": [0: file, 1: path, 2: int("flags")],
    "renameat2": [0: file, 1: path, 2: file, 3: path, 4: int("flags")],
    "linkat": [0: file, 1: path, 2: file, 3: path, 4: int("flags")],
    "utimensat": [0: file, 1: path, 2: address, 3: int("flags")],
    "fcntl": [0: file, 1: int("command")], "ioctl": [0: file, 1: int("command")],
    "flock": [0: file, 1: flags("operation", 0xf)],
    "fallocate": [0: file, 1: int("mode")], "fadvise64": [0: file, 3: int("advice")],
    "sync_file_range": [0: file, 3: int("flags")],
    "copy_file_range": [0: file, 1: address, 2: file, 3: address, 5: int("flags")],
    "preadv2": [0: file, 1: address, 5: int("flags")], "pwritev2": [0: file, 1: address, 5: int("flags")],
    "ftruncate": [0: file], "fsync": [0: file], "fdatasync": [0: file], "readahead": [0: file], "dup": [0: file],
    "fchdir": [0: file], "getdents64": [0: file, 1: address], "pipe2": [0: address, 1: int("flags")],
    "close_range": [0: int("first"), 1: int("last"), 2: int("flags")],
    // Memory.
    "mmap": [0: address, 2: protection, 3: mapping],
    // PROT_GROWSDOWN and PROT_GROWSUP, too.
    "mprotect": [0: address, 2: flags("prot", 0x300_0007)],
    "madvise": [0: address, 2: int("advice")], "mremap": [0: address, 3: long("flags"), 4: address],
    "msync": [0: address, 2: int("flags")], "membarrier": [0: int("command"), 1: int("flags")],
    "memfd_create": [0: path, 1: int("flags")],
    // Threads and processes.
    "clone": [0: sharing, 1: address, 2: address], "unshare": [0: long("flags")], "setns": [0: file, 1: int("kind")],
    "prctl": [0: int("option")], "personality": [0: int("persona")],
    "prlimit64": [0: process, 1: int("resource"), 2: address, 3: address],
    "getrlimit": [0: int("resource"), 1: address],
    "getrusage": [0: int("who"), 1: address], "getpgid": [0: process], "getsid": [0: process],
    // How urgent it is to be is cut to what there is.
    "getpriority": [0: int("which"), 1: int("who")], "setpriority": [0: int("which"), 1: int("who")],
    "sched_setscheduler": [0: process, 1: int("policy"), 2: address],
    "sched_getscheduler": [0: process], "sched_getaffinity": [0: process, 2: address],
    "sched_setaffinity": [0: process, 2: address], "ioprio_set": [0: int("which"), 1: int("who"), 2: int("priority")],
    "wait4": [0: process, 1: address, 2: int("options"), 3: address],
    "waitid": [0: int("kind"), 1: process, 2: address, 3: int("options"), 4: address],
    // Signals.
    "kill": [0: process, 1: signal], "tkill": [0: int("thread"), 1: signal],
    "tgkill": [0: process, 1: int("thread"), 2: signal], "rt_sigqueueinfo": [0: process, 1: signal, 2: address],
    "pidfd_open": [0: process, 1: int("flags")],
    "pidfd_send_signal": [0: file, 1: signal, 2: address, 3: int("flags")],
    "signalfd4": [0: file, 1: address, 3: int("flags")],
    // Time.
    "timerfd_create": [0: int("clock"), 1: int("flags")],
    "timerfd_settime": [0: file, 1: int("flags"), 2: address, 3: address],
    "timerfd_gettime": [0: file, 1: address], "setitimer": [0: int("which"), 1: address, 2: address],
    "getitimer": [0: int("which"), 1: address], "timer_create": [0: int("clock"), 1: address, 2: address],
    "clock_settime": [0: int("clock"), 1: address],
    // Waiting.
    "epoll_create1": [0: int("flags")], "epoll_ctl": [0: file, 1: int("operation"), 2: file, 3: address],
    "eventfd2": [1: int("flags")],
    // Sockets.
    "socket": [0: int("family"), 1: socketType, 2: int("protocol")],
    "socketpair": [0: int("family"), 1: socketType, 2: int("protocol"), 3: address],
    "getsockopt": [0: file, 1: int("level"), 2: int("option"), 3: address, 4: address],
    "setsockopt": [0: file, 1: int("level"), 2: int("option"), 3: address],
    "connect": [0: file, 1: address], "bind": [0: file, 1: address], "listen": [0: file],
    "accept4": [0: file, 1: address, 2: address, 3: int("flags")], "shutdown": [0: file, 1: int("how")],
    // What no plugin may do, so that some of it ends the run.
    "execve": [0: path, 1: address, 2: address],
    "execveat": [0: file, 1: path, 2: address, 3: address, 4: int("flags")],
    "ptrace": [0: long("request"), 1: process, 2: address], "bpf": [0: int("command"), 1: address],
    "seccomp": [0: int("operation"), 1: int("flags"), 2: address], "keyctl": [0: int("operation")],
    "process_vm_readv": [0: process, 1: address, 3: address],
    "process_vm_writev": [0: process, 1: address, 3: address],
    "perf_event_open": [0: address, 1: process, 2: int("cpu"), 3: file, 4: long("flags")],
  ]
}
