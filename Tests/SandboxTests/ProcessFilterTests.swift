import Glibc
import Testing

@testable import Sandbox

/// What of signals and processes the filter lets through, for each value of the argument that decides.
@Suite(.timeLimit(.minutes(1))) struct ProcessFilterTests {
  private func verdict(_ machine: FilterMachine, _ name: String, _ argument: Int, _ value: UInt64) throws
    -> FilterMachine.Verdict
  {
    var arguments = [UInt64](repeating: 0, count: 6)
    arguments[argument] = value
    let number = try #require(SystemCalls.number(of: name))
    return machine.run(.init(number: UInt32(number), arguments: arguments))
  }

  @Test("every signal but SIGCONT is sent, whatever the half of the register says that the kernel doesn't read")
  func signals() throws {
    let machine = FilterMachine(try SeccompProgram(.init()).bytes)
    for (name, argument) in [("kill", 1), ("tkill", 1), ("tgkill", 2)] {
      for signal in UInt64(0)...64 {
        for high in [0, 1 << 32, 0xffff_ffff << 32] as [UInt64] {
          let found = try verdict(machine, name, argument, signal | high)
          #expect((found == .allow) == (signal != UInt64(SIGCONT)), "\(name) \(signal)")
        }
      }
      // No signal has a number of eight bits.
      #expect(try verdict(machine, name, argument, UInt64(SIGCONT) | 128) != .allow)
    }
  }

  @Test(
    "processes are made as fork and posix_spawn make them, where a policy has them, and programs are started where it has those"
  )
  func processes() throws {
    for (makes, starts) in [(false, false), (true, false), (true, true)] {
      var options = SeccompProgram.Options()
      (options.makesProcesses, options.startsPrograms) = (makes, starts)
      let machine = FilterMachine(try SeccompProgram(options).bytes)
      for flags in [0x11, 0x120_0011, 0x4111, 0x4011, 0x110_4111] as [UInt64] {
        #expect(try (verdict(machine, "clone", 0, flags) == .allow) == makes, "\(flags)")
        #expect(SystemCalls.startsProcess(flags))
      }
      // Each other bit, and each other signal.
      for bit in (0..<64).map({ UInt64(1) << $0 }) where bit & (SystemCalls.processNumbers | 0x4000) == 0 {
        #expect(
          try verdict(machine, "clone", 0, 0x11 ^ bit) != .allow && !SystemCalls.startsProcess(0x11 ^ bit), "\(bit)")
      }
      for name in ["fork", "vfork"] { #expect(try (verdict(machine, name, 0, 0) == .allow) == makes) }
      #expect(try (verdict(machine, "execve", 0, 0) == .allow) == starts)
      #expect(try (verdict(machine, "arch_prctl", 0, 0x1002) == .allow) == starts)
      #expect(try verdict(machine, "arch_prctl", 0, 0x1001) != .allow)
      for name in ["execveat", "setsid", "setpgid", "clone3", "unshare", "ptrace"] {
        #expect(try verdict(machine, name, 0, 0) != .allow, "\(name)")
      }
    }
  }
}
