internal import CSeccomp
internal import Glibc
package import LinuxSystem

/// The filter that a runner installs: compiled here, on the host's side, by libseccomp. The runner only installs bytes.
///
/// One filter, one listener. Denied calls are notified, so that they are seen; a few that libraries probe are answered
/// by the filter itself (`clone3`, and the sockets of name lookup).
package struct SeccompProgram: Sendable, Equatable {
  package let bytes: [UInt8]

  package struct Options: Sendable, Hashable {
    /// Notify calls that name a path.
    package var observesFiles = false
    /// Another mount namespace hides the machine's files: only then may modes and times of files be changed.
    package var hidesFiles = true
    /// Nothing else keeps a plugin from emptying files that it may not write: `truncate` and an O_TRUNC without the right to write.
    package var refusesTruncation = false
    /// Signals can't reach another process.
    package var isolatesProcesses = true
    /// No memory cgroup charges what the counters of a process don't show: notify shared anonymous memory, and what epoll
    /// is to watch.
    package var countsSharedMemory = false
    /// The host answers what is notified.
    package var hasListener = true
    /// Calls that end a run: notified, where the filter would otherwise answer them itself.
    package var killing: Set<String> = []
    /// Calls that would be let through, and that the host denies.
    package var refused: Set<String> = []
    /// Calls that are let through, and that the host is to see.
    package var traced: Set<String> = []
    /// The network namespace is the run's own, and its host answers in it: TCP sockets may be made and connected.
    package var connects = false
    /// Processes may be made. The host isn't asked: a call that waits for it may be interrupted by a signal, and programs don't expect that
    /// of fork(3), whose parent is told by one that another child has ended.
    package var makesProcesses = false
    /// Files may be executed: which, the mounts and Landlock decide.
    package var startsPrograms = false
    /// What is notified, whatever else would become of it.
    package var rules: Set<CallRule> = []

    package init() {}
  }

  package enum CompileError: Error, Sendable {
    case unavailable
    case rule(String, code: Int32)
    case export(SystemCallError)
  }

  package init(_ options: Options) throws(CompileError) {
    guard let context = seccomp_init(ol_scmp_notify) else { throw .unavailable }
    defer { seccomp_release(context) }
    // Another architecture's calls, and x32 counts as one, before anything else is looked at. The host ends the run for one: a
    // process that the filter ends looks like one that sent itself SIGSYS.
    try Self.set(context, SCMP_FLTATR_ACT_BADARCH, options.hasListener ? ol_scmp_notify : ol_scmp_kill_process)
    try Self.set(context, SCMP_FLTATR_CTL_NNP, 0)
    try Self.set(context, SCMP_FLTATR_CTL_OPTIMIZE, 2)
    var builder = Builder(context: context, refused: options.refused.union(options.traced))
    for name in SystemCalls.allowed where name != "epoll_ctl" || !options.countsSharedMemory { try builder.allow(name) }
    for name in SystemCalls.paths where !options.observesFiles {
      if !options.hidesFiles, SystemCalls.times.contains(name) { continue }
      if options.refusesTruncation, name == "truncate" { continue }
      // No file may get a set-user-ID or set-group-ID bit.
      let mode = SystemCalls.modeArgument(of: name)
      try builder.allow(name, mode.map { [Builder.Test(argument: $0, mask: CallFlags.foreignRights, value: 0)] } ?? [])
    }
    if options.isolatesProcesses { try builder.signals() }
    try builder.arguments(options)
    let own = options.refusesTruncation ? SystemCalls.truncatingOpens : []
    let rules = CallRuleProgram(options.rules.union(own), hasListener: options.hasListener)
    let program = CallRuleProgram.answerToNoCall.bytes + rules.bytes + (try Self.export(context))
    guard program.count <= Self.maxBytes else { throw .rule("rules about arguments", code: E2BIG) }
    bytes = program
  }

  private init(_ instructions: [FilterInstruction]) { bytes = instructions.flatMap(\.bytes) }

  /// The same answers in fewer instructions, where that is possible.
  package var compacted: SeccompProgram {
    let size = FilterInstruction.size
    let read = stride(from: 0, to: bytes.count, by: size).compactMap { FilterInstruction(bytes[$0...].prefix(size)) }
    guard read.count * size == bytes.count, let compact = FilterDiagram(read)?.program, compact.count < read.count
    else {
      return self
    }
    return SeccompProgram(compact)
  }

  /// A program has at most 4,096 instructions of 8 bytes (BPF_MAXINSNS), which fit into a pipe.
  private static let maxBytes = 4096 * 8

  private static func set(
    _ context: scmp_filter_ctx, _ attribute: scmp_filter_attr, _ value: UInt32
  ) throws(CompileError) {
    let code = seccomp_attr_set(context, attribute, value)
    guard code == 0 else { throw .rule("attribute \(attribute.rawValue)", code: -code) }
  }

  private static func export(_ context: scmp_filter_ctx) throws(CompileError) -> [UInt8] {
    do {
      let pipe = try Sockets.pipe()
      let code = seccomp_export_bpf(context, pipe.second.number)
      guard code == 0 else { throw SystemCallError("seccomp_export_bpf", code: -code, subject: "") }
      // The reader needs no end of file: the whole program is in the pipe already.
      var bytes = [UInt8](repeating: 0, count: maxBytes)
      let count = try checkErrno("read", "pipe") { read(pipe.first.number, &bytes, bytes.count) }
      return Array(bytes.prefix(count))
    } catch let error as SystemCallError {
      throw .export(error)
    } catch {
      throw .unavailable
    }
  }

  private struct Builder {
    let context: scmp_filter_ctx
    let refused: Set<String>

    /// `argument & mask == value`, with masks of 32 bits where the kernel reads no more.
    struct Test {
      var argument: UInt32
      var mask: UInt64
      var value: UInt64
    }

    mutating func allow(_ name: String, _ tests: [Test] = []) throws(CompileError) {
      guard !refused.contains(name) else { return }
      try rule(ol_scmp_allow, name, tests)
    }

    mutating func rule(_ action: UInt32, _ name: String, _ tests: [Test]) throws(CompileError) {
      // A call that this architecture or this libseccomp doesn't have can't be made either.
      guard let number = SystemCalls.number(of: name) else { return }
      let comparisons = tests.map {
        scmp_arg_cmp(arg: $0.argument, op: SCMP_CMP_MASKED_EQ, datum_a: $0.mask, datum_b: $0.value)
      }
      let code = seccomp_rule_add_array(context, action, number, UInt32(comparisons.count), comparisons)
      guard code == 0 else { throw .rule(name, code: -code) }
    }

    /// Any signal but SIGCONT. A thread that sends that without end would take back the one by which the host stops all threads:
    /// the kernel sends neither to all of them at one moment.
    mutating func signals() throws(CompileError) {
      for (name, argument) in [("kill", 1), ("tkill", 1), ("tgkill", 2)] as [(String, UInt32)] {
        // Numbers that differ in one bit, of which there are seven.
        for bit in (0..<7).map({ UInt64(1) << $0 }) {
          try allow(name, [Test(argument: argument, mask: bit, value: ~UInt64(SIGCONT) & bit)])
        }
      }
    }

    /// Calls that are allowed, or answered, by their arguments.
    mutating func arguments(_ options: Options) throws(CompileError) {
      try memory(options)
      try files(options)
      try threads(options)
      try commands()
      if !options.killing.contains("socket") { try lookups() }
      if options.connects { try connections() }
      try processes(options)
    }

    /// Of 64 bits, those that the kernel reads of a number of 32.
    private static let word: UInt64 = 0xffff_ffff

    private mutating func memory(_ options: Options) throws(CompileError) {
      let word = Self.word
      let execute = UInt64(PROT_EXEC)
      // Executable, locked and huge mappings are notified.
      let noCode = Test(argument: 2, mask: execute, value: 0)
      if options.countsSharedMemory {
        // Not shared, or not anonymous.
        for flag in [CallFlags.shared, CallFlags.anonymous] {
          try allow("mmap", [noCode, Test(argument: 3, mask: CallFlags.lockedOrHuge | flag, value: 0)])
        }
        // EPOLL_CTL_DEL and EPOLL_CTL_MOD
        for operation in [2, 3] as [UInt64] {
          try allow("epoll_ctl", [Test(argument: 1, mask: word, value: operation)])
        }
      } else {
        try allow("mmap", [noCode, Test(argument: 3, mask: CallFlags.lockedOrHuge, value: 0)])
      }
      try allow("mprotect", [Test(argument: 2, mask: execute, value: 0)])
      for name in SystemCalls.pinning where !options.killing.contains(name) {
        try rule(ol_scmp_errno(UInt16(ENOSYS)), name, [])
      }
    }

    private mutating func files(_ options: Options) throws(CompileError) {
      // RLIMIT_FSIZE is asked where a file gets longer, and not where its blocks are reserved beyond its end
      // (FALLOC_FL_KEEP_SIZE): those are notified. Mode 3 gives blocks back.
      for mode in [0, 3] as [UInt64] { try allow("fallocate", [Test(argument: 1, mask: Self.word, value: mode)]) }
      // Not CLOSE_RANGE_UNSHARE (2): each thread would have descriptors of its own, and as many as all of them may have.
      try allow("close_range", [Test(argument: 2, mask: 2, value: 0)])
      guard options.hidesFiles else { return }
      for (name, argument) in [("chmod", 1), ("fchmod", 1), ("fchmodat", 2)] as [(String, UInt32)]
      where !options.observesFiles || !SystemCalls.modes.contains(name) {
        try allow(name, [Test(argument: argument, mask: CallFlags.foreignRights, value: 0)])
      }
    }

    /// What one call does of many things, by the number of each.
    private mutating func commands() throws(CompileError) {
      let word = Self.word
      for option in [3, 4, 7, 8, 20, 21, 30, 38, 39] as [UInt64] {
        // SO_TYPE, ERROR, SNDBUF, RCVBUF, RCVTIMEO, SNDTIMEO, ACCEPTCONN, PROTOCOL and DOMAIN of SOL_SOCKET. Others tell who is
        // at the other end, and SO_PEERPIDFD (Linux 6.5) gives a handle of it.
        try allow(
          "getsockopt", [Test(argument: 1, mask: word, value: 1), Test(argument: 2, mask: word, value: option)])
      }
      for command in [0x541b, 0x5401, 0x5413, 0x5450, 0x5451, 0x5421] as [UInt64] {
        // FIONREAD, TCGETS, TIOCGWINSZ, FIONCLEX, FIOCLEX, FIONBIO
        try allow("ioctl", [Test(argument: 1, mask: word, value: command)])
      }
      for command in [0, 1, 2, 3, 4, 5, 36, 1030, 1032] as [UInt64] {
        // F_DUPFD to F_GETLK, F_OFD_GETLK, F_DUPFD_CLOEXEC, F_GETPIPE_SZ. Locks are notified: no limit of the kernel counts
        // them.
        try allow("fcntl", [Test(argument: 1, mask: word, value: command)])
      }
      for option in [3, 15, 16, 21, 23, 38, 39, 0x5356_4d41] as [UInt64] {
        // GET_DUMPABLE, SET_NAME, GET_NAME, GET_SECCOMP, CAPBSET_READ, SET_ and GET_NO_NEW_PRIVS, SET_VMA
        try allow("prctl", [Test(argument: 0, mask: word, value: option)])
      }
      // Reading one's own limits: no process named, no new value given.
      try allow("prlimit64", [Test(argument: 0, mask: word, value: 0), Test(argument: 2, mask: .max, value: 0)])
      try allow("personality", [Test(argument: 0, mask: word, value: word)])
    }

    private mutating func threads(_ options: Options) throws(CompileError) {
      let word = Self.word
      // Threads go through clone, which can be decided by its flags; clone3 hides them in memory.
      if !options.killing.contains("clone3") { try rule(ol_scmp_errno(UInt16(ENOSYS)), "clone3", []) }
      // Making oneself less urgent, which libdispatch does; more urgent, or another process, is notified.
      try allow(
        "setpriority",
        [
          Test(argument: 0, mask: word, value: 0), Test(argument: 1, mask: word, value: 0),
          Test(argument: 2, mask: 0x8000_0000, value: 0),
        ])
      // Its urgent queues ask for a little more of it, and take no for an answer.
      if !options.killing.contains("setpriority") {
        for nice in -4...(-1) {
          try rule(
            ol_scmp_errno(UInt16(EACCES)), "setpriority",
            [
              Test(argument: 0, mask: word, value: 0), Test(argument: 1, mask: word, value: 0),
              Test(argument: 2, mask: word, value: UInt64(UInt32(bitPattern: Int32(nice)))),
            ])
        }
      }
      // The scheduler that every thread of it has anyway (SCHED_OTHER), which libzmq sets in each: answered, and not done.
      if !options.killing.contains("sched_setscheduler") {
        try rule(ol_scmp_errno(0), "sched_setscheduler", [Test(argument: 1, mask: word, value: 0)])
      }
    }

    private mutating func processes(_ options: Options) throws(CompileError) {
      if options.makesProcesses {
        for name in ["fork", "vfork"] { try allow(name) }
        for flags in SystemCalls.processFlags {
          try allow("clone", [Test(argument: 0, mask: ~SystemCalls.processNumbers, value: flags)])
        }
      }
      if options.startsPrograms {
        if !options.observesFiles { try allow("execve") }
        // ARCH_SET_FS: a program's first thread gets its thread-local storage by it.
        try allow("arch_prctl", [Test(argument: 0, mask: Self.word, value: 0x1002)])
      }
    }

    /// TCP to where the namespace leads. No bind(2) and no listen(2): what accept4(2) takes comes from the one
    /// listener that the runner made, for pairs. No buffers of the plugin's own choice (SO_SNDBUF, SO_RCVBUF).
    private mutating func connections() throws(CompileError) {
      let word: UInt64 = 0xffff_ffff
      for family in SystemCalls.streamFamilies {
        for protocolNumber in SystemCalls.streamProtocols {
          try allow(
            "socket",
            [
              Test(argument: 0, mask: word, value: family),
              Test(argument: 1, mask: SystemCalls.streamKindMask, value: 1),
              Test(argument: 2, mask: word, value: protocolNumber),
            ])
        }
      }
      for name in ["connect", "accept4"] { try allow(name) }
      // libcurl asks by one without flags whether there is IPv6, and takes no for an answer.
      try rule(
        ol_scmp_errno(UInt16(EAFNOSUPPORT)), "socket",
        [
          Test(argument: 0, mask: word, value: 10), Test(argument: 1, mask: word, value: 2),
          Test(argument: 2, mask: word, value: 0),
        ])
      // SO_REUSEADDR, KEEPALIVE, LINGER, RCVTIMEO and SNDTIMEO of SOL_SOCKET; TCP_NODELAY, CORK, KEEPIDLE, KEEPINTVL, KEEPCNT,
      // QUICKACK and USER_TIMEOUT of IPPROTO_TCP; IPV6_V6ONLY of IPPROTO_IPV6.
      let options: [(level: UInt64, names: [UInt64])] = [
        (1, [2, 9, 13, 20, 21]), (6, [1, 3, 4, 5, 6, 12, 18]), (41, [26]),
      ]
      for (level, names) in options {
        for name in names {
          try allow(
            "setsockopt", [Test(argument: 1, mask: word, value: level), Test(argument: 2, mask: word, value: name)])
        }
      }
      // Of those that are set, and that SOL_SOCKET's own list hasn't.
      for (level, name) in [(1, 9), (1, 13), (6, 1)] as [(UInt64, UInt64)] {
        try allow(
          "getsockopt", [Test(argument: 1, mask: word, value: level), Test(argument: 2, mask: word, value: name)])
      }
    }

    /// What getaddrinfo(3), if_nametoindex(3) and syslog(3) try before they give up: the sockets of nscd, of the interface
    /// list, of the resolver and of the system's log.
    private mutating func lookups() throws(CompileError) {
      let word: UInt64 = 0xffff_ffff
      let closing: UInt64 = 0o2000000
      let nonblocking: UInt64 = 0o4000
      let probes: [(UInt64, UInt64)] = [
        (1, 1 | closing | nonblocking),  // AF_UNIX, SOCK_STREAM: nscd
        (1, 2 | closing),  // AF_UNIX, SOCK_DGRAM: the log, interfaces
        (16, 3 | closing),  // AF_NETLINK, SOCK_RAW: interfaces
        // AF_INET and AF_INET6, SOCK_DGRAM: the resolver
        (2, 2 | closing | nonblocking), (10, 2 | closing | nonblocking),
        (2, 2 | closing), (10, 2 | closing),  // the same: address sorting
      ]
      for (family, kind) in probes {
        try rule(
          ol_scmp_errno(UInt16(EAFNOSUPPORT)), "socket",
          [
            Test(argument: 0, mask: word, value: family), Test(argument: 1, mask: word, value: kind),
            Test(argument: 2, mask: word, value: 0),
          ])
      }
    }
  }
}
