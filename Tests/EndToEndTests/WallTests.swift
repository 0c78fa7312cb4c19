import Foundation
import HostProtocol
import PluginHost
import Sandbox
import Testing

/// Each wall by something that it alone stops. Where a wall can be left open by itself, the same attempt is made without
/// it and has to succeed: a test that passes either way proves nothing.
@Suite(.serialized) struct WallTests {
  /// What `body` sees with every wall, or with one left open.
  private func value(
    without wall: Wall? = nil, policy: Policy = Policy(),
    _ body: (Plugin) async throws -> RunnerMessage.CallResult
  ) async throws -> CallValue {
    let host = try Workspace.host()
    var options = PluginHost.LoadOptions()
    options.withoutWalls = wall.map { [$0] } ?? []
    let plugin = try await host.load("libc.so.6", policy: policy, options: options)
    let result = try await body(plugin)
    let report = await plugin.end()
    if let wall { #expect(report.walls[wall]?.state == .absent) }
    return result.value
  }

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

  @Test func theCgroupIsExact() async throws {
    let host = try Workspace.host()
    guard try await host.walls()[.cgroup]?.state == .full else { return }
    func detail(_ open: Set<Wall>) async throws -> String {
      var options = PluginHost.LoadOptions()
      options.withoutWalls = open
      let plugin = try await host.load("libc.so.6", policy: Policy(limits: Limits(wall: .seconds(10), memory: 4 << 20)), options: options)
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

  @Test func theMountNamespaceHides() async throws {
    // stat and access aren't Landlock's to refuse.
    for path in ["/etc/passwd", "/proc/self/status", "/home", "/root", "/sys", "/bin/sh", "/usr/bin/env", "/var"] {
      let found = try await value { try await $0.call("access", "i32(cstring,i32)", .text(path), 0) }
      #expect(found == .signed(-1), "\(path)")
      #expect(FileManager.default.fileExists(atPath: path) || path == "/sys", "the control: \(path) is there outside")
    }
    for path in ["/bundle", "/container", "/tmp", "/usr/lib", "/dev/null"] {
      #expect(try await value { try await $0.call("access", "i32(cstring,i32)", .text(path), 0) } == .signed(0), "\(path)")
    }
  }

  @Test func theRootIsReadOnly() async throws {
    for path in ["/x", "/bundle/x", "/usr/lib/x", "/etc/x", "/dev/x"] {
      #expect(try await value { try await $0.call("mkdir", "i32(cstring,i32)", .text(path), 0o755) } == .signed(-1), "\(path)")
    }
    #expect(try await value { try await $0.call("mkdir", "i32(cstring,i32)", "/container/x", 0o755) } == .signed(0))
  }

  @Test func theRunnerIsAloneAndNobody() async throws {
    #expect(try await value { try await $0.call("getpid", "i32()") } == .signed(1))
    #expect(try await value { try await $0.call("getuid", "u32()") } == .unsigned(1000))
    #expect(try await value { try await $0.call("setuid", "i32(u32)", 0) } == .signed(-1))
  }

  @Test(arguments: ["user", "net", "ipc", "uts", "mnt", "pid"]) func namespacesAreOthers(_ kind: String) async throws {
    let host = try Workspace.host()
    let plugin = try await host.load("libc.so.6")
    let standIn = try #require(await host.forkServerProcess())
    let server = try #require(Runners.descendants(of: standIn).first)
    let own = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/ns/\(kind)")
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(server)/ns/\(kind)") != own)
    _ = await plugin.end()
  }

  @Test func secretsStayOutside() async throws {
    setenv("OUTRIDER_TEST_SECRET", "token", 1)
    defer { unsetenv("OUTRIDER_TEST_SECRET") }
    let seen = try await value { try await $0.call("getenv", "cstring(cstring)", "OUTRIDER_TEST_SECRET") }
    #expect(seen == .cstring(nil))
    #expect(try await value { try await $0.call("getenv", "cstring(cstring)", "HOME") } == .cstring(Array("/container".utf8)))
  }

  @Test func descriptorsStayOutside() async throws {
    let host = try Workspace.host()
    let plugin = try await host.load("libc.so.6")
    for descriptor in 5..<256 {
      #expect(try await plugin.call("fcntl", "i32(i32,i32)", .integer(Int64(descriptor)), 1).value == .signed(-1))
    }
    _ = await plugin.end()
  }

  @Test func capabilitiesAreGone() async throws {
    // PR_CAPBSET_READ of CAP_SYS_ADMIN.
    #expect(try await value { try await $0.call("prctl", "i32(i32,u64)", 23, 21) } == .signed(0))
    #expect(try await value { try await $0.call("mount", "i32(cstring,cstring,cstring,u64,pointer)", "x", "/tmp", "tmpfs", 0, .null) } == .signed(-1))
  }
}
