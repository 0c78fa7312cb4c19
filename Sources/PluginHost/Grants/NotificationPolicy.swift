internal import CLinux
internal import Glibc
internal import Sandbox

/// Decides about one notified system call. Only values are checked, never what a pointer points to: the plugin could
/// change that between our look and the kernel's.
struct NotificationPolicy {
  enum Decision: Equatable {
    case proceed
    /// The kernel goes on, and the host counts it.
    case grant(Grant)
    /// The kernel decides; the paths are noted.
    case note(String, paths: [SystemCalls.PathArgument])
    case deny(wall: String, name: String, target: String, code: Int32, kills: Bool)
    /// It meets a rule of the policy about an argument.
    case breach(CallRule, target: String, code: Int32, kills: Bool)
    /// A call of another architecture, which ends the run: its number and arguments mean something else here.
    case foreign(String)
    /// There would be room for shared memory if some of what was granted has been freed since: to be decided again after a look
    /// at what is mapped.
    case look
    /// There may be room once it is counted what is held.
    case count(Estimate)
    /// Can't be told yet, and is to be decided again a little later.
    case hold
  }

  /// What is granted by estimate, and counted when there seems to be too much of it.
  enum Estimate: Equatable { case fileLocks, watches }

  /// Kernel objects that no counter of the process shows: the host grants them up to a limit. A memory cgroup charges
  /// shared memory, but no locks.
  enum Grant: Equatable {
    case sharedMemory(bytes: Int)
    case fileLock(FileLockLedger.Kind)
    case watch
    /// `asker`: the thread that makes it.
    case thread(asker: UInt32, at: Duration)
  }

  /// What was granted in a run so far.
  struct Grants: Equatable {
    /// What epoll watches is some 200 bytes of the kernel's each.
    static let maxWatches = 16_384
    var shared = SharedMemoryLedger()
    /// Whether the next one that wants shared memory is to be told by what is known by now.
    var hasLooked = false
    var fileLocks = FileLockLedger()
    var watches = EstimatedObjects(max: maxWatches, maxTakenByOne: 1)
    /// Whether a thread was ever granted.
    private(set) var hasThreads = false
    var starts = ThreadStarts()

    /// `used`: of a processor, by who makes a thread.
    mutating func add(_ grant: Grant, used: Duration? = nil) {
      switch grant {
      case .sharedMemory(let bytes): shared.add(bytes)
      case .fileLock(let kind): fileLocks.add(kind)
      case .watch: watches.add()
      case .thread(let asker, let now):
        hasThreads = true
        starts.add(by: asker, at: now, used: used)
      }
    }
  }

  let policy: Policy
  let grants: Grants
  /// The host's own knowledge of the phase, not the runner's word.
  let isLoading: Bool
  /// Another mount namespace hides the machine's files.
  var hidesFiles = true
  /// As in the filter's options.
  var refusesTruncation = false
  /// The runner's process id; 0 where it isn't known.
  var runner: pid_t = 0
  /// Threads that the run has now, in all of its processes; asked only when it wants another.
  let threads: () -> Int
  /// Whether one of them has ended and is still counted; asked only when there seem to be too many.
  var isAnyEnding: () -> Bool = { false }
  /// Calls that are handed over only to be seen.
  var traced: Set<String> = []
  /// Whether the run has a network of its own.
  var connects = false
  let now: Duration

  /// CLONE_THREAD, SIGHAND, FILES, FS and VM: one that shares less would have limits of its own.
  private static let threadFlags: UInt64 = 0x10f00
  /// New namespaces, and the high half, which has no flags.
  private static let foreignFlags: UInt64 = 0xffff_ffff_7e02_0080

  func decide(_ call: ol_notification) -> Decision {
    if let name = CallArchitecture.foreignName(call.architecture, number: call.number) { return .foreign(name) }
    let name = SystemCalls.name(of: call.number)
    let arguments = call.arguments
    if name == "fallocate", isFileLimitMet(call) {
      let target = "\(policy.limits.fileSize) bytes in a file"
      return .deny(wall: "limits", name: SystemCalls.lengthening, target: target, code: EFBIG, kills: false)
    }
    // The filter hands over what meets a rule, and the plugin can't change a register of a thread that waits.
    if let name, let breach = breach(name, call) { return breach }
    if let name, policy.systemCalls.refused.contains(name) { return deny(name, call, SystemCalls.denial(of: name)) }
    switch name {
    case "mmap": return map(length: arguments.1, protection: arguments.2, flags: arguments.3, call)
    case "fcntl" where FileLockLedger.Kind(command: arguments.1) != nil: return lock(call)
    case "fallocate": return reserve(call)
    case "epoll_ctl":
      return decide(
        grants.watches.verdict(at: now), grant: .watch, .watches, deny("epoll_ctl", call, ENOSPC, wall: "limits"))
    case "mprotect":
      let isCode = arguments.2 & UInt64(PROT_WRITE) == 0
      // The kernel keeps what is mounted without execution from it, whatever the policy says (mprotect(2), EACCES).
      let isAllowed = policy.executableMemory == .justInTime || isLoading && isCode
      return isAllowed ? .proceed : deny(name, call, EACCES)
    case "clone":
      let isThread =
        arguments.0 & Self.threadFlags == Self.threadFlags && arguments.0 & Self.foreignFlags == 0
      if !isThread, policy.processes > 0, SystemCalls.startsProcess(arguments.0) { return .proceed }
      guard isThread else { return deny(name, call, EPERM) }
      if threads() + grants.starts.count <= policy.limits.threads { return .grant(.thread(asker: call.pid, at: now)) }
      // One that has begun counts twice for a moment, and one that was joined is still there for another, or was at the
      // first look.
      let isUnclear = grants.starts.isEmpty ? threads() <= policy.limits.threads : grants.starts.isAnyRecent(at: now)
      return isUnclear || isAnyEnding() ? .hold : deny(name, call, EAGAIN, wall: "limits")
    case "fork" where policy.processes > 0, "vfork" where policy.processes > 0: return .proceed
    case "connect" where connects: return .proceed
    case "socket" where connects && SystemCalls.makesStream([arguments.0, arguments.1, arguments.2]): return .proceed
    // abort(3) and pthread_kill(3). Nothing else keeps a signal from the user's other processes where this is asked, and there
    // the runner has the id that the host sees. The kernel reads the low half.
    case "tgkill":
      let isOwn = runner > 0 && pid_t(truncatingIfNeeded: arguments.0) == runner
      return isOwn && Int32(truncatingIfNeeded: arguments.2) != SIGCONT ? .proceed : deny(name, call, EPERM)
    case let name?:
      if name == "execve", policy.startsPrograms, hidesFiles {
        return policy.observesFiles ? .note(name, paths: [.init(path: 0)]) : .proceed
      }
      let paths = SystemCalls.pathArguments(of: name)
      if !paths.isEmpty {
        // As the filter has it where paths aren't observed.
        let isOfOwnFiles = SystemCalls.times.contains(name) || SystemCalls.modes.contains(name)
        if givesForeignRights(name, call) || !hidesFiles && isOfOwnFiles {
          return deny(name, call, EPERM)
        }
        if refusesTruncation, truncates(name, call) { return deny(name, call, EACCES) }
        return policy.observesFiles ? .note(name, paths: paths) : .proceed
      }
      if traced.contains(name), SystemCalls.isFree(name) { return .proceed }
      return deny(name, call, SystemCalls.denial(of: name))
    case nil: return deny(nil, call, ENOSYS)
    }
  }

  /// Whether it empties a file without a right that Landlock asks for.
  private func truncates(_ name: String, _ call: ol_notification) -> Bool {
    let registers = call.arguments
    let values = [registers.0, registers.1, registers.2, registers.3, registers.4, registers.5]
    return name == "truncate" || SystemCalls.truncatingOpens.contains { $0.call == name && $0.met(by: values) != nil }
  }

  private func breach(_ name: String, _ call: ol_notification) -> Decision? {
    guard !policy.systemCalls.rules.isEmpty else { return nil }
    let registers = call.arguments
    let values = [registers.0, registers.1, registers.2, registers.3, registers.4, registers.5]
    guard let rule = policy.rule(for: name, values), let value = rule.met(by: values) else { return nil }
    return .breach(
      rule, target: rule.target(value), code: SystemCalls.denial(of: name),
      kills: rule.action == .kill || policy.ends(name, first: registers.0))
  }

  private func lock(_ call: ol_notification) -> Decision {
    guard let kind = FileLockLedger.Kind(command: call.arguments.1) else { return .proceed }
    let verdict = grants.fileLocks.verdict(on: kind, at: now)
    return decide(verdict, grant: .fileLock(kind), .fileLocks, deny("fcntl", call, ENOLCK, wall: "limits"))
  }

  private func decide(
    _ verdict: EstimatedObjects.Verdict, grant: Grant, _ estimate: Estimate, _ denial: Decision
  ) -> Decision {
    switch verdict {
    case .room: .grant(grant)
    case .count: .count(estimate)
    case .wait: .hold
    case .full: denial
    }
  }

  /// FALLOC_FL_KEEP_SIZE, and FALLOC_FL_ZERO_RANGE with it, within the limit on a file's length; other modes (fallocate(2)) make
  /// files longer without asking for it.
  private func reserve(_ call: ol_notification) -> Decision {
    let mode = UInt32(truncatingIfNeeded: call.arguments.1)
    guard [0x01, 0x11].contains(mode) else { return deny("fallocate", call, EOPNOTSUPP) }
    let (offset, length) = (Int64(bitPattern: call.arguments.2), Int64(bitPattern: call.arguments.3))
    let (end, isTooMuch) = offset.addingReportingOverflow(length)
    // What the kernel itself refuses.
    if offset < 0 || length <= 0 { return .proceed }
    let isWithin = !isTooMuch && end <= Int64(clamping: policy.limits.fileSize)
    return isWithin ? .proceed : deny("fallocate", call, EFBIG, wall: "limits")
  }

  /// What a runner makes of SIGXFSZ (`ol_tell_file_limit`). A plugin that makes that call itself reports what wasn't so, of itself.
  private func isFileLimitMet(_ call: ol_notification) -> Bool {
    Int32(truncatingIfNeeded: call.arguments.0) == -1 && UInt32(truncatingIfNeeded: call.arguments.1) == 0x01
      && call.arguments.2 == 0 && call.arguments.3 == UInt64(OL_FILE_LIMIT_MET)
  }

  private func givesForeignRights(_ name: String, _ call: ol_notification) -> Bool {
    if SystemCalls.modes.contains(name) {
      return (name == "fchmodat" ? call.arguments.2 : call.arguments.1) & CallFlags.foreignRights != 0
    }
    guard let argument = SystemCalls.modeArgument(of: name) else { return false }
    let values = [call.arguments.0, call.arguments.1, call.arguments.2, call.arguments.3]
    return values[Int(argument)] & CallFlags.foreignRights != 0
      && SystemCalls.makesFile(name, flags: values[Int(argument) - 1])
  }

  /// Code comes from files while the plugin is loaded, or where the policy names libraries, is never writable, and never huge
  /// or locked memory. Which file it is, the kernel decides by its mount (`LateCode`).
  private func map(length: UInt64, protection: UInt64, flags: UInt64, _ call: ol_notification) -> Decision {
    if flags & CallFlags.lockedOrHuge != 0 { return deny("mmap", call, EPERM) }
    let isAnonymous = flags & CallFlags.anonymous != 0
    let isWritable = protection & UInt64(PROT_WRITE) != 0
    if isAnonymous, flags & CallFlags.shared != 0, protection & UInt64(PROT_EXEC) == 0 {
      // Its pages outlive their mapping in part, so the whole counts from now on. Its size can't grow later.
      let left = UInt64(max(policy.limits.memory - grants.shared.total, 0))
      let pages = length / 4096 + (length % 4096 == 0 ? 0 : 1)
      if pages <= left / 4096 { return .grant(.sharedMemory(bytes: Int(pages) * 4096)) }
      let couldFit = grants.shared.total > 0 && pages <= UInt64(policy.limits.memory) / 4096
      return couldFit && !grants.hasLooked ? .look : deny("mmap", call, ENOMEM, wall: "limits")
    }
    if policy.executableMemory == .justInTime, isAnonymous, flags & CallFlags.shared == 0 { return .proceed }
    let isForCode = isLoading || hidesFiles && policy.mapsCodeLater
    return isForCode && !isAnonymous && !isWritable ? .proceed : deny("mmap", call, EACCES)
  }

  /// Whether a call wants shared anonymous memory.
  static func mapsShared(_ call: ol_notification) -> Bool {
    let both = CallFlags.anonymous | CallFlags.shared
    return call.arguments.3 & both == both && SystemCalls.name(of: call.number) == "mmap"
      && CallArchitecture.foreignName(call.architecture, number: call.number) == nil
  }

  private func deny(_ name: String?, _ call: ol_notification, _ code: Int32, wall: String = "seccomp") -> Decision {
    let name = name ?? "syscall \(call.number)"
    return .deny(
      wall: wall, name: name, target: Self.arguments(call, of: name), code: code,
      kills: policy.ends(name, first: call.arguments.0))
  }

  /// The arguments that are values, in hexadecimal; addresses would make every call a different one.
  private static func arguments(_ call: ol_notification, of name: String) -> String {
    let values = [call.arguments.0, call.arguments.1, call.arguments.2, call.arguments.3]
    let shown: [Int] =
      switch name {
      case "socket", "socketpair": [0, 1, 2]
      case "mmap": [2, 3]
      case "mprotect": [2]
      case "clone", "unshare", "personality": [0]
      case "ioctl", "fcntl": [0, 1]
      case "prctl", "ptrace", "bpf": [0]
      case "kill", "tgkill", "setns", "flock": [0, 1]
      case "fallocate": [1, 2, 3]
      case "getsockopt": [1, 2]
      case "prlimit64": [0, 1]
      default: []
      }
    return shown.map { "0x" + String(values[$0], radix: 16) }.joined(separator: ", ")
  }
}
