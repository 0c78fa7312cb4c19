/// System calls under one name, for policies and for traces.
public struct SystemCallGroup: Sendable {
  /// As a policy names it; no system call has such a name.
  public let name: String
  /// What its calls do, as half a sentence.
  public let purpose: String
  /// The system calls, by their names.
  public let calls: [String]

  /// Every group that there is.
  public static let all: [SystemCallGroup] = [
    .init(
      name: "programs", purpose: "start other programs and processes", calls: ["fork", "vfork", "execve", "execveat"]),
    .init(name: "newThreads", purpose: "make threads", calls: ["clone", "clone3"]),
    .init(
      name: "sockets", purpose: "make and connect sockets",
      calls: [
        "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "setsockopt", "getsockopt",
        "getsockname", "getpeername", "shutdown", "sendmmsg", "recvmmsg",
      ]),
    .init(
      name: "debugging", purpose: "look into processes and into the kernel",
      calls: [
        "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_open", "pidfd_getfd",
        "perf_event_open", "bpf", "userfaultfd", "seccomp",
      ]),
    .init(
      name: "signalling", purpose: "send signals",
      calls: ["kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal"]),
    .init(
      name: "timers", purpose: "have signals and descriptors fire at a time",
      calls: [
        "alarm", "setitimer", "getitimer", "timer_create", "timer_settime", "timer_delete", "timerfd_create",
        "timerfd_settime", "timerfd_gettime",
      ]),
    .init(
      name: "sleeping", purpose: "wait for a time or a signal",
      calls: ["nanosleep", "clock_nanosleep", "pause", "rt_sigtimedwait", "rt_sigsuspend"]),
    .init(
      name: "fileChanges", purpose: "make, rename, remove and change files",
      calls: [
        "creat", "mkdir", "mkdirat", "rmdir", "unlink", "unlinkat", "rename", "renameat", "renameat2", "link",
        "linkat", "symlink", "symlinkat", "mknod", "mknodat", "truncate", "ftruncate", "fallocate", "chmod", "fchmod",
        "fchmodat", "chown", "fchown", "lchown", "fchownat", "utime", "utimes", "utimensat", "futimesat", "setxattr",
        "lsetxattr", "fsetxattr", "copy_file_range",
      ]),
    .init(name: "fileLocks", purpose: "lock whole files", calls: ["flock"]),
    .init(
      name: "asynchronousIO", purpose: "read and write in the background",
      calls: [
        "io_setup", "io_submit", "io_getevents", "io_cancel", "io_destroy", "io_uring_setup", "io_uring_enter",
        "io_uring_register",
      ]),
    .init(
      name: "sharedObjects", purpose: "make memory, queues and semaphores that others can reach",
      calls: [
        "memfd_create", "memfd_secret", "shmget", "shmat", "shmctl", "shmdt", "semget", "semop", "semctl", "msgget",
        "msgsnd", "msgrcv", "msgctl", "mq_open", "mq_unlink",
      ]),
    .init(
      name: "namespaces", purpose: "change what is mounted and which namespaces are in use",
      calls: [
        "unshare", "setns", "mount", "umount2", "move_mount", "open_tree", "fsopen", "fsmount", "fspick",
        "mount_setattr", "pivot_root", "chroot",
      ]),
    .init(
      name: "identity", purpose: "become another user",
      calls: [
        "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "setfsuid", "setfsgid",
        "capset",
      ]),
    .init(
      name: "priorities", purpose: "change how urgent it is, and its limits",
      calls: [
        "setpriority", "sched_setscheduler", "sched_setparam", "sched_setaffinity", "sched_setattr", "ioprio_set",
        "setrlimit", "prlimit64",
      ]),
    .init(
      name: "administration", purpose: "change the machine",
      calls: [
        "reboot", "swapon", "swapoff", "init_module", "finit_module", "delete_module", "kexec_load", "acct",
        "settimeofday", "clock_settime", "adjtimex", "sethostname", "setdomainname", "quotactl", "keyctl", "add_key",
        "request_key", "syslog",
      ]),
  ]

  /// Those of them that this machine's architecture has: looked up once, since each takes libseccomp a search.
  private static let known = Set(all.flatMap(\.calls).filter(SystemCalls.isKnown))

  /// Calls as people read them: a group by its name where all of it is there.
  ///
  /// - Parameters:
  ///   - names: System calls.
  ///   - counts: Which calls of a group have to be there for its name.
  /// - Returns: Groups with what they are for, then single calls.
  package static func summary(of names: Set<String>, counting counts: (String) -> Bool) -> [String] {
    guard !names.isEmpty else { return [] }
    var rest = names
    var shown: [String] = []
    for group in all {
      let calls = group.calls.filter { known.contains($0) && counts($0) }
      guard group.calls.count > 1, !calls.isEmpty, names.isSuperset(of: calls) else { continue }
      rest.subtract(group.calls)
      shown.append("\(group.name) (\(group.purpose))")
    }
    return shown + rest.sorted()
  }

  /// The group of that name.
  ///
  /// - Parameter name: As a policy names it.
  /// - Returns: The group; nil where there is none.
  public static func named(_ name: String) -> SystemCallGroup? { all.first { $0.name == name } }
}
