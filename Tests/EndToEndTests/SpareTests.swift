import Foundation
import HostProtocol
import PluginHost
import Sandbox
import TestSupport
import Testing

/// The runner that is forked before it is wanted.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct SpareTests {
  /// The process that stands ready: of the fork server's children the one that isn't a run's.
  private static func spare(of host: PluginHost) async throws -> Int32 {
    try await host.prepare()
    #expect(await host.isPrepared())
    return try #require(await host.forkServerProcess().flatMap { Runners.descendants(of: $0).last })
  }

  @Test func aWakeTakesIt() async throws {
    let host = try Workspace.host()
    let spare = try await Self.spare(of: host)
    let plugin = try await host.load("libc.so.6")
    #expect(await plugin.runnerProcess() == spare)
    #expect(try await plugin.call("abs", "i32(i32)", -3).value == .signed(3))
    let report = await plugin.end()
    #expect(report.outcome.kind == .returned)
    // And another one takes its place.
    #expect(try await Self.spare(of: host) != spare)
  }

  @Test("there is one where a program has the runner alone, without the library that loads Foundation beforehand")
  func withoutFoundation() async throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.copyItem(
      atPath: Workspace.products + "/outrider-runner", toPath: folder + "/outrider-runner")
    var configuration = PluginHost.Configuration()
    configuration.runner = folder + "/outrider-runner"
    let host = try PluginHost(configuration: configuration)
    defer { host.stop() }
    for _ in 0..<2 {
      let spare = try await Self.spare(of: host)
      let plugin = try await host.load("libz.so.1")
      #expect(await plugin.runnerProcess() == spare)
      #expect(try await plugin.call("crc32", "u64(u64,bytes,u32)", 0, "hello", 5).uint64 == 907_060_870)
      #expect(await plugin.end().outcome.kind == .returned)
    }
  }

  @Test func bothHaveTheSameWalls() async throws {
    let host = try Workspace.host()
    var seen: [[Wall: WallState]] = []
    var privileges: [String] = []
    for isPrepared in [false, true] {
      if isPrepared { try await host.prepare() }
      let plugin = try await host.load("libc.so.6")
      let runner = try #require(await plugin.runnerProcess())
      let status = try String(contentsOfFile: "/proc/\(runner)/status", encoding: .utf8)
      let wanted = [
        "Uid", "Gid", "Groups", "CapEff", "CapPrm", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters",
      ]
      privileges.append(
        status.split(separator: "\n").filter { line in wanted.contains { line.hasPrefix("\($0):") } }
          .joined(separator: "\n"))
      seen.append(await plugin.end().walls)
    }
    #expect(seen[0] == seen[1])
    #expect(privileges[0] == privileges[1])
  }

  /// Memory that the spare took before doesn't count, nor does its CPU time; what the plugin takes does.
  @Test func limitsHoldInIt() async throws {
    let host = try Workspace.host()
    try await host.prepare()
    let plugin = try await host.load(
      Workspace.hostile + "/libhostile.so", policy: Policy(limits: Limits(wallTime: .seconds(20), memory: 16 << 20)))
    do {
      _ = try await plugin.call("h23_one_step", "i32()")
    } catch {
      #expect(error.report?.outcome.kind == .memoryExceeded)
    }
    let report = await plugin.end()
    #expect(report.outcome.kind == .memoryExceeded || report.outcome.kind == .returned)
    try await host.prepare()
    let idle = try await host.load("libc.so.6")
    let used = await idle.end().usage
    #expect(used.peakMemoryBytes < 1 << 20)
  }

  @Test func aKilledOneIsMissedByNobody() async throws {
    let host = try Workspace.host()
    let spare = try await Self.spare(of: host)
    kill(spare, SIGKILL)
    let deadline = ContinuousClock.now + .seconds(10)
    while !Runners.stillThere([spare]).isEmpty, ContinuousClock.now < deadline { sched_yield() }
    for _ in 0..<3 {
      let plugin = try await host.load("libc.so.6")
      #expect(try await plugin.call("abs", "i32(i32)", -3).value == .signed(3))
      #expect(await plugin.end().outcome.kind == .returned)
    }
  }

  @Test func itGoesWithItsServer() async throws {
    let host = try Workspace.host()
    let spare = try await Self.spare(of: host)
    let server = try #require(await host.forkServerProcess())
    kill(server, SIGKILL)
    let deadline = ContinuousClock.now + .seconds(10)
    while !Runners.stillThere([spare]).isEmpty, ContinuousClock.now < deadline { sched_yield() }
    #expect(Runners.stillThere([spare]).isEmpty)
    host.stop()
  }

  /// Only root may look into it.
  @Test(arguments: [0, 2]) func anIdleRunnerHasLittleOfItsOwn(after wakes: Int) async throws {
    let host = try Workspace.host()
    // Before the server's code has come into huge pages, and afterwards.
    for _ in 0..<wakes {
      try await host.prepare()
      _ = await (try host.load("libc.so.6")).end()
    }
    try await host.prepare()
    let plugin = try await host.load("libc.so.6")
    _ = try await plugin.call("abs", "i32(i32)", -3)
    // The next spare shares what only the two of them have.
    try await host.prepare()
    if let share = await plugin.memoryShare() {
      #expect(share.ownBytes < 1 << 20)
      #expect(share.residentBytes > share.ownBytes)
    } else {
      #expect(geteuid() != 0)
    }
    _ = await plugin.end()
  }

  /// The code of Swift's libraries, once a host wakes more than one plugin: it is the server's, and a runner's only to share.
  @Test func codeIsInHugePages() async throws {
    let host = try Workspace.host()
    func sizes() async throws -> [Int] {
      let server = try #require(await host.forkServerProcess())
      return Runners.descendants(of: server).compactMap { process in
        let text = try? String(contentsOfFile: "/proc/\(process)/smaps_rollup", encoding: .utf8)
        let line = text?.split(separator: "\n").first { $0.hasPrefix("AnonHugePages:") }
        return line.flatMap { Int($0.filter(\.isNumber)) }
      }
    }
    try await host.prepare()
    // The server may hear of a runner's end later than the host, and then doesn't count as idle.
    var found: [Int] = []
    for _ in 0..<20 where !found.contains(where: { $0 >= 2048 }) {
      let plugin = try await host.load("libc.so.6")
      _ = await plugin.end()
      try await host.prepare()
      found = try await sizes()
    }
    // Only root may look into them.
    #expect(geteuid() != 0 || !found.isEmpty)
    let version = ProcessInfo.processInfo.operatingSystemVersion
    let canBe =
      (version.majorVersion, version.minorVersion) >= (6, 1)
      && FileManager.default.fileExists(atPath: "/sys/kernel/mm/transparent_hugepage")
    for size in found { #expect((size >= 2048) == canBe) }
  }
}
