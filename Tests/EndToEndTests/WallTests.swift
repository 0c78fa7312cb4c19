import Foundation
import HostProtocol
import PluginHost
import Sandbox
import TestSupport
import Testing

/// Each wall by something that it alone stops. Where a wall can be left open by itself, the same attempt is made without
/// it and has to succeed: a test that passes either way proves nothing.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct WallTests {
  /// What `body` sees with every wall, or with one left open.
  private func value(
    without wall: Wall? = nil, alsoOpen: Set<Wall> = [], policy: Policy = Policy(),
    _ body: (Plugin) async throws -> RunnerMessage.CallResult
  ) async throws -> CallValue {
    let open = alsoOpen.union(wall.map { [$0] } ?? [])
    let host = try Workspace.host(withoutNamespaces: open.intersection(Self.namespaces))
    var options = PluginHost.LoadOptions()
    options.withoutWalls = open.subtracting(Self.namespaces)
    let plugin = try await host.load("libc.so.6", policy: policy, options: options)
    let result = try await body(plugin)
    let report = await plugin.end()
    for wall in open { #expect(report.walls[wall]?.state == .absent) }
    return result.value
  }

  private static let namespaces: Set<Wall> = [
    .userNamespace, .mountNamespace, .pidNamespace, .networkNamespace, .ipcNamespace, .utsNamespace,
  ]

  @Test func seccompStopsSockets() async throws {
    let attempt = { (plugin: Plugin) in try await plugin.call("socket", "i32(i32,i32,i32)", 1, 1, 0) }
    #expect(try await value(attempt) == .signed(-1))
    #expect(try await value(without: .seccomp, attempt) != .signed(-1))
  }

  @Test func landlockStopsListingTheRoot() async throws {
    // O_DIRECTORY: the root is no secret in an empty namespace, and still nothing that was granted.
    let attempt = { (plugin: Plugin) in try await plugin.call("open", "i32(cstring,i32)", "/", 0o200000) }
    #expect(try await value(attempt) == .signed(-1))
    #expect(try await value(without: .landlock, attempt) != .signed(-1))
  }

  @Test func resourceLimitsStopDescriptors() async throws {
    var policy = Policy()
    policy.limits.openFiles = 12
    let attempt = { (plugin: Plugin) in try await plugin.call("dup2", "i32(i32,i32)", 1, 100) }
    #expect(try await value(policy: policy, attempt) == .signed(-1))
    #expect(try await value(without: .rlimits, policy: policy, attempt) == .signed(100))
  }

  @Test(.withMemoryCgroup) func theCgroupIsExact() async throws {
    let host = try Workspace.host()
    func detail(_ open: Set<Wall>) async throws -> String {
      var options = PluginHost.LoadOptions()
      options.withoutWalls = open
      let plugin = try await host.load(
        "libc.so.6", policy: Policy(limits: Limits(wallTime: .seconds(10), memory: 4 << 20)), options: options)
      let memory = try await plugin.call("calloc", "pointer(u64,u64)", 1, .integer(64 << 20))
      guard case .pointer(let address) = memory.value else { return "" }
      _ = try? await plugin.call("memset", "pointer(pointer,i32,u64)", .unsigned(address), 1, .integer(64 << 20))
      let report = await plugin.end()
      #expect(report.outcome.kind == .memoryExceeded)
      if open.isEmpty { #expect(report.usage.peakMemoryBytes <= 4 << 20) }
      return report.outcome.detail
    }
    #expect(try await detail([]).contains("the kernel ended it"))
    #expect(try await detail([.cgroup]).contains("used"))
  }

  @Test("The mount namespace hides what isn't shown [B25]") func theMountNamespaceHides() async throws {
    // stat and access aren't Landlock's to refuse.
    for path in ["/etc/passwd", "/proc/self/status", "/home", "/root", "/sys", "/bin/sh", "/usr/bin/env", "/var"] {
      let found = try await value { try await $0.call("access", "i32(cstring,i32)", .text(path), 0) }
      #expect(found == .signed(-1), "\(path)")
      let control = try await value(without: .mountNamespace) {
        try await $0.call("access", "i32(cstring,i32)", .text(path), 0)
      }
      #expect(control == .signed(0) || !FileManager.default.isReadableFile(atPath: path), "\(path)")
    }
    for path in ["/bundle", "/container", "/tmp", "/usr/lib", "/dev/null"] {
      #expect(
        try await value { try await $0.call("access", "i32(cstring,i32)", .text(path), 0) } == .signed(0), "\(path)")
    }
  }

  @Test func theRootIsReadOnly() async throws {
    for path in ["/x", "/bundle/x", "/usr/lib/x", "/etc/x", "/dev/x"] {
      #expect(
        try await value { try await $0.call("mkdir", "i32(cstring,i32)", .text(path), 0o755) } == .signed(-1), "\(path)"
      )
    }
    #expect(try await value { try await $0.call("mkdir", "i32(cstring,i32)", "/container/x", 0o755) } == .signed(0))
  }

  @Test func theRunnerIsAloneAndNobody() async throws {
    #expect(try await value { try await $0.call("getpid", "i32()") } == .signed(1))
    #expect(try await value(without: .pidNamespace) { try await $0.call("getpid", "i32()") } != .signed(1))
    #expect(try await value { try await $0.call("getuid", "u32()") } == .unsigned(1000))
    #expect(try await value { try await $0.call("setuid", "i32(u32)", 0) } == .signed(-1))
  }

  /// Where no other wall keeps a signal from the user's other processes, the filter does.
  @Test func signalsStayInside() async throws {
    let host = try Workspace.host(withoutNamespaces: [.userNamespace])
    var options = PluginHost.LoadOptions()
    options.withoutWalls = [.landlock]
    let other = try await host.load("libc.so.6")
    // The kernel lets no process renice one that has more capabilities, as the host has where the tests are root's.
    let neighbour = Int64(try #require(await other.runnerProcess()))
    for open in [[], [.seccomp]] as [Set<Wall>] {
      options.withoutWalls.formUnion(open)
      let plugin = try await host.load("libc.so.6", options: options)
      let stopped: CallValue = open.isEmpty ? .signed(-1) : .signed(0)
      for process in [neighbour, Int64(getpid())] {
        #expect(
          try await plugin.call("tgkill", "i32(i32,i32,i32)", .integer(process), .integer(process), 0).value == stopped)
      }
      #expect(
        try await plugin.call("setpriority", "i32(i32,u32,i32)", 0, .integer(neighbour), 1).value == stopped)
      let runner = try #require(await plugin.runnerProcess())
      #expect(try await plugin.call("raise", "i32(i32)", 0).value == .signed(0))
      #expect(
        try await plugin.call("tgkill", "i32(i32,i32,i32)", .integer(Int64(runner)), .integer(Int64(runner)), 0).value
          == .signed(0))
      await #expect(throws: HostError.self) { try await plugin.call("abort", "void()") }
      let report = await plugin.end()
      #expect(report.outcome.kind == .crashed && report.outcome.detail.contains("SIGABRT"), "\(report.outcome)")
      #expect(Set(report.denials.map(\.operation)) == (open.isEmpty ? ["tgkill", "setpriority"] : []))
    }
    _ = await other.end()
  }

  /// From outside, where each is seen to be another one, and the host's own when it alone is left out.
  @Test(arguments: [
    (Wall.userNamespace, "user"), (.networkNamespace, "net"), (.ipcNamespace, "ipc"), (.utsNamespace, "uts"),
    (.mountNamespace, "mnt"), (.pidNamespace, "pid"),
  ]) func namespacesAreOthers(_ wall: Wall, _ kind: String) async throws {
    let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/\(kind)")
    for open in [[], [wall]] as [Set<Wall>] {
      let host = try Workspace.host(withoutNamespaces: open)
      let plugin = try await host.load("libc.so.6")
      let standIn = try #require(await host.forkServerProcess())
      // Without a pid namespace the server needs no process to stand in for it.
      let server =
        open == [.pidNamespace] || open == [.userNamespace]
        ? standIn : try #require(Runners.descendants(of: standIn).first)
      let theirs = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(server)/ns/\(kind)")
      #expect((theirs == own) == open.contains(wall))
      _ = await plugin.end()
    }
  }

  /// A datagram socket that is connected to this machine's own loopback, with the filter open that would stop it before.
  @Test("The network namespace has no network [B12]") func theNetworkNamespaceHasNoNetwork() async throws {
    let connect = { (plugin: Plugin) in
      let socket = try await plugin.call("socket", "i32(i32,i32,i32)", 2, 2, 0)
      guard case .signed(let descriptor) = socket.value else { return socket }
      let address: [UInt8] = [2, 0, 0, 9, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
      return try await plugin.call("connect", "i32(i32,bytes,u32)", .integer(descriptor), .bytes(address), 16)
    }
    #expect(try await value(without: .seccomp, connect) == .signed(-1))
    #expect(try await value(without: .seccomp, alsoOpen: [.networkNamespace], connect) == .signed(0))
  }

  /// A segment of shared memory that anyone on the machine may use.
  @Test func theIPCNamespaceHidesSharedMemory() async throws {
    let key = Int32.random(in: 1 << 20 ... .max)
    let segment = shmget(key, 4096, 0o1666)
    try #require(segment >= 0)
    defer { shmctl(segment, IPC_RMID, nil) }
    let find = { (plugin: Plugin) in try await plugin.call("shmget", "i32(i32,u64,i32)", .integer(Int64(key)), 0, 0) }
    #expect(try await value(without: .seccomp, find) == .signed(-1))
    #expect(try await value(without: .seccomp, alsoOpen: [.ipcNamespace], find) == .signed(Int64(segment)))
  }

  @Test func theUTSNamespaceHidesTheMachinesName() async throws {
    func name(_ wall: Wall?) async throws -> String {
      let host = try Workspace.host(withoutNamespaces: wall.map { [$0] } ?? [])
      let plugin = try await host.load("libc.so.6")
      let result = try await plugin.call("gethostname", "i32(out(256),u64)", 256)
      _ = await plugin.end()
      return String(decoding: result.out[0].prefix { $0 != 0 }, as: UTF8.self)
    }
    #expect(try await name(nil) == "localhost")
    #expect(try await name(.utsNamespace) == ProcessInfo.processInfo.hostName)
  }

  /// Root's runners aren't root, and an ordinary user's are that user's.
  @Test func theUserNamespaceTakesTheIdentity() async throws {
    let identity = { (plugin: Plugin) in try await plugin.call("geteuid", "u32()") }
    #expect(try await value(identity) == .unsigned(1000))
    #expect(try await value(without: .userNamespace, identity) == .unsigned(UInt64(geteuid())))
  }

  @Test func secretsStayOutside() async throws {
    setenv("OUTRIDER_TEST_SECRET", "token", 1)
    defer { unsetenv("OUTRIDER_TEST_SECRET") }
    let seen = try await value { try await $0.call("getenv", "cstring(cstring)", "OUTRIDER_TEST_SECRET") }
    #expect(seen == .cstring(nil))
    let open = try await value(without: .environment) {
      try await $0.call("getenv", "cstring(cstring)", "OUTRIDER_TEST_SECRET")
    }
    #expect(open == .cstring(Array("token".utf8)))
    #expect(
      try await value { try await $0.call("getenv", "cstring(cstring)", "HOME") } == .cstring(Array("/container".utf8)))
  }

  @Test func descriptorsStayOutside() async throws {
    for open in [[], [.descriptors]] as [Set<Wall>] {
      let host = try Workspace.host()
      var options = PluginHost.LoadOptions()
      options.withoutWalls = open
      let plugin = try await host.load("libc.so.6", options: options)
      var found: [Int] = []
      for descriptor in 5..<256 {
        let flags = try await plugin.call("fcntl", "i32(i32,i32)", .integer(Int64(descriptor)), 1).value
        if flags != .signed(-1) { found.append(descriptor) }
      }
      #expect(found.isEmpty == open.isEmpty, "\(found)")
      _ = await plugin.end()
    }
  }

  @Test func capabilitiesAreGone() async throws {
    // PR_CAPBSET_READ of CAP_SYS_ADMIN.
    #expect(try await value { try await $0.call("prctl", "i32(i32,u64)", 23, 21) } == .signed(0))
    #expect(
      try await value {
        try await $0.call("mount", "i32(cstring,cstring,cstring,u64,pointer)", "x", "/tmp", "tmpfs", 0, .null)
      } == .signed(-1))
  }

  /// The filter denies ptrace. Where it is missing, threads of a plugin that have made the fork server their tracer keep its
  /// process from ending until they are reaped.
  @Test("a plugin whose threads are traced by the fork server ends all the same") func tracedThreads() async throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile(
      """
      #include <pthread.h>
      #include <sys/ptrace.h>
      #include <unistd.h>
      static void *traced(void *unused) { ptrace(PTRACE_TRACEME, 0, 0, 0); for (;;) pause(); return unused; }
      int threads(void) {
        pthread_t thread;
        for (int i = 0; i < 3; i++) if (pthread_create(&thread, 0, traced, 0)) return 1;
        usleep(100000);
        return 0;
      }
      """, "-pthread -o traced.so", in: folder)
    for open in [[], [Wall.seccomp]] as [Set<Wall>] {
      let host = try Workspace.host()
      var options = PluginHost.LoadOptions()
      options.withoutWalls = open
      let plugin = try await host.load("\(folder)/traced.so", options: options)
      #expect(try await plugin.call("threads", "i32()").value == .signed(0))
      let report = await plugin.end()
      #expect(report.outcome.kind == .returned)
      #expect(report.denials.contains { $0.operation == "ptrace" } == open.isEmpty)
    }
  }
}
