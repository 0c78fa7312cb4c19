import Glibc
import Testing

@testable import Sandbox

@Suite(.timeLimit(.minutes(1))) struct SeccompProgramTests {
  static let everyOption: [SeccompProgram.Options] = (0..<16).map {
    var options = SeccompProgram.Options()
    options.observesFiles = $0 & 1 != 0
    options.hidesFiles = $0 & 2 != 0
    options.isolatesProcesses = $0 & 4 != 0
    options.countsSharedMemory = $0 & 8 != 0
    return options
  }

  static let writable = UInt64(PROT_READ | PROT_WRITE)
  static let executable = UInt64(PROT_READ | PROT_EXEC)
  static let garbage: UInt64 = 0xdead_beef_0000_0000

  private func verdict(
    _ name: String, _ arguments: [UInt64] = [], _ options: SeccompProgram.Options = .init()
  ) throws -> FilterMachine.Verdict {
    let number = try #require(SystemCalls.number(of: name))
    return try FilterMachine(SeccompProgram(options).bytes).run(.init(number: UInt32(number), arguments: arguments))
  }

  @Test(arguments: everyOption) func compiles(_ options: SeccompProgram.Options) throws {
    let program = try SeccompProgram(options)
    #expect(program.bytes.count % 8 == 0)
    #expect((16...4096).contains(FilterMachine(program.bytes).count))
    #expect(try SeccompProgram(options) == program, "the same options give the same program")
  }

  /// Every number with every option ends in a verdict; none is let through that isn't on a list.
  @Test(arguments: everyOption) func decidesEveryNumber(_ options: SeccompProgram.Options) throws {
    let machine = FilterMachine(try SeccompProgram(options).bytes)
    let byArgument = [
      "mmap", "mprotect", "ioctl", "fcntl", "prctl", "prlimit64", "chmod", "fchmod", "fchmodat", "kill", "tkill",
      "tgkill", "setpriority", "close_range", "fallocate", "getsockopt",
    ]
    let open = Set((SystemCalls.allowed + SystemCalls.paths + byArgument).compactMap(SystemCalls.number(of:)))
    for number in Int32(0)...700 {
      let verdict = machine.run(.init(number: UInt32(number)))
      switch verdict {
      case .allow: #expect(open.contains(number), "\(SystemCalls.name(of: number) ?? "\(number)")")
      case .notify, .errno: break
      default: Issue.record("\(number): \(verdict)")
      }
    }
  }

  /// Landlock before its third version lets a file be emptied by who may only read it.
  @Test(arguments: [false, true], [false, true]) func nothingIsEmptiedWhereNothingGuardsIt(
    _ observes: Bool, _ hasListener: Bool
  ) throws {
    var options = SeccompProgram.Options()
    (options.hidesFiles, options.observesFiles, options.hasListener) = (false, observes, hasListener)
    let (cut, creates) = (0o1000, 0o100) as (UInt64, UInt64)
    var calls: [(String, [UInt64])] = [("truncate", [0, 7])]
    for flags in [cut, cut | 3, cut | creates, Self.garbage | cut] {
      calls += [("open", [0, flags]), ("openat", [0, 0, flags])]
    }
    for (name, arguments) in calls {
      if !observes { #expect(try verdict(name, arguments, options) == .allow, "\(name) \(arguments)") }
      options.refusesTruncation = true
      let refused = try verdict(name, arguments, options)
      #expect(refused != .allow && (!hasListener || refused == .notify), "\(name) \(arguments): \(refused)")
      options.refusesTruncation = false
    }
    options.refusesTruncation = true
    // Who asks for the right to write has it, or not, by Landlock.
    for flags in [0, 1, 2, cut | 1, cut | 2, creates, 3] as [UInt64] where !observes {
      #expect(
        try verdict("open", [0, flags], options) == .allow && verdict("openat", [0, 0, flags], options) == .allow)
    }
  }

  /// Without a mount namespace a plugin finds every file of its user.
  @Test(arguments: [false, true]) func timesBelongToWhatIsHidden(_ observes: Bool) throws {
    var options = SeccompProgram.Options()
    (options.hidesFiles, options.observesFiles) = (false, observes)
    let machine = FilterMachine(try SeccompProgram(options).bytes)
    for name in ["utime", "utimes", "utimensat", "futimesat", "chmod", "fchmod", "fchmodat"] {
      let number = try #require(SystemCalls.number(of: name))
      #expect(machine.run(.init(number: UInt32(number))) == .notify, "\(name)")
    }
  }

  @Test(
    arguments: [
      ("read", []), ("write", []), ("openat", []), ("futex", []), ("exit_group", []), ("sendmsg", []), ("tgkill", []),
      ("mmap", [0, 4096, writable, 0x22]), ("mmap", [0, 4096, UInt64(PROT_READ), 2]), ("mmap", [0, 4096, 0, 0x4022]),
      ("mprotect", [0, 4096, writable]),
      ("ioctl", [0, 0x5401]), ("ioctl", [0, garbage | 0x5401]), ("ioctl", [1, 0x5413]),
      ("fcntl", [3, 1030]), ("fcntl", [3, 5]), ("fcntl", [3, 36]), ("prctl", [15]), ("prlimit64", [0, 7, 0, 0xdead]),
      ("personality", [0xffff_ffff]),
      ("chmod", [0, 0o755]), ("kill", []), ("openat", [0, 0, 0o100, 0o1777]), ("open", [0, 0o100, 0o777]),
      ("close_range", [3, 9, 0]), ("close_range", [3, 9, 4]), ("utimensat", []),
      ("fallocate", [3, 0, 0, 9]), ("fallocate", [3, garbage | 3, 0, 9]), ("getsockopt", [3, 1, 4]),
      ("getsockopt", [3, garbage | 1, garbage | 3]),
      ("setpriority", [0, 0, 19]), ("setpriority", [garbage, garbage, 0]),
    ] as [(String, [UInt64])])
  func allows(_ name: String, _ arguments: [UInt64]) throws {
    #expect(try verdict(name, arguments) == .allow)
  }

  @Test(
    arguments: [
      ("close_range", [3, 9, 2]), ("close_range", [3, 9, garbage | 6]), ("openat", [0, 0, 0o100, 0o4755]),
      ("open", [0, 0, 0o2000]), ("creat", [0, 0o6000]), ("openat2", []),
      ("execve", []), ("execveat", []), ("fork", []), ("vfork", []), ("clone", [0x3d0f00]), ("ptrace", []), ("bpf", []),
      ("mmap", [0, 4096, executable, 2]), ("mmap", [0, 4096, garbage | executable, 2]),
      ("mmap", [0, 4096, UInt64(PROT_EXEC), 0x22]), ("mmap", [0, 4096, writable, 0x40022]),
      ("mmap", [0, 4096, writable, 0x2022]), ("mprotect", [0, 4096, executable]),
      ("pkey_mprotect", [0, 4096, writable]),
      // TIOCSTI and TIOCLINUX: the kernel looks at the low half alone.
      ("ioctl", [0, 0x5412]), ("ioctl", [0, garbage | 0x5412]), ("ioctl", [0, 0x541c]),
      ("fcntl", [0, 8]), ("fcntl", [0, 6]), ("fcntl", [0, 7]), ("fcntl", [0, 37]), ("fcntl", [0, 38]),
      ("fcntl", [0, garbage | 6]), ("fcntl", [0, 1024]), ("prctl", [22]), ("prctl", [8]),
      ("prlimit64", [0, 7, 0xdead]), ("prlimit64", [1, 7, 0]), ("prlimit64", [0, 7, 0xdead_0000_0000]),
      ("personality", [0]), ("fallocate", [3, 1]), ("fallocate", [3, garbage | 1]), ("fallocate", [3, 0x20]),
      // SO_PEERCRED, SO_PEERPIDFD; the kernel looks at the low half alone.
      ("getsockopt", [3, 1, 17]), ("getsockopt", [3, 1, 77]), ("getsockopt", [3, garbage | 1, garbage | 77]),
      ("getsockopt", [3, 6, 4]),
      ("setpriority", [0, 0, 0xffff_fff6]), ("setpriority", [1, 7, 5]), ("setpriority", [0, 7, 5]),
      ("setpriority", [0, garbage | 7, 0]), ("chmod", [0, 0o4755]),
      ("fchmodat", [0, 0, 0o2755]),
      ("socket", [1, 1, 0]), ("socket", [2, 1, 0]), ("socket", [1, 0o2004001, 1]), ("socket", [40, 1, 0]),
      ("socketpair", [1, 1, 0]), ("connect", []), ("bind", []), ("unshare", []), ("setns", []), ("mount", []),
      ("io_uring_setup", []), ("userfaultfd", []), ("perf_event_open", []), ("process_vm_writev", []), ("mlock", []),
      ("setrlimit", []), ("memfd_create", []), ("shmget", []), ("pidfd_getfd", []), ("seccomp", []),
    ] as [(String, [UInt64])])
  func notifies(_ name: String, _ arguments: [UInt64]) throws {
    guard SystemCalls.isKnown(name) else {
      // Newer architectures lack the older calls.
      #if arch(x86_64)
        Issue.record("\(name) isn't known")
      #endif
      return
    }
    #expect(try verdict(name, arguments) == .notify)
  }

  @Test func answersWhatLibrariesProbe() throws {
    // What holds anyway is answered, and not done. Real-time schedulers and the high bits of others are refused.
    #expect(try verdict("sched_setscheduler", [Self.garbage, Self.garbage, 0]) == .errno(0))
    for policy in [1, 2, 3, 5, 6, 0x4000_0000] as [UInt64] {
      #expect(try verdict("sched_setscheduler", [0, policy, 0]) == .notify)
    }
    #expect(try verdict("clone3") == .errno(UInt16(ENOSYS)))
    for (family, kind) in [(1, 0o2004001), (16, 0o2000003), (2, 0o2004002), (10, 0o2000002)] as [(UInt64, UInt64)] {
      #expect(try verdict("socket", [family, kind, 0]) == .errno(UInt16(EAFNOSUPPORT)))
      #expect(try verdict("socket", [Self.garbage | family, Self.garbage | kind, 0]) == .errno(UInt16(EAFNOSUPPORT)))
    }
  }

  /// Told apart from a SIGSYS of the plugin's own by who is asked; where there is no host to ask, the filter ends the process.
  @Test(arguments: everyOption, [true, false])
  func otherArchitecturesEndARun(_ options: SeccompProgram.Options, _ hasListener: Bool) throws {
    var options = options
    options.hasListener = hasListener
    let machine = FilterMachine(try SeccompProgram(options).bytes)
    let expected: FilterMachine.Verdict = hasListener ? .notify : .killProcess
    for architecture in [0x4000_0003, 0x4000_0028, 0xc000_00b7, 0xc000_003e, 0] as [UInt32]
    where architecture != FilterMachine.native {
      for number in 0...440 as ClosedRange<UInt32> {
        #expect(machine.run(.init(number: number, architecture: architecture)) == expected)
      }
    }
    #if arch(x86_64)
      for number in [0, 1, 59, 520, 0x3fff_ffff, 0x4000_0000] as [UInt32] {
        #expect(machine.run(.init(number: number | 0x4000_0000)) == expected)
      }
    #endif
  }

  @Test func notifiesUnknownNumbers() throws {
    let machine = FilterMachine(try SeccompProgram(.init()).bytes)
    for number in [600, 1023, 0x3fff_ffff] as [UInt32] { #expect(machine.run(.init(number: number)) == .notify) }
  }

  /// A signal that interrupts a notified call begins it anew, but what isn't a call the kernel doesn't begin anew.
  @Test(arguments: everyOption, [true, false])
  func answersWhatIsNoCall(_ options: SeccompProgram.Options, _ hasListener: Bool) throws {
    var options = options
    options.hasListener = hasListener
    options.rules = [try CallRule(.kill, "prctl", argument: 0, equals: [15])]
    let machine = FilterMachine(try SeccompProgram(options).bytes)
    for architecture in [FilterMachine.native, 0x4000_0003] {
      #expect(machine.run(.init(number: .max, architecture: architecture)) == .errno(UInt16(ENOSYS)))
    }
  }

  @Test func sharedMemoryIsNotifiedWithoutACgroup() throws {
    var options = SeccompProgram.Options()
    for isCounted in [false, true] {
      options.countsSharedMemory = isCounted
      let other: FilterMachine.Verdict = isCounted ? .notify : .allow
      for flags in [0x21, 0x23, 0x4021, Self.garbage | 0x21] as [UInt64] {
        #expect(try verdict("mmap", [0, 4096, Self.writable, flags], options) == other)
      }
      // Private, or of a file.
      for flags in [0x22, 0x4022, 1, 2, 3] as [UInt64] {
        #expect(try verdict("mmap", [0, 4096, Self.writable, flags], options) == .allow)
      }
      for flags in [0x2001, 0x40001, 0x42021, 0x2022] as [UInt64] {
        #expect(try verdict("mmap", [0, 4096, Self.writable, flags], options) == .notify)
      }
    }
  }

  @Test func optionsDecide() throws {
    var options = SeccompProgram.Options()
    options.observesFiles = true
    for name in SystemCalls.paths where SystemCalls.isKnown(name) { #expect(try verdict(name, [], options) == .notify) }
    #expect(try verdict("chmod", [0, 0o755], options) == .notify)
    #expect(try verdict("fchmod", [0, 0o755], options) == .notify)
    #expect(try verdict("fchmodat", [0, 0, 0o755], options) == .notify)
    options = .init()
    options.hidesFiles = false
    #expect(try verdict("chmod", [0, 0o755], options) == .notify)
    options = .init()
    options.isolatesProcesses = false
    #expect(try verdict("kill", [], options) == .notify)
    #expect(try verdict("tkill", [], options) == .notify)
    #expect(try verdict("tgkill", [], options) == .notify)
  }
}
