import CLinux
import Glibc
import Sandbox
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct NotificationPolicyTests {
  private static let numbers: [String: Int32] = Dictionary(
    (0..<600).compactMap { number in SystemCalls.name(of: number).map { ($0, number) } },
    uniquingKeysWith: { first, _ in first })

  static let readBits = UInt64(PROT_READ)
  static let codeBits = UInt64(PROT_READ | PROT_EXEC)
  static let writableCodeBits = UInt64(PROT_READ | PROT_WRITE | PROT_EXEC)
  static let threadFlags: UInt64 = 0x3d0f00

  private func decide(
    _ name: String, _ arguments: [UInt64] = [], loading: Bool = false, threads: Int = 1, policy: Policy = .init(),
    grants: NotificationPolicy.Grants = .init(), now: Duration = .seconds(1), asker: UInt32 = 1, isEnding: Bool = false
  ) throws -> NotificationPolicy.Decision {
    var call = ol_notification()
    call.pid = asker
    call.number = try #require(Self.numbers[name])
    call.architecture = CallArchitecture.native
    let padded = arguments + Array(repeating: 0, count: 6 - arguments.count)
    call.arguments = (padded[0], padded[1], padded[2], padded[3], padded[4], padded[5])
    return NotificationPolicy(
      policy: policy, grants: grants, isLoading: loading, threads: { threads }, isAnyEnding: { isEnding }, now: now
    ).decide(call)
  }

  @Test("what only a trace sees goes on, where the run has a network of its own") func traced() throws {
    func decide(_ name: String, _ arguments: [UInt64], connects: Bool) throws -> NotificationPolicy.Decision {
      var call = ol_notification()
      (call.number, call.architecture) = (try #require(Self.numbers[name]), CallArchitecture.native)
      (call.arguments.0, call.arguments.1, call.arguments.2) = (arguments[0], arguments[1], arguments[2])
      return NotificationPolicy(
        policy: Policy(), grants: .init(), isLoading: false, threads: { 1 }, connects: connects, now: .seconds(1)
      ).decide(call)
    }
    #expect(try decide("connect", [3, 0, 16], connects: true) == .proceed)
    #expect(try decide("socket", [2, 1, 0], connects: true) == .proceed)
    #expect(try errno(of: decide("socket", [2, 2, 0], connects: true)) == EAFNOSUPPORT)
    #expect(try errno(of: decide("socket", [2, 1, 0], connects: false)) == EAFNOSUPPORT)
    #expect(try errno(of: decide("connect", [3, 0, 16], connects: false)) != nil)
  }

  private func errno(of decision: NotificationPolicy.Decision) -> Int32? {
    if case .deny(_, _, _, let code, _) = decision { code } else { nil }
  }

  /// Whatever its number is natively: 102 is the harmless getuid there and socketcall(2) here.
  @Test(arguments: [false, true]) func callsOfOtherArchitecturesEndARun(_ isLoading: Bool) {
    func decide(_ architecture: UInt32, _ number: Int32) -> NotificationPolicy.Decision {
      var call = ol_notification()
      (call.architecture, call.number) = (architecture, number)
      return NotificationPolicy(
        policy: Policy(), grants: .init(), isLoading: isLoading, threads: { 1 }, now: .seconds(1)
      ).decide(call)
    }
    for number in Int32(0)..<500 {
      #expect(decide(0x4000_0003, number) == .foreign("i386"))
      #expect(decide(0, number) == .foreign("0x0"))
      #if arch(x86_64)
        #expect(decide(CallArchitecture.native, number | 0x4000_0000) == .foreign("x32"))
      #endif
    }
    for number in [-1, 600] as [Int32] {
      #expect(errno(of: decide(CallArchitecture.native, number)) == ENOSYS, "\(number)")
    }
  }

  @Test(
    arguments: [
      // Protection, flags; the verdict while loading, and after.
      (codeBits, 2, nil, EACCES), (UInt64(PROT_EXEC), 0x812, nil, EACCES), (writableCodeBits, 2, EACCES, EACCES),
      (codeBits, 0x22, EACCES, EACCES), (codeBits, 0x40002, EPERM, EPERM), (readBits, 0x42022, EPERM, EPERM),
      (UInt64(PROT_READ), 0x2022, EPERM, EPERM),
    ] as [(UInt64, UInt64, Int32?, Int32?)])
  func mappings(_ protection: UInt64, _ flags: UInt64, _ loading: Int32?, _ later: Int32?) throws {
    #expect(errno(of: try decide("mmap", [0, 4096, protection, flags], loading: true)) == loading)
    #expect(errno(of: try decide("mmap", [0, 4096, protection, flags])) == later)
    // With libraries it is always as while loading: which file it is, the kernel decides.
    var policy = Policy()
    policy.libraries = ["/srv/lib"]
    #expect(errno(of: try decide("mmap", [0, 4096, protection, flags], policy: policy)) == loading)
  }

  /// A just-in-time compiler's memory is private; what is shared is counted and stays data.
  @Test(
    arguments: [
      (codeBits, 0x22, nil), (writableCodeBits, 0x22, nil), (writableCodeBits, 0x21, EACCES),
      (writableCodeBits, 2, EACCES), (codeBits, 0x40022, EPERM),
    ] as [(UInt64, UInt64, Int32?)])
  func justInTime(_ protection: UInt64, _ flags: UInt64, _ code: Int32?) throws {
    var policy = Policy()
    policy.executableMemory = .justInTime
    #expect(errno(of: try decide("mmap", [0, 4096, protection, flags], policy: policy)) == code)
    #expect(try decide("mprotect", [0, 4096, protection], policy: policy) == .proceed)
    policy.executableMemory = .later
    #expect(errno(of: try decide("mmap", [0, 4096, protection, 0x22], policy: policy)) == EACCES)
    #expect(errno(of: try decide("mprotect", [0, 4096, protection], policy: policy)) == EACCES)
  }

  @Test(arguments: ["mkdir", "clone", "epoll_ctl", "getpgid", "nanosleep", "fallocate"])
  func refusedCalls(_ name: String) throws {
    var policy = Policy()
    policy.systemCalls.refused = [name]
    let thread: UInt64 = 0x3d0f00
    for loading in [false, true] {
      let decision = try decide(name, [name == "clone" ? thread : 1], loading: loading, policy: policy)
      guard case .deny(_, let call, _, let code, let kills) = decision else {
        Issue.record("\(decision)")
        continue
      }
      #expect(call == name && code != 0 && !kills)
    }
    policy.systemCalls.onDenied = [name: .kill]
    guard case .deny(_, _, _, _, true) = try decide(name, [thread], policy: policy) else {
      Issue.record("doesn't end the run")
      return
    }
  }

  @Test("where fork ends the run, so does the clone that takes its place, and no thread") func killedStarts() throws {
    var policy = Policy()
    policy.systemCalls.onDenied = ["fork": .kill, "vfork": .kill]
    for flags in [0x1200011, 0x4111, 0x2000_0011] as [UInt64] {
      guard case .deny(_, "clone", _, EPERM, true) = try decide("clone", [flags], policy: policy) else {
        Issue.record("\(flags) doesn't end the run")
        continue
      }
      #expect(try errno(of: decide("clone", [flags])) == EPERM)
    }
    #expect(
      try decide("clone", [Self.threadFlags], policy: policy) == .grant(.thread(asker: 1, at: .seconds(1))))
  }

  @Test(
    arguments: [
      ("openat", [0, 0, 0o100, 0o4755], EPERM), ("openat", [0, 0, 0o20_200_000, 0o2755], EPERM),
      ("openat", [0, 0, 0o200_000, 0o6000], nil), ("open", [0, 0o101, 0o6000], EPERM), ("open", [0, 0, 0o6000], nil),
      ("creat", [0, 0o4000], EPERM), ("creat", [0, 0o1777], nil), ("openat2", [], ENOSYS),
    ] as [(String, [UInt64], Int32?)])
  func noFileHasForeignRights(_ name: String, _ arguments: [UInt64], _ code: Int32?) throws {
    for observes in [false, true] {
      var policy = Policy()
      policy.observesFiles = observes
      let decision = try decide(name, arguments, policy: policy)
      #expect(errno(of: decision) == code)
      if code == nil, !observes { #expect(decision == .proceed) }
    }
  }

  @Test(arguments: [0x21, 0x23, 0x4021] as [UInt64]) func sharedMemoryIsCounted(_ flags: UInt64) throws {
    var policy = Policy()
    policy.limits.memory = 1 << 20
    var grants = NotificationPolicy.Grants()
    func map(_ length: UInt64) throws -> NotificationPolicy.Decision {
      try decide("mmap", [0, length, Self.readBits, flags], policy: policy, grants: grants)
    }
    #expect(try map(1) == .grant(.sharedMemory(bytes: 4096)), "a byte costs a page")
    #expect(try map(1 << 20) == .grant(.sharedMemory(bytes: 1 << 20)))
    #expect(errno(of: try map(1 << 20 | 1)) == ENOMEM)
    #expect(errno(of: try map(.max)) == ENOMEM)
    for _ in 0..<256 {
      if case .grant(let grant) = try map(1) { grants.add(grant) }
    }
    #expect(try map(1) == .look, "some of it may be gone by now")
    #expect(try map(1 << 20) == .look)
    #expect(errno(of: try map(1 << 20 | 1)) == ENOMEM, "it would be too much by itself")
    grants.hasLooked = true
    #expect(errno(of: try map(1)) == ENOMEM)
    grants.shared.look(Set(1...255))
    #expect(try map(1) == .grant(.sharedMemory(bytes: 4096)))
    grants.hasLooked = false
    #expect(errno(of: try decide("mmap", [0, 1, Self.codeBits, flags], loading: true)) == EACCES)
  }

  @Test(arguments: [6, 7, 37, 38, 0xdead_0000_0006, 0xdead_0000_0026] as [UInt64])
  func locksAreCounted(_ command: UInt64) throws {
    let kind = try #require(FileLockLedger.Kind(command: command))
    #expect(kind == (command & 0xff < 8 ? .process : .openFile))
    var grants = NotificationPolicy.Grants()
    var calls = 0
    while try decide("fcntl", [3, command], grants: grants) == .grant(.fileLock(kind)) {
      grants.add(.fileLock(kind))
      calls += 1
    }
    #expect(calls == FileLockLedger.maxHeld / FileLockLedger.maxTakenByOne)
    let full = try decide("fcntl", [3, command], grants: grants)
    if kind == .process { #expect(full == .count(.fileLocks)) } else { #expect(errno(of: full) == ENOLCK) }
    grants.fileLocks.ofProcesses.count(nil, threads: 1, at: .seconds(1), cost: .zero)
    #expect(errno(of: try decide("fcntl", [3, command], grants: grants)) == ENOLCK, "counted at that moment")
    grants.fileLocks.ofProcesses.count(1, threads: 1, at: .seconds(1), cost: .seconds(1))
    let counted = try decide("fcntl", [3, command], grants: grants)
    if kind == .process { #expect(counted == .grant(.fileLock(kind))) } else { #expect(errno(of: counted) == ENOLCK) }
    #expect(errno(of: try decide("fcntl", [3, 8])) == EPERM)
  }

  /// Reserved blocks beyond a file's end aren't in its length, which is all that the kernel's limit looks at.
  @Test(
    arguments: [
      (1, 0, 4096, nil), (0x11, 0, 4096, nil), (1, 0, 4097, EFBIG), (1, 4096, 1, EFBIG), (0x11, 4095, 2, EFBIG),
      (1, UInt64(Int64.max), 2, EFBIG), (1, .max, 4097, nil), (1, 0, 0, nil), (0x20, 0, 1, EOPNOTSUPP),
      (8, 0, 1, EOPNOTSUPP), (0x41, 0, 1, EOPNOTSUPP),
    ] as [(UInt64, UInt64, UInt64, Int32?)])
  func reservations(_ mode: UInt64, _ offset: UInt64, _ length: UInt64, _ code: Int32?) throws {
    var policy = Policy()
    policy.limits.fileSize = 4096
    #expect(errno(of: try decide("fallocate", [3, mode, offset, length], policy: policy)) == code)
  }

  @Test func protections() throws {
    #expect(try decide("mprotect", [0, 4096, Self.codeBits], loading: true) == .proceed)
    #expect(errno(of: try decide("mprotect", [0, 4096, Self.codeBits])) == EACCES)
    #expect(errno(of: try decide("mprotect", [0, 4096, Self.writableCodeBits], loading: true)) == EACCES)
    #expect(errno(of: try decide("pkey_mprotect", [0, 4096, Self.readBits], loading: true)) == EACCES)
  }

  @Test func threads() throws {
    var policy = Policy()
    policy.limits.threads = 2
    #expect(
      try decide("clone", [Self.threadFlags], threads: 2, policy: policy)
        == .grant(.thread(asker: 1, at: .seconds(1))))
    #expect(
      try decide("clone", [Self.threadFlags], threads: 3, policy: policy)
        == .deny(wall: "limits", name: "clone", target: "0x3d0f00", code: EAGAIN, kills: false))
    #expect(try decide("clone", [Self.threadFlags], threads: 3, policy: policy, isEnding: true) == .hold)
  }

  @Test(
    arguments: [
      0x11, 0x0120_0011, 0x4111, threadFlags | 1 << 32, threadFlags | 0x1000_0000, threadFlags | 0x2000_0000,
      threadFlags | 0x0002_0000,
      threadFlags | 0x0200_0000, threadFlags | 0x80, threadFlags & ~0x400, threadFlags & ~0x200, 0x10000,
    ] as [UInt64])
  func processesAndNamespacesAreNoThreads(_ flags: UInt64) throws {
    #expect(errno(of: try decide("clone", [flags])) == EPERM)
  }

  @Test(
    arguments: [
      ("execve", EACCES), ("execveat", EACCES), ("socket", EAFNOSUPPORT), ("socketpair", EAFNOSUPPORT),
      ("connect", EPERM),
      ("ptrace", EPERM), ("io_uring_setup", ENOSYS), ("mount", EPERM), ("bpf", EPERM),
    ] as [(String, Int32)])
  func otherCalls(_ name: String, _ wanted: Int32) throws {
    #expect(errno(of: try decide(name, loading: true)) == wanted)
  }

  @Test func watchesAreCounted() throws {
    var grants = NotificationPolicy.Grants()
    for _ in 0..<NotificationPolicy.Grants.maxWatches {
      guard case .grant(.watch) = try decide("epoll_ctl", [3, 1], grants: grants) else { break }
      grants.add(.watch)
    }
    #expect(grants.watches.held == NotificationPolicy.Grants.maxWatches)
    #expect(try decide("epoll_ctl", [3, 1], grants: grants) == .count(.watches))
    var later = grants
    grants.watches.count(NotificationPolicy.Grants.maxWatches, threads: 1, at: .seconds(1), cost: .seconds(1))
    #expect(errno(of: try decide("epoll_ctl", [3, 1], grants: grants)) == ENOSPC)
    later.watches.count(1, threads: 1, at: .seconds(1), cost: .seconds(1))
    #expect(try decide("epoll_ctl", [3, 1], grants: later) == .grant(.watch), "what is watched no more is given back")
  }

  /// Thirty that ask at once are thirty more, although none of them has begun yet; those of a while ago are counted as
  /// they are.
  @Test func threadsThatWereGrantedCount() throws {
    var policy = Policy()
    policy.limits.threads = 64
    var grants = NotificationPolicy.Grants()
    func ask(running: Int, after microseconds: Int, asker: Int = 1) throws -> Bool {
      let now = Duration.seconds(1) + .microseconds(microseconds)
      grants.starts.noteCall(from: UInt32(asker))
      grants.starts.forgetBegun(at: now) { _, _ in true }
      let decision = try decide(
        "clone", [Self.threadFlags], threads: running, policy: policy, grants: grants, now: now, asker: UInt32(asker))
      guard case .grant(let grant) = decision else { return false }
      grants.add(grant)
      return true
    }
    let granted = try (0..<30).filter { try ask(running: 50, after: $0, asker: 100 + $0) }.count
    #expect(granted == 15, "fifty, fifteen more, and the first one beside the limit")
    #expect(try !ask(running: 64, after: 1000))
    // They ended meanwhile.
    #expect(try ask(running: 40, after: 15_000))
    // One after the other, each is counted once.
    grants = .init()
    for running in 1...64 { #expect(try ask(running: running, after: 50_000 + running * 20)) }
    #expect(try !ask(running: 65, after: 52_000))
  }

  /// One thread that makes another, waits for its end and makes the next has never more than one.
  @Test func threadsThatHaveEndedDontCount() throws {
    var policy = Policy()
    policy.limits.threads = 1
    var grants = NotificationPolicy.Grants()
    for index in 0..<200 {
      grants.starts.noteCall(from: 7)
      let now = Duration.seconds(1) + .microseconds(index * 20)
      let decision = try decide(
        "clone", [Self.threadFlags], policy: policy, grants: grants, now: now, asker: 7)
      #expect(decision == .grant(.thread(asker: 7, at: now)))
      if case .grant(let grant) = decision { grants.add(grant) }
    }
    // Another thread doesn't know how far that is: it waits until the last one has begun, and is counted then.
    func ask(_ milliseconds: Int, running: Int, hasBegun: Bool) throws -> NotificationPolicy.Decision {
      var grants = grants
      let now = Duration.seconds(1) + .milliseconds(milliseconds)
      grants.starts.forgetBegun(at: now) { maker, used in
        #expect(maker == 7 && used == nil)
        return hasBegun
      }
      return try decide(
        "clone", [Self.threadFlags], threads: running, policy: policy, grants: grants, now: now, asker: 8)
    }
    #expect(try ask(5, running: 1, hasBegun: true) == .hold)
    #expect(try ask(20, running: 1, hasBegun: true) == .grant(.thread(asker: 8, at: .seconds(1) + .milliseconds(20))))
    #expect(errno(of: try ask(20, running: 2, hasBegun: true)) == EAGAIN)
    // Its maker waits for a processor, or was stopped before it made it.
    #expect(try ask(20, running: 1, hasBegun: false) == .hold)
    #expect(try ask(900, running: 1, hasBegun: false) == .hold)
    #expect(errno(of: try ask(1100, running: 1, hasBegun: false)) == EAGAIN)
  }

  @Test func timesAreChangedOnlyOfWhatIsTheRuns() throws {
    for hidesFiles in [false, true] {
      for name in ["utime", "utimes", "utimensat", "futimesat", "stat", "openat"] {
        var call = ol_notification()
        call.architecture = CallArchitecture.native
        call.number = try #require(Self.numbers[name])
        call.architecture = CallArchitecture.native
        let policy = NotificationPolicy(
          policy: .init(), grants: .init(), isLoading: false, hidesFiles: hidesFiles, threads: { 1 }, now: .zero)
        let isDenied = !hidesFiles && SystemCalls.times.contains(name)
        #expect((policy.decide(call) == .proceed) != isDenied, "\(name)")
      }
    }
  }

  /// Where a signal could reach another process.
  @Test func aRunnerSignalsItself() throws {
    func decide(_ process: UInt64, runner: pid_t) throws -> Int32? {
      var call = ol_notification()
      (call.architecture, call.number) = (CallArchitecture.native, try #require(Self.numbers["tgkill"]))
      (call.arguments.0, call.arguments.1, call.arguments.2) = (process, 4711, UInt64(SIGKILL))
      let policy = NotificationPolicy(
        policy: .init(), grants: .init(), isLoading: false, runner: runner, threads: { 1 }, now: .zero)
      let decision = policy.decide(call)
      if decision != .proceed { #expect(errno(of: decision) != nil) }
      return errno(of: decision)
    }
    #expect(try decide(4711, runner: 4711) == nil)
    #expect(try decide(0xdead_beef_0000_1267, runner: 4711) == nil, "the kernel reads the low half")
    for other in [0, 1, 4712, 0xffff_ffff, 4711 << 32] as [UInt64] {
      #expect(try decide(other, runner: 4711) == EPERM)
      #expect(try decide(other, runner: 0) == EPERM)
    }
  }

  @Test func pathsAreNoted() throws {
    var policy = Policy()
    policy.observesFiles = true
    for name in ["openat", "readlinkat", "symlinkat", "rename", "linkat"] {
      #expect(try decide(name, policy: policy) == .note(name, paths: SystemCalls.pathArguments(of: name)))
    }
  }

  @Test("a mode that is changed is noted where paths are, and rights of other users are refused all the same")
  func modes()
    throws
  {
    var policy = Policy()
    policy.observesFiles = true
    for (name, place) in [("chmod", 1), ("fchmod", 1), ("fchmodat", 2)] {
      func decide(_ mode: UInt64) throws -> NotificationPolicy.Decision {
        try self.decide(name, Array(repeating: 0, count: place) + [mode], policy: policy)
      }
      #expect(try decide(0o777) == .note(name, paths: SystemCalls.pathArguments(of: name)))
      for mode in [0o4755, 0o2755] as [UInt64] { #expect(errno(of: try decide(mode)) == EPERM) }
    }
  }

  @Test("a file that may only be read isn't emptied where nothing else guards it", arguments: [false, true])
  func truncation(observes: Bool) throws {
    var policy = Policy()
    policy.observesFiles = observes
    func decide(_ name: String, _ arguments: [UInt64], _ refuses: Bool) throws -> NotificationPolicy.Decision {
      var call = ol_notification()
      (call.number, call.architecture) = (try #require(Self.numbers[name]), CallArchitecture.native)
      (call.arguments.0, call.arguments.1, call.arguments.2) = (arguments[0], arguments[1], arguments[2])
      return NotificationPolicy(
        policy: policy, grants: .init(), isLoading: false, hidesFiles: false, refusesTruncation: refuses,
        threads: { 1 },
        now: .seconds(1)
      ).decide(call)
    }
    for (name, arguments) in [
      ("truncate", [0, 7, 0]), ("open", [0, 0o1000, 0]), ("open", [0, 0o1003, 0]), ("openat", [0, 0, 0o1000]),
    ] as [(String, [UInt64])] {
      #expect(try errno(of: decide(name, arguments, true)) == EACCES, "\(name)")
      #expect(try errno(of: decide(name, arguments, false)) == nil, "\(name)")
    }
    #expect(try errno(of: decide("openat", [0, 0, 0o1001], true)) == nil)
  }

  @Test func numbersWithoutNames() {
    var call = ol_notification()
    call.architecture = CallArchitecture.native
    for number in [600, 1 << 20, -1, 0x3fff_ffff] as [Int32] {
      call.number = number
      let policy = NotificationPolicy(policy: .init(), grants: .init(), isLoading: true, threads: { 1 }, now: .zero)
      #expect(
        policy.decide(call)
          == .deny(wall: "seccomp", name: "syscall \(number)", target: "", code: ENOSYS, kills: false))
    }
  }

  @Test func killsWhereThePolicySays() throws {
    var policy = Policy()
    policy.systemCalls.onDenied = ["socket": .kill, "execve": .deny]
    #expect(
      try decide("socket", [2, 1, 0], policy: policy)
        == .deny(wall: "seccomp", name: "socket", target: "0x2, 0x1, 0x0", code: EAFNOSUPPORT, kills: true))
    #expect(
      try decide("execve", [0xdead_beef], policy: policy)
        == .deny(wall: "seccomp", name: "execve", target: "", code: EACCES, kills: false))
  }
}
