import Foundation
import Glibc
import LinuxSystem
import Sandbox
import TestSupport
import Testing

@testable import PluginHost

/// Plugins whose policy allows them processes: together they have what one has.
@Suite(.ownThreads, .withMemoryCgroup, .timeLimit(.minutes(5))) struct ProcessTests {
  private final class Scene {
    let folder: String
    let host: PluginHost

    init() throws {
      folder = try LibraryTests.folder()
      host = try Workspace.host()
      try LibraryTests.compile(ProcessPlugin.source, "-O1 -pthread -o processes.so", in: folder)
    }

    deinit {
      host.stop()
      try? FileManager.default.removeItem(atPath: folder)
    }

    func load(_ policy: Policy, container: String? = nil) async throws -> Plugin {
      var options = PluginHost.LoadOptions()
      options.container = container
      return try await host.load("\(folder)/processes.so", policy: policy, options: options)
    }

    /// What it returned, and the report.
    func call(
      _ policy: Policy, _ function: String, _ signature: String, _ arguments: CallArgument...
    ) async throws -> (CallValue?, RunReport) {
      let plugin = try await load(policy)
      let value = try? await plugin.call(function, signature, arguments: arguments).value
      return (value, await plugin.end())
    }
  }

  private static func policy(_ processes: Int = 4, executes programs: [String] = []) -> Policy {
    var policy = Policy(limits: Limits(wallTime: .seconds(20), memory: 16 << 20))
    policy.processes = processes
    policy.libraries = programs
    return policy
  }

  private static let two = "i32(i32,i32)"

  @Test("as many as the policy allows run at one time, and one more ends the run") func count() async throws {
    let scene = try Scene()
    let (most, report) = try await scene.call(Self.policy(), "at_once", "i32(i32)", 4)
    #expect(most == .signed(4) && report.outcome.kind == .returned && report.denials.isEmpty, "\(report.outcome)")
    #expect(report.usage.peakProcesses == 4)
    let (none, beyond) = try await scene.call(Self.policy(), "at_once", "i32(i32)", 5)
    #expect(none == nil && beyond.outcome.kind == .policyViolation, "\(beyond.outcome)")
    #expect(beyond.outcome.detail.contains("5 processes beside its own at one time, and the policy allows 4"))
    #expect(beyond.denials.map { "\($0.wall) \($0.operation) \($0.target)" } == ["limits fork 5 of 4"])
  }

  @Test("a fork bomb ends with its run, and nothing of it is left") func bomb() async throws {
    let scene = try Scene()
    let plugin = try await scene.load(Self.policy(64))
    let runner = try #require(await plugin.runnerProcess())
    _ = try? await plugin.call("bomb", "i32()")
    let report = await plugin.end()
    #expect([.policyViolation, .memoryExceeded].contains(report.outcome.kind), "\(report.outcome)")
    #expect(Runners.descendants(of: runner).isEmpty && kill(runner, 0) != 0)
  }

  @Test("without a word in the policy, or with other flags, nothing is started", arguments: [0, 4])
  func refused(processes: Int) async throws {
    let scene = try Scene()
    let plugin = try await scene.load(Self.policy(processes))
    // As fork(3) has it, and with less; another signal at its end, memory shared with a parent that goes on, a parent's
    // sibling, descriptors shared, namespaces of its own, and what only the high half says.
    let allowed: [UInt64] = [0x11, 0x120_0011, 0x4011, 0x110_0011]
    let others: [UInt64] = [
      0x12, 0x00, 0x111, 0x8011, 0x411, 0x211, 0x811, 0x1000_0011, 0x2000_0011, 0x4000_0011, 0x2_0011, 0x11 | 1 << 40,
      0x2011,
    ]
    for flags in allowed {
      let value = try await plugin.call("clone_with", "i32(u64)", .unsigned(flags)).value
      #expect(value == .signed(processes > 0 ? 1 : -Int64(EPERM)), "\(String(flags, radix: 16))")
    }
    for flags in others {
      let value = try await plugin.call("clone_with", "i32(u64)", .unsigned(flags)).value
      #expect(value == .signed(-Int64(EPERM)), "\(String(flags, radix: 16))")
    }
    let spawned = try await plugin.call("execute", "i32(cstring,cstring)", "/bin/true", "").value
    #expect(spawned == .signed(-Int64(processes > 0 ? EACCES : EPERM)))
    for name in ["fork", "vfork"] {
      let value = try await plugin.call("by_number", "i32(cstring)", .text(name)).value
      #expect(value == .signed(processes > 0 ? 3 : -Int64(EPERM)), "\(name)")
    }
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test(
    "their CPU time counts as the plugin's, however it learns of their end",
    arguments: ["waited", "ignored", "forgotten"])
  func cpu(how: String) async throws {
    let scene = try Scene()
    let signature = "i32(cstring,i32,i32)"
    let (value, report) = try await scene.call(Self.policy(), "burn_children", signature, .text(how), 5, 40_000)
    // What isn't waited for is known until the last look at it.
    let least = how == "waited" ? 0.19 : 0.1
    #expect(value == .signed(5) && report.usage.cpuSeconds > least && report.usage.cpuSeconds < 0.5, "\(report.usage)")
    var policy = Self.policy()
    policy.limits.cpu = .milliseconds(200)
    // Long ones, and ones that begin and end within one look or two.
    for (count, each) in [(100, 40_000), (20_000, 600)] {
      let (none, ended) = try await scene.call(
        policy, "burn_children", signature, .text(how), .integer(Int64(count)), .integer(Int64(each)))
      #expect(none == nil && ended.outcome.kind == .cpuTimeExceeded, "\(ended.outcome) \(ended.usage)")
    }
  }

  @Test("the threads of a child count with it, and all threads share one limit") func threads() async throws {
    let scene = try Scene()
    var policy = Self.policy()
    let (value, report) = try await scene.call(policy, "burn_threads", Self.two, 4, 50_000)
    #expect(value == .signed(0) && report.usage.cpuSeconds > 0.19 && report.usage.cpuSeconds < 0.5, "\(report.usage)")
    policy.limits.cpu = .milliseconds(200)
    let (none, ended) = try await scene.call(policy, "burn_threads", Self.two, 4, 10_000_000)
    #expect(none == nil && ended.outcome.kind == .cpuTimeExceeded, "\(ended.outcome)")
    policy = Self.policy()
    policy.limits.threads = 12
    let (made, last) = try await scene.call(policy, "threads_of_children", "i32(i32)", 3)
    // The first of each process among them, and twelve beside the plugin's own.
    #expect(made == .signed(9), "\(String(describing: made)) \(last.denials)")
    #expect(last.denials.contains { $0.wall == "limits" && $0.operation == "clone" })
  }

  @Test("their memory counts as the plugin's, and one that is ended for it ends the run") func memory() async throws {
    let scene = try Scene()
    let (value, report) = try await scene.call(Self.policy(), "fill_child", "i32(i32)", 8)
    #expect(value == .signed(0) && report.usage.peakMemoryBytes >= 8 << 20, "\(report.outcome) \(report.usage)")
    // The answer may be there before the host looks.
    let (_, ended) = try await scene.call(Self.policy(), "fill_child", "i32(i32)", 64)
    #expect(ended.outcome.kind == .memoryExceeded, "\(ended.outcome)")
    #expect(ended.usage.peakMemoryBytes == 16 << 20)
  }

  @Test(
    "what crashes in a child is the plugin's to know, and no crash of its own",
    arguments: [SIGSEGV, SIGABRT, SIGKILL, SIGSYS])
  func crash(signal: Int32) async throws {
    let scene = try Scene()
    let plugin = try await scene.load(Self.policy())
    #expect(
      try await plugin.call("crash_child", "i32(i32)", .integer(Int64(signal))).value == .signed(Int64(1000 + signal)))
    #expect(try await plugin.call("plain", "i32()").value == .signed(7))
    let report = await plugin.end()
    #expect(report.outcome.kind == .returned && report.stack.isEmpty, "\(report.outcome)")
  }

  @Test("SIGCONT is sent to no process, since it would undo the host's signal by running behind it")
  func refusesSIGCONT()
    async throws
  {
    let scene = try Scene()
    for processes in [0, 4] {
      let plugin = try await scene.load(Self.policy(processes))
      let go = Int64(SIGCONT)
      let numbers: [Int64] = [0, Int64(SIGCHLD), Int64(SIGURG), go, go | Int64(1) << 32, go | 128]
      for number in numbers {
        // kill(2), tkill(2) and tgkill(2).
        for call in 0..<3 as Range<Int64> {
          let arguments = [CallArgument(integerLiteral: call), CallArgument(integerLiteral: number)]
          let value = try await plugin.call("send", "i32(i32,i64)", arguments: arguments).value
          let isRefused = number & 0x7f == go
          #expect(value == .signed(isRefused ? -Int64(EPERM) : 0), "\(call) \(number)")
        }
      }
      #expect(await plugin.end().outcome.kind == .returned)
    }
  }

  @Test("names and zombies hide nothing", arguments: ["\u{600}", "a) Z 1 (", "é"]) func names(name: String) async throws
  {
    let scene = try Scene()
    var policy = Self.policy()
    policy.limits.cpu = .milliseconds(200)
    let (none, ended) = try await scene.call(policy, "burn_named", "i32(cstring,i32)", .text(name), 3_000_000)
    #expect(none == nil && ended.outcome.kind == .cpuTimeExceeded, "\(ended.outcome)")
    // As many as are left while the host has a processor seldom: what it never saw alive it doesn't count.
    let (left, last) = try await scene.call(Self.policy(), "leave_zombies", "i32(i32)", 3000)
    #expect(left == nil && last.outcome.kind == .policyViolation, "\(String(describing: left)) \(last.outcome)")
    #expect(last.outcome.detail.contains("more than 64"), "\(last.outcome)")
  }

  /// A child writes while the plugin is called, and not when the plugin is idle.
  @Test(
    "between calls all processes are stopped at once, whatever they prepare",
    arguments: ["plain", "daemon", "friends", "woken"])
  func frozen(how: String) async throws {
    let scene = try Scene()
    let container = "\(scene.folder)/container"
    try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
    func size() -> Int {
      ((try? FileManager.default.attributesOfItem(atPath: "\(container)/canary"))?[.size] as? Int) ?? 0
    }
    let plugin = try await scene.load(Self.policy(), container: container)
    let runner = try #require(await plugin.runnerProcess())
    #expect(try await plugin.call("go_on", "i32(cstring,cstring)", .text(how), "/container/canary").value == .signed(0))
    // Called again until it has written: the plugin may have become idle before that.
    while size() < 3 { _ = try await plugin.call("plain", "i32()") }
    let processes = [runner] + Runners.descendants(of: runner)
    #expect(processes.count >= 2)
    func areStopped() -> Bool { processes.allSatisfy { Self.state($0) == "T" } }
    while !areStopped() { try await Task.sleep(for: .milliseconds(1)) }
    let before = size()
    var looks: [Bool] = []
    for _ in 0..<60 {
      try await Task.sleep(for: .milliseconds(3))
      looks.append(areStopped())
    }
    #expect(looks.allSatisfy { $0 } && size() == before)
    // A call lets all of them go on.
    while size() == before { _ = try await plugin.call("plain", "i32()") }
    _ = await plugin.end()
    let left = size()
    #expect(processes.allSatisfy { kill($0, 0) != 0 })
    try await Task.sleep(for: .milliseconds(20))
    #expect(size() == left, "no process outlives the end")
  }

  /// Of proc_pid_stat(5); Z where it is gone.
  private static func state(_ pid: Int32) -> String {
    guard let text = try? Files.text(of: "/proc/\(pid)/stat"), let end = text.lastIndex(of: ")") else { return "Z" }
    let state = String(text[text.index(after: end)...].split(separator: " ").first ?? "Z")
    return state == "Z" ? "T" : state
  }

  @Test("no fork fails for a signal that comes meanwhile") func interrupted() async throws {
    let scene = try Scene()
    let (value, report) = try await scene.call(Self.policy(), "interrupted", "i32(i32)", 200)
    #expect(value == .signed(0), "\(report.outcome)")
  }

  @Test("programs that the policy names are executed, under the plugin's walls and without its channels")
  func programs() async throws {
    let scene = try Scene()
    try LibraryTests.compile(ProcessPlugin.program, "-o program", in: scene.folder, isProgram: true)
    let program = "\(scene.folder)/program"
    let copy = "\(scene.folder)/other"
    try FileManager.default.copyItem(atPath: program, toPath: copy)
    let plugin = try await scene.load(Self.policy(executes: [program]))
    func execute(_ path: String, _ word: String) async throws -> CallValue {
      try await plugin.call("execute", "i32(cstring,cstring)", .text(path), .text(word)).value
    }
    #expect(try await execute(program, "") == .signed(42))
    // Standard input, output and error.
    #expect(try await execute(program, "descriptors") == .signed(3))
    #expect(try await execute(program, "secret") == .signed(Int64(ENOENT)))
    #expect(try await execute(program, "code") == .signed(Int64(EACCES)))
    #expect(try await execute(copy, "") == .signed(-Int64(ENOENT)))
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("what may be read or written isn't executed", arguments: [true, false]) func dataIsNoProgram(writes: Bool)
    async throws
  {
    let scene = try Scene()
    try LibraryTests.compile(ProcessPlugin.program, "-o program", in: scene.folder, isProgram: true)
    let data = "\(scene.folder)/data"
    try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: "\(scene.folder)/program", toPath: "\(data)/program")
    var policy = Self.policy(executes: ["\(scene.folder)/program"])
    if writes { policy.write = [data] } else { policy.read = [data] }
    policy.observesFiles = true
    let plugin = try await scene.load(policy)
    let value = try await plugin.call("execute", "i32(cstring,cstring)", .text("\(data)/program"), "").value
    #expect(value == .signed(-Int64(EACCES)))
    let report = await plugin.end()
    #expect(
      report.denials.contains { $0.wall == "files" && $0.operation == "execve" && $0.target == "\(data)/program" },
      "\(report.denials)")
  }

  @Test("a program that isn't allowed is in the report by its name", arguments: [0, 4]) func named(processes: Int)
    async throws
  {
    let scene = try Scene()
    var policy = Self.policy(processes)
    policy.observesFiles = geteuid() != 0
    let plugin = try await scene.load(policy)
    let value = try await plugin.call("execute", "i32(cstring,cstring)", "/bin/true", "").value
    #expect(value == .signed(-Int64(processes == 0 ? EPERM : EACCES)))
    let report = await plugin.end()
    let expected = processes == 0 ? ("clone", "0x4111") : ("execve", "/bin/true")
    #expect(
      report.denials.contains { $0.wall == "seccomp" && $0.operation == expected.0 && $0.target == expected.1 },
      "\(report.denials)")
  }

  @Test(
    "a program whose interpreter or loader isn't allowed is refused in the report by that one's name",
    arguments: ["script", "nested", "program"])
  func interpreters(kind: String) async throws {
    let scene = try Scene()
    let path = "\(scene.folder)/\(kind)"
    // The granted one is interpreted by what isn't.
    let (missing, outer) = ("/bin/dash", "\(scene.folder)/outer")
    switch kind {
    case "script": try Self.write("#! \(missing) -e\necho 1\n", to: path)
    case "nested":
      try Self.write("#!\(missing)\n", to: path)
      try Self.write("#!\(path)\n", to: outer)
    default:
      let loader = "-Wl,--dynamic-linker=\(missing)"
      try LibraryTests.compile(ProcessPlugin.program, "\(loader) -o program", in: scene.folder, isProgram: true)
    }
    let named = kind == "nested" ? outer : path
    var policy = Self.policy(executes: kind == "nested" ? [outer, path] : [path])
    policy.observesFiles = true
    let plugin = try await scene.load(policy)
    let value = try await plugin.call("execute", "i32(cstring,cstring)", .text(named), "").value
    #expect(value == .signed(-Int64(ENOENT)) || value == .signed(-Int64(EACCES)))
    let report = await plugin.end()
    let refused = try #require(report.denials.first { $0.operation == "execve" }, "\(report.denials)")
    #expect(refused.wall == "files" && refused.target == missing && !refused.writes, "\(report.denials)")
    #expect(report.denials.count { $0.operation == "execve" } == 1, "\(report.denials)")
  }

  private static func write(_ text: String, to path: String) throws {
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
  }

  @Test("recording finds a script's interpreter") func recordedScript() throws {
    let scene = try Scene()
    let (policy, script) = ("\(scene.folder)/recorded.yaml", "\(scene.folder)/script")
    try Self.write("#!/bin/dash\nexit 42\n", to: script)
    let call = ["\(scene.folder)/processes.so", "execute", "i32(cstring,cstring)", script, ""]
    let recording = try Workspace.run(["policy", "record", "--processes", "--output", policy, "call"] + call)
    let text = try String(contentsOfFile: policy, encoding: .utf8)
    #expect(recording.status == 0 && text.contains("dash  # execve"), "\(recording) \(text)")
    let end = try Workspace.run(["call", "--policy", policy] + call)
    #expect(end.status == 0 && end.output == "42\n", "\(end)")
  }

  @Test(
    "a program that takes the plugin's place is named as what may have ended the run",
    arguments: [("/bin/true", "0"), ("/bin/sleep", "30")])
  func takesItsPlace(program: String, argument: String) async throws {
    let scene = try Scene()
    let policy = Self.policy(executes: [program])
    let (value, report) = try await scene.call(
      policy, "becomes", "i32(cstring,cstring)", .text(program), .text(argument))
    #expect(value == nil && [.crashed, .protocolViolation].contains(report.outcome.kind), "\(report.outcome)")
    #expect(report.outcome.detail.contains("that took the plugin's place"), "\(report.outcome)")
  }

  @Test("recording finds how many processes and which programs, and the recorded policy is enough") func recorded()
    throws
  {
    let scene = try Scene()
    let policy = "\(scene.folder)/recorded.yaml"
    let call = ["\(scene.folder)/processes.so", "shell", "i32(cstring)", "echo 42 | wc -c"]
    func record(_ options: String...) throws -> String {
      let end = try Workspace.run(["policy", "record", "--output", policy] + options + ["call"] + call)
      #expect([0, 1].contains(end.status), "\(end)")
      return try String(contentsOfFile: policy, encoding: .utf8)
    }
    let named = try record()
    #expect(named.contains("# not granted: processes; --processes lets it start them"), "\(named)")
    let granted = try record("--processes")
    for line in ["    - /bin/sh  # execve", "    - /usr/bin/wc  # execve", "processes: ", "executableMemory: later"] {
      #expect(granted.contains("\n" + line), "\(granted)")
    }
    let end = try Workspace.run(["call", "--policy", policy] + call)
    #expect(end.status == 0 && end.output == "3\n" && end.errors.contains(", processes "), "\(end)")
  }

  @Test("a plan without what keeps processes together isn't begun") func unavailable() async throws {
    let scene = try Scene()
    var options = PluginHost.LoadOptions()
    options.withoutWalls = [.cgroup]
    let error = await #expect(throws: HostError.self) {
      try await scene.host.load("\(scene.folder)/processes.so", policy: Self.policy(), options: options)
    }
    guard case .ended(let report)? = error else { return #expect(Bool(false), "\(String(describing: error))") }
    #expect(report.outcome.kind == .wallUnavailable && report.outcome.detail.contains("a memory cgroup"))
    for processes in [-1, Policy.maxProcesses + 1, .max, .min] {
      let error = await #expect(throws: HostError.self) {
        try await scene.host.load("libc.so.6", policy: Self.policy(processes))
      }
      guard case .usage? = error else { return #expect(Bool(false), "\(String(describing: error))") }
    }
  }
}
