internal import Basics
internal import Glibc

/// A system call as people read it: its arguments by their names where they have some.
package enum SystemCallText {
  /// How many arguments a call has that are worth showing; others are shown without any.
  private static let counts: [String: Int] = [
    "kill": 2, "tkill": 2, "tgkill": 3, "socketpair": 3, "connect": 1, "bind": 1, "listen": 2, "accept": 1,
    "accept4": 1, "ptrace": 2, "process_vm_readv": 1, "process_vm_writev": 1, "pidfd_open": 1, "fcntl": 3,
    "flock": 2, "fallocate": 4, "epoll_ctl": 3, "getsockopt": 3, "setsockopt": 3, "prlimit64": 2, "setpriority": 3,
    "setuid": 1, "setgid": 1, "unshare": 1, "setns": 2, "personality": 1, "fork": 0, "vfork": 0, "getpgid": 1,
    "alarm": 1, "timerfd_create": 2, "timerfd_settime": 2, "setitimer": 1, "getitimer": 1, "ftruncate": 2,
    "fchmod": 2, "umask": 1, "nanosleep": 0, "pause": 0, "close_range": 3, "pkey_mprotect": 4,
    "sched_setaffinity": 1, "sched_setscheduler": 2, "memfd_create": 0, "shmget": 3, "bpf": 1, "getpid": 0,
    "copy_file_range": 5, "epoll_create1": 1, "epoll_wait": 1, "eventfd2": 2, "pipe2": 0,
  ]

  private static let openFlags: [(UInt64, String)] = [
    (0o100, "O_CREAT"), (0o200, "O_EXCL"), (0o400, "O_NOCTTY"), (0o1000, "O_TRUNC"), (0o2000, "O_APPEND"),
    (0o4000, "O_NONBLOCK"), (0o200000, "O_DIRECTORY"), (0o400000, "O_NOFOLLOW"), (0o2000000, "O_CLOEXEC"),
    (0o10000000, "O_PATH"),
  ]
  private static let protections: [(UInt64, String)] = [(1, "PROT_READ"), (2, "PROT_WRITE"), (4, "PROT_EXEC")]
  private static let mapFlags: [(UInt64, String)] = [
    (1, "MAP_SHARED"), (2, "MAP_PRIVATE"), (0x10, "MAP_FIXED"), (0x20, "MAP_ANONYMOUS"), (0x800, "MAP_DENYWRITE"),
    (0x2000, "MAP_LOCKED"), (0x20000, "MAP_STACK"), (0x40000, "MAP_HUGETLB"),
  ]
  private static let families: [UInt64: String] = [
    1: "AF_UNIX", 2: "AF_INET", 10: "AF_INET6", 16: "AF_NETLINK", 17: "AF_PACKET", 38: "AF_ALG", 40: "AF_VSOCK",
  ]
  private static let kinds: [UInt64: String] = [1: "SOCK_STREAM", 2: "SOCK_DGRAM", 3: "SOCK_RAW", 5: "SOCK_SEQPACKET"]
  private static let errors: [Int32: String] = [
    EPERM: "EPERM", EAGAIN: "EAGAIN", ENOMEM: "ENOMEM", EACCES: "EACCES", EFBIG: "EFBIG", ENOSPC: "ENOSPC",
    ENOLCK: "ENOLCK", ENOSYS: "ENOSYS", ENOPROTOOPT: "ENOPROTOOPT", EOPNOTSUPP: "EOPNOTSUPP",
    EAFNOSUPPORT: "EAFNOSUPPORT",
  ]

  /// The name of an errno value that the host answers with.
  package static func error(_ code: Int32) -> String { errors[code] ?? "errno \(code)" }

  /// The values of a denied call as a report shows them: `0x1, 0x80801, 0x0`.
  package static func values(in text: String) -> [UInt64] {
    text.split(separator: ",").compactMap { UInt64($0.drop { $0 == " " }.dropFirst(2), radix: 16) }
  }

  /// Each argument as text. `paths`: what path arguments say, by their place; nil: it couldn't be read.
  package static func arguments(of name: String, _ values: [UInt64], paths: [Int: String?]) -> [String] {
    guard paths.isEmpty else { return named(name, values, paths) }
    switch name {
    case "socket":
      return [
        families[values[0]] ?? hexadecimal(values[0]), kind(values[1]), "\(Int32(truncatingIfNeeded: values[2]))",
      ]
    case "mmap":
      return [
        "\(values[1])", flags(values[2], protections, none: "PROT_NONE"), flags(values[3], mapFlags, none: "0"),
        descriptor(values[4]),
      ]
    case "mprotect": return [hexadecimal(values[0]), "\(values[1])", flags(values[2], protections, none: "PROT_NONE")]
    case "clone", "ioctl", "prctl": return values.prefix(name == "clone" ? 1 : 2).map(hexadecimal)
    default: return values.prefix(counts[name] ?? 0).map(number)
    }
  }

  /// Those of a call that names files: up to the last path, and what is to be done with it.
  private static func named(_ name: String, _ values: [UInt64], _ paths: [Int: String?]) -> [String] {
    var shown: [String] = []
    for index in 0...(paths.keys.max() ?? 0) {
      if let path = paths[index] {
        shown.append(path.map(quoted) ?? "unreadable")
      } else {
        shown.append(descriptor(values[index]))
      }
    }
    guard let mode = SystemCalls.modeArgument(of: name).map(Int.init) else { return shown }
    if name != "creat" { shown.append(opening(values[mode - 1])) }
    if SystemCalls.makesFile(name, flags: name == "creat" ? 0 : values[mode - 1]) {
      shown.append("0" + String(values[mode] & 0o7777, radix: 8))
    }
    return shown
  }

  private static func opening(_ value: UInt64) -> String {
    let access = ["O_RDONLY", "O_WRONLY", "O_RDWR", "3"][Int(value & 3)]
    let rest = flags(value & ~3, openFlags, none: "")
    return rest.isEmpty ? access : "\(access)|\(rest)"
  }

  private static func kind(_ value: UInt64) -> String {
    let flags = [(0o2000000 as UInt64, "SOCK_CLOEXEC"), (0o4000, "SOCK_NONBLOCK")].filter { value & $0.0 != 0 }.map(\.1)
    return ([kinds[value & 0xf] ?? hexadecimal(value & 0xf)] + flags).joined(separator: "|")
  }

  private static func flags(_ value: UInt64, _ names: [(UInt64, String)], none: String) -> String {
    // The kernel reads the low half.
    var rest = value & 0xffff_ffff
    var words: [String] = []
    for (bit, word) in names where rest & bit != 0 {
      words.append(word)
      rest &= ~bit
    }
    if rest != 0 { words.append(hexadecimal(rest)) }
    return words.isEmpty ? none : words.joined(separator: "|")
  }

  private static func descriptor(_ value: UInt64) -> String {
    let number = Int32(truncatingIfNeeded: value)
    return number == AT_FDCWD ? "AT_FDCWD" : "\(number)"
  }

  /// Small numbers as such, others by their bits.
  private static func number(_ value: UInt64) -> String {
    let half = Int64(Int32(truncatingIfNeeded: value))
    if value < 1 << 31 || UInt64(bitPattern: half) == value { return "\(half)" }
    return hexadecimal(value)
  }

  private static func hexadecimal(_ value: UInt64) -> String { "0x" + String(value, radix: 16) }

  private static func quoted(_ text: String) -> String {
    "\"" + text.escaping("\\\"".unicodeScalars) + "\""
  }
}
