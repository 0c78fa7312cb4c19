internal import CSeccomp
internal import Glibc

/// The allow-list, and the errno with which everything else is answered.
///
/// What a library expects decides the errno: ENOSYS for calls that it probes, EACCES for files and code, EPERM for
/// privileges, EAFNOSUPPORT for sockets.
package enum SystemCalls {
  static let allowed: [String] = [
    // Files by descriptor.
    "read", "write", "readv", "writev", "pread64", "pwrite64", "preadv", "pwritev", "preadv2", "pwritev2", "close",
    "lseek", "fstat", "getdents", "getdents64", "ftruncate", "fsync", "fdatasync",
    "fadvise64",
    "sync_file_range", "copy_file_range", "readahead", "dup", "dup2", "dup3", "fstatfs",
    "fgetxattr", "flistxattr", "umask", "fchdir",
    // Memory. mmap and mprotect are decided by argument.
    "munmap", "mremap", "brk", "madvise", "msync", "mincore", "membarrier",
    // Threads. clone is decided by argument.
    "set_robust_list", "get_robust_list", "set_tid_address", "rseq", "futex", "exit", "exit_group", "gettid", "getpid",
    "getppid", "sched_yield", "sched_getaffinity", "sched_getparam", "sched_getscheduler",
    "sched_get_priority_max", "sched_get_priority_min", "sched_rr_get_interval", "getpriority", "getcpu",
    // Signals.
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigpending", "rt_sigtimedwait", "rt_sigsuspend",
    "sigaltstack", "signalfd", "signalfd4", "pause", "restart_syscall",
    // Time. No timer_create(2): its signal may be SIGCONT, which lets go on what the host has stopped.
    "nanosleep", "clock_nanosleep", "clock_gettime", "clock_getres", "gettimeofday", "time", "times", "alarm",
    "getitimer", "setitimer", "timerfd_create", "timerfd_settime", "timerfd_gettime",
    // Waiting. Where there are no children to wait for, the caller is told so.
    "wait4", "waitid",
    "poll", "ppoll", "select", "pselect6", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait",
    "epoll_pwait2", "eventfd", "eventfd2", "pipe", "pipe2",
    // The channels to the host, and nothing else: no socket can be made or connected. getsockopt is decided by argument.
    "sendto", "recvfrom", "sendmsg", "recvmsg", "getsockname", "getpeername", "shutdown",
    // Who and where am I.
    "getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid", "getgroups", "getpgrp", "getpgid", "getsid",
    "uname", "sysinfo", "getrusage", "getrlimit", "getrandom", "getcwd",
  ]

  /// Each leaves pages of a file in a pipe or a socket, 2 MiB for one byte where the file's cache is made of such, and no
  /// counter of a process or a cgroup shows them, nor does the file's removal free them. Who copies with these goes on with
  /// read(2) and write(2) where the kernel doesn't have them (sendfile(2)), so the filter itself says so.
  package static let pinning: [String] = ["sendfile", "splice", "tee"]

  /// Calls that name a file. Which file is the mount namespace's and Landlock's affair; they are notified when paths are
  /// observed.
  static let paths: [String] = [
    "open", "openat", "creat", "stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2",
    "readlink", "readlinkat", "statfs", "chdir", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename",
    "renameat",
    "renameat2", "link", "linkat", "symlink", "symlinkat", "truncate", "getxattr", "lgetxattr", "listxattr",
    "llistxattr", "utime", "utimes", "utimensat", "futimesat",
  ]

  /// Let through for the plugin's own files, without the bits that give another user's rights.
  package static let modes: Set<String> = ["chmod", "fchmod", "fchmodat"]

  /// Those of them that change when a file seems to have been used, which Landlock lets them for any file of the user's.
  package static let times: Set<String> = ["utime", "utimes", "utimensat", "futimesat"]

  /// open(2) that empties a file and asks for no right to write: O_TRUNC with O_RDONLY, or with the access mode 3, which asks for
  /// none. Landlock before its third version looks at the access mode alone.
  package static let truncatingOpens: Set<CallRule> = Set(
    [("open", 1), ("openat", 2)].compactMap { call, argument in
      try? CallRule(.deny, call, argument: argument, mask: 0o1003, equals: [0o1000, 0o1003])
    })

  /// Which argument is the mode of the file that a call may make; openat2(2) hides it in memory and is denied.
  package static func modeArgument(of name: String) -> UInt32? {
    switch name {
    case "open": 2
    case "openat": 3
    case "creat": 1
    default: nil
    }
  }

  /// What asks about a file and doesn't open it. Landlock doesn't restrict these (landlock(7)): what is there is found.
  package static let looks: Set<String> = [
    "stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "statfs",
    "chdir", "getxattr", "lgetxattr", "listxattr", "llistxattr",
  ]

  /// What asks where a link leads: the link, and not what it leads to.
  package static let linkReaders: Set<String> = ["readlink", "readlinkat"]

  /// Whether such a call makes a file: without O_CREAT and O_TMPFILE its mode is whatever the register held.
  package static func makesFile(_ name: String, flags: UInt64) -> Bool { name == "creat" || flags & 0o20_000_100 != 0 }

  /// What these name needn't be there: they make it, or take it away, in the folder that it lies in.
  private static let folderWriters: Set<String> = [
    "creat", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link", "linkat",
    "symlink", "symlinkat",
  ]

  /// What gives a file another name.
  package static let moves: Set<String> = ["rename", "renameat", "renameat2"]

  /// What takes a name away.
  package static let removes: Set<String> = ["unlink", "unlinkat", "rmdir"]

  /// Whether such a call changes the folder that a path lies in. `flags`: of an open(2).
  package static func changesFolder(_ name: String, flags: UInt64?) -> Bool {
    folderWriters.contains(name) || flags.map { makesFile(name, flags: $0) } ?? false
  }

  /// Whether an open(2) or creat(2) wants to write to the file. O_WRONLY, O_RDWR, O_TRUNC.
  package static func changesContent(_ name: String, flags: UInt64) -> Bool { name == "creat" || flags & 0o1003 != 0 }

  /// Whether such a call writes.
  package static func writes(_ name: String, flags: UInt64?) -> Bool {
    changesFolder(name, flags: flags) || name == "truncate" || times.contains(name) || modes.contains(name)
      || flags.map { changesContent(name, flags: $0) } ?? false
  }

  /// What such a call asks about a file (access(2)): R_OK, W_OK and X_OK; nil for another call.
  package static func accessMode(of name: String, _ arguments: [UInt64]) -> UInt64? {
    switch name {
    case "access": arguments[1] & 7
    case "faccessat", "faccessat2": arguments[2] & 7
    default: nil
    }
  }

  /// W_OK and X_OK.
  package static let (writing, executable): (UInt64, UInt64) = (2, 1)

  /// O_RDWR of an open(2).
  package static func readsAndWrites(flags: UInt64) -> Bool { flags & 0o3 == 0o2 }

  /// A path among a call's arguments, and the descriptor of the folder from which a relative one leads; nil: the current one. Without
  /// a path it is the file that the descriptor has open.
  package struct PathArgument: Sendable, Equatable {
    package var folder: Int?
    package var path: Int?

    package init(folder: Int? = nil, path: Int? = nil) { (self.folder, self.path) = (folder, path) }
  }

  /// Whether a call means the file that its descriptor has open where it names no path: NULL, or "" with AT_EMPTY_PATH (utimensat(2)).
  package static func meansDescriptor(_ name: String, _ arguments: [UInt64]) -> Bool {
    switch name {
    case "fchmod": true
    case "futimesat": arguments[1] == 0
    case "utimensat": arguments[1] == 0 || arguments[3] & 0x1000 != 0
    default: false
    }
  }

  /// The paths that a call names, in the order of its arguments; none for calls of other kinds.
  package static func pathArguments(of name: String) -> [PathArgument] {
    guard paths.contains(name) || modes.contains(name) else { return [] }
    return switch name {
    case "fchmod": [PathArgument(folder: 0)]
    case "rename", "link": [PathArgument(path: 0), PathArgument(path: 1)]
    case "renameat", "renameat2", "linkat": [PathArgument(folder: 0, path: 1), PathArgument(folder: 2, path: 3)]
    // What a symbolic link says is a text, which isn't followed yet.
    case "symlink": [PathArgument(path: 1)]
    case "symlinkat": [PathArgument(folder: 1, path: 2)]
    case "openat", "newfstatat", "statx", "faccessat", "faccessat2", "readlinkat", "mkdirat", "unlinkat", "utimensat",
      "futimesat", "fchmodat":
      [PathArgument(folder: 0, path: 1)]
    default: [PathArgument(path: 0)]
    }
  }

  /// Whether a call goes through a symbolic link that is the last part of what it names (path_resolution(7), open(2)).
  package static func followsLast(_ name: String, _ arguments: [UInt64]) -> Bool {
    func has(_ flag: UInt64, _ index: Int) -> Bool { arguments.indices.contains(index) && arguments[index] & flag != 0 }
    return switch name {
    case "lstat", "readlink", "readlinkat", "lgetxattr", "llistxattr", "mkdir", "mkdirat", "rmdir", "unlink",
      "unlinkat",
      "rename", "renameat", "renameat2", "link", "symlink", "symlinkat":
      false
    // AT_SYMLINK_FOLLOW, and AT_SYMLINK_NOFOLLOW below.
    case "linkat": has(0x400, 4)
    case "newfstatat", "utimensat", "faccessat2": !has(0x100, 3)
    case "statx": !has(0x100, 2)
    case "open": !has(noFollow, 1) && !(has(0o100, 1) && has(0o200, 1))
    case "openat": !has(noFollow, 2) && !(has(0o100, 2) && has(0o200, 2))
    default: true
    }
  }

  /// O_NOFOLLOW.
  private static let noFollow: UInt64 = 0o400_000

  /// Calls that need a descriptor of their own for a path.
  package static let opening: Set<String> = ["open", "openat", "openat2", "creat"]

  /// Whether an open(2) only holds a place (O_PATH): Landlock isn't asked then.
  package static func holdsPlace(flags: UInt64) -> Bool { flags & 0o10_000_000 != 0 }

  /// Whether the filter lets a call through whatever its arguments are: it is never denied.
  package static func isFree(_ name: String) -> Bool { freeCalls.contains(name) }

  /// Asked for each traced call.
  private static let freeCalls = Set(allowed).union(paths)

  /// As a report has a call that would have made a file longer than the limit allows, whichever it was.
  package static let lengthening = "write"

  /// Whether the filter itself says that the kernel has no such call.
  package static func isAnsweredByFilter(_ name: String) -> Bool { pinning.contains(name) || name == "clone3" }

  /// Let through, or granted by the host, where their arguments are what they may be.
  private static let decidedByArguments: Set<String> = [
    "mmap", "mprotect", "clone", "fcntl", "fallocate", "epoll_ctl", "kill", "tkill", "tgkill", "getsockopt",
    "close_range", "ioctl", "prctl", "prlimit64", "setpriority", "personality", "chmod", "fchmod", "fchmodat",
  ]

  /// Let through where a policy lists hosts, and nowhere else.
  package static let connecting = ["socket", "connect"]

  /// What a socket may be there: TCP, of both versions.
  static let (streamFamilies, streamProtocols): ([UInt64], [UInt64]) = ([2, 10], [0, 6])
  /// All but SOCK_NONBLOCK and SOCK_CLOEXEC.
  static let streamKindMask: UInt64 = 0xffff_ffff & ~0o2004000

  /// Whether socket(2) with these arguments makes one.
  package static func makesStream(_ arguments: [UInt64]) -> Bool {
    let words = arguments.map { $0 & 0xffff_ffff }
    return streamFamilies.contains(words[0]) && words[1] & streamKindMask == 1 && streamProtocols.contains(words[2])
  }

  /// Let through where a policy allows processes, and nowhere else.
  static let starting = ["fork", "vfork", "execve"]

  /// Calls that the filter lets through for a policy's `network` or `processes`.
  package static func granted(connects: Bool, makesProcesses: Bool, startsPrograms: Bool) -> Set<String> {
    Set(connects ? connecting : []).union(makesProcesses ? ["clone", "fork", "vfork"] : [])
      .union(startsPrograms ? ["execve"] : [])
  }

  /// Whether a plugin may make such a call at all, where its policy doesn't refuse it.
  package static func isEverAllowed(_ name: String) -> Bool { isFree(name) || decidedByArguments.contains(name) }

  /// The flags of clone(2) that make a process as fork(3) and posix_spawn(3) do, but for `processNumbers`: in every namespace of its
  /// parent's, and one that says SIGCHLD when it ends, since another signal might let go on what the host has stopped. What it shares
  /// with its parent is nothing, or its memory while the parent waits for it (CLONE_VM, CLONE_VFORK).
  static let processFlags: [UInt64] = [0x11, 0x4011, 0x4111]
  /// CLONE_PARENT_SETTID, CHILD_CLEARTID and CHILD_SETTID tell numbers.
  static let processNumbers: UInt64 = 0x0130_0000

  /// Whether clone(2) with these flags makes a process, and nothing beside that.
  package static func startsProcess(_ flags: UInt64) -> Bool { processFlags.contains(flags & ~processNumbers) }

  /// The same of a call as a report shows it, with its arguments as text.
  package static func startsProcess(_ name: String, shown arguments: String) -> Bool {
    switch name {
    case "fork", "vfork": true
    case "clone": SystemCallText.values(in: arguments).first.map(startsProcess) ?? false
    default: false
    }
  }

  /// Without these no runner loads a library, answers a call or ends: a policy can't refuse them. Which files they reach is
  /// decided by `files`.
  package static let indispensable: Set<String> = [
    "read", "write", "readv", "writev", "pread64", "close", "fstat", "lseek", "open", "openat", "stat", "lstat",
    "newfstatat", "statx", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "getcwd", "dup", "dup2",
    "dup3", "fcntl", "mmap", "munmap", "mprotect", "mremap", "brk", "madvise", "futex", "exit", "exit_group", "gettid",
    "getpid", "getppid", "set_robust_list", "set_tid_address", "rseq", "sched_yield", "membarrier", "getrandom",
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall", "clock_gettime",
    "gettimeofday", "sendmsg", "recvmsg", "sendto", "recvfrom", "poll", "ppoll", "prctl", "ioctl",
  ]

  private static let executing: Set<String> = ["execve", "execveat", "mmap", "mprotect", "pkey_mprotect", "uselib"]
  private static let sockets: Set<String> = ["socket", "socketpair"]
  /// Probed by libraries, which fall back when the kernel doesn't have them.
  private static let probed: Set<String> = [
    "io_uring_setup", "io_uring_enter", "io_uring_register", "clone3", "futex_waitv", "set_mempolicy_home_node",
    "map_shadow_stack", "cachestat", "arch_prctl", "get_mempolicy", "landlock_create_ruleset", "landlock_add_rule",
    "landlock_restrict_self", "openat2",
  ]

  /// The errno of a denied call.
  package static func denial(of name: String?) -> Int32 {
    guard let name else { return ENOSYS }
    if executing.contains(name) { return EACCES }
    if sockets.contains(name) { return EAFNOSUPPORT }
    if name == "getsockopt" { return ENOPROTOOPT }
    if name == "fallocate" { return EOPNOTSUPP }
    if probed.contains(name) || pinning.contains(name) { return ENOSYS }
    return EPERM
  }

  /// The name of a native system call, or nil where libseccomp doesn't know the number.
  package static func name(of number: Int32) -> String? {
    guard let name = seccomp_syscall_resolve_num_arch(seccomp_arch_native(), number) else { return nil }
    defer { free(name) }
    return String(cString: name)
  }

  static func number(of name: String) -> Int32? {
    let number = seccomp_syscall_resolve_name(name)
    return number >= 0 ? number : nil
  }

  /// Whether a policy may name this call.
  package static func isKnown(_ name: String) -> Bool { number(of: name) != nil }
}
