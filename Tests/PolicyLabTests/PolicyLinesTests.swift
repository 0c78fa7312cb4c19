import Sandbox
import TestSupport
import Testing

@testable import PluginHost
@testable import PolicyLab

/// Which line of a policy a trace names.
@Suite(.timeLimit(.minutes(1))) struct PolicyLinesTests {
  private static func policy(_ change: (inout Policy) throws -> Void) -> Policy {
    var policy = Policy()
    try? change(&policy)
    return policy
  }

  private static func limits(_ change: (inout Limits) -> Void) -> Limits {
    var limits = Limits()
    change(&limits)
    return limits
  }

  private static let hosts = policy {
    $0.network = [try NetworkEndpoint("example.com:443"), try NetworkEndpoint("[2001:db8::1]:80")]
  }
  private static let programs = policy {
    $0.processes = 3
    $0.libraries = ["/usr/bin/true"]
  }

  @Test(
    "what a policy lets through has the line that does so, and without one there is none",
    arguments: [
      (hosts, .connection(try! NetworkEndpoint("example.com:443")), "network: [\"example.com:443\"]"),
      (hosts, .network, "network: [\"example.com:443\", \"[2001:db8::1]:80\"]"),
      (policy { $0.socketPairs = true }, .network, "network: pairs"), (Policy(), .network, nil),
      (programs, .processes, "processes: 3"), (Policy(), .processes, nil),
      (programs, .path("/usr/bin/true"), "files: {execute: [/usr/bin/true]}"), (programs, .path("/usr/bin"), nil),
      (programs, .laterCode, "files: {execute: [/usr/bin/true]}"),
      (policy { $0.executableMemory = .later }, .laterCode, "executableMemory: later"),
      (policy { $0.executableMemory = .justInTime }, .laterCode, "executableMemory: jit"),
      (policy { $0.executableMemory = .justInTime }, .writtenCode, "executableMemory: jit"),
      (policy { $0.executableMemory = .later }, .writtenCode, nil), (Policy(), .laterCode, nil),
      (policy { $0.devices = [.urandom, .null] }, .device(.null), "devices: [null, urandom]"),
    ] as [(Policy, SystemCallTrace.Grant, String?)])
  func grants(policy: Policy, grant: SystemCallTrace.Grant, line: String?) {
    #expect(policy.line(for: grant) == line)
  }

  @Test(
    "which part lets a call through is told by its arguments",
    arguments: [
      (hosts, "socket", [2, 1, 0], false, .network), (Policy(), "socket", [2, 1, 0], false, nil),
      (programs, "clone", [0x11], false, .processes), (programs, "clone", [0x120_0011], false, .processes),
      (programs, "clone", [0x3d0f00], false, nil), (programs, "vfork", [], false, .processes),
      (programs, "execve", [], false, .laterCode), (programs, "mmap", [0, 1, 5, 2], false, .laterCode),
      (programs, "mmap", [0, 1, 5, 2], true, nil), (programs, "mmap", [0, 1, 3, 0x22], false, nil),
      (programs, "mmap", [0, 1, 7, 0x22], true, .writtenCode), (programs, "mprotect", [0, 1, 5], true, nil),
      (programs, "mprotect", [0, 1, 7], true, .writtenCode), (programs, "mprotect", [0, 1, 5], false, .writtenCode),
      (programs, "openat", [], false, nil),
    ] as [(Policy, String, [UInt64], Bool, SystemCallTrace.Grant?)])
  func parts(policy: Policy, call: String, arguments: [UInt64], isLoading: Bool, grant: SystemCallTrace.Grant?) {
    let padded = arguments + Array(repeating: 0, count: 6 - arguments.count)
    #expect(policy.grant(of: call, padded, isLoading: isLoading) == grant)
  }

  @Test(
    "what a policy's own line refuses names it, and what is refused to all doesn't",
    arguments: [
      (limits { $0.threads = 2 }, "limits", "clone", nil, "limits: {threads: 2}"),
      (limits { $0.memory = 3 << 20 }, "limits", "mmap", nil, "limits: {memory: 3MiB}"),
      (limits { $0.openFiles = 30 }, "limits", "openat", nil, "limits: {openFiles: 30}"),
      (limits { $0.fileSize = 4096 }, "limits", "fallocate", nil, "limits: {fileSize: 4KiB}"),
      (limits { $0.fileSize = 4096 }, "limits", "write", nil, "limits: {fileSize: 4KiB}"),
      (Limits(), "limits", "clone", nil, nil), (limits { $0.threads = 2 }, "limits", "fcntl", nil, nil),
      (limits { $0.threads = 2 }, "seccomp", "clone", nil, nil),
      (Limits(), "seccomp", "socket", "systemCalls: {deny: [socket]}", "systemCalls: {deny: [socket]}"),
    ] as [(Limits, String, String, String?, String?)])
  func refusals(limits: Limits, wall: String, call: String, rule: String?, line: String?) {
    let denial = RunReport.Denial(wall: wall, operation: call, target: "", count: 1, rule: rule)
    #expect(Policy(limits: limits).line(refusing: denial) == line)
  }
}
