import Foundation
import PluginHost
import Sandbox
import TestSupport
import Testing

@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct HostTests {
  /// The example of README.md, word for word.
  @Test func readmeExample() async throws {
    let host = try Workspace.host()
    let plugin = try await host.load("libz.so.1", policy: Policy(limits: Limits(wallTime: .seconds(1))))
    let reply = try await plugin.call("crc32", "u64(u64,bytes,u32)", 0, "hello", 5)
    #expect(reply.value == .unsigned(907_060_870))
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test func coldRunsWork() async throws {
    let host = try Workspace.host(isCold: true)
    let plugin = try await host.load("libm.so.6")
    #expect(try await plugin.call("pow", "f64(f64,f64)", 2.0, 10.0).value == .double(1024))
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test func aDeadForkServerIsReplaced() async throws {
    let host = try Workspace.host()
    let plugin = try await host.load("libc.so.6")
    let server = try #require(await host.forkServerProcess())
    async let sleeping = plugin.call("sleep", "u32(u32)", 30)
    kill(server, SIGKILL)
    do {
      _ = try await sleeping
      Issue.record("the call returned")
    } catch {
      #expect((error as? HostError)?.report?.outcome.kind == .hostFailed)
    }
    _ = await plugin.end()
    let next = try await host.load("libc.so.6")
    #expect(try await next.call("abs", "i32(i32)", -7).value == .signed(7))
    _ = await next.end()
    #expect(await host.forkServerProcess() != server)
  }

  /// A program may ask for any limit; a policy file can't.
  @Test func limitsThatNoRunCanHave() async throws {
    let host = try Workspace.host()
    let numbers: [WritableKeyPath<Limits, Int>] = [
      \.memory, \.openFiles, \.fileSize, \.threads, \.logBytes, \.frameBytes,
    ]
    for limit in numbers {
      for value in [-1, .min, .max] {
        var policy = Policy()
        policy.limits[keyPath: limit] = value
        let error = await #expect(throws: HostError.self) { try await host.load("libc.so.6", policy: policy) }
        if case .usage? = error {} else { Issue.record("\(String(describing: error))") }
      }
    }
    for limit in [\Limits.wallTime, \.cpu, \.cpuTotal] {
      for value in [.zero, .seconds(-1), .seconds(Int64.max), .seconds(Int64.min)] as [Duration] {
        var policy = Policy()
        policy.limits[keyPath: limit] = value
        let error = await #expect(throws: HostError.self) { try await host.load("libc.so.6", policy: policy) }
        if case .usage? = error {} else { Issue.record("\(String(describing: error))") }
      }
    }
    // The most of everything is nothing to stumble over.
    var limits = Limits(wallTime: Limits.longestTime, cpu: Limits.longestTime, memory: Limits.maxBytes)
    (limits.cpuTotal, limits.fileSize, limits.logBytes) = (Limits.longestTime, Limits.maxBytes, Limits.maxBytes)
    (limits.threads, limits.frameBytes) = (Limits.threadsRange.upperBound, 1 << 30)
    let plugin = try await host.load("libc.so.6", policy: Policy(limits: limits))
    #expect(try await plugin.call("abs", "i32(i32)", -5).value == .signed(5))
    #expect(await plugin.end().outcome.kind == .returned)
  }

  /// A stopped host answers a program that still has something of it, and writes nowhere.
  @Test(.timeLimit(.minutes(3))) func aStoppedHostAnswers() async throws {
    for _ in 0..<8 {
      let host = try Workspace.host()
      var plugin: Plugin? = try await host.load("libc.so.6")
      host.stop()
      await #expect(throws: HostError.self) { try await plugin?.call("abs", "i32(i32)", -1) }
      #expect(await plugin?.end().outcome.kind == .hostFailed)
      #expect(await host.forkServerProcess() == nil)
      let error = await #expect(throws: HostError.self) { try await host.load("libc.so.6") }
      #expect(error?.description == "the host was shut down")
      await #expect(throws: HostError.self) { try await host.prepare() }
      // The numbers that the host had may be the program's own files by now.
      let files = (0..<30).map { _ in tmpfile() }
      plugin = nil
      host.stop()
      for case let file? in files {
        var status = stat()
        #expect(fstat(fileno(file), &status) == 0 && status.st_size == 0)
        fclose(file)
      }
    }
  }

  @Test func requiredWallsFailClosed() async throws {
    let host = try Workspace.host()
    var policy = Policy()
    policy.require = Set(Wall.allCases)
    let walls = try await host.walls(policy: policy)
    if walls.values.allSatisfy({ $0.state == .full }) {
      _ = await (try await host.load("libc.so.6", policy: policy)).end()
    } else {
      do {
        _ = try await host.load("libc.so.6", policy: policy)
        Issue.record("a missing wall was silently accepted")
      } catch {
        #expect(error.report?.outcome.kind == .wallUnavailable)
      }
    }
  }

  /// In turn with a runner that stands ready and without one.
  @Test func manyWakesLeaveNothing() async throws {
    let host = try Workspace.host()
    func wake() async throws {
      let plugin = try await host.load("libc.so.6")
      _ = try await plugin.call("abs", "i32(i32)", -1)
      #expect(await plugin.end().outcome.kind == .returned)
    }
    for _ in 0..<3 {
      try await host.prepare()
      try await wake()
    }
    try await host.prepare()
    let server = try #require(await host.forkServerProcess())
    let below = Runners.descendants(of: server).count
    let before = await host.inventory()
    let count = 300
    var memory = [before.serverMemory]
    for index in 0..<count {
      if index % 3 == 0 { try await host.prepare() }
      try await wake()
      if index == count / 2 {
        try await host.prepare()
        memory.append(await host.inventory().serverMemory)
      }
    }
    try await host.prepare()
    var after = await host.inventory()
    // Other suites open descriptors and folders and take memory at the same time, some a hundred for a moment; a leak of one for each wake
    // would stand out at each look. What hangs on this host alone is exact.
    for _ in 0..<100 where after.descriptors >= before.descriptors + count / 3 { after = await host.inventory() }
    #expect(after.descriptors < before.descriptors + count / 3)
    #expect(after.folders < before.folders + count / 3)
    #expect(after.cgroups <= before.cgroups + 1)
    #expect(Runners.descendants(of: server).count == below)
    // The server takes its code into huge pages once, when it happens to be asked for a spare while nothing runs. What grows
    // with each wake grows in both halves.
    memory.append(after.serverMemory)
    #expect(zip(memory, memory.dropFirst()).contains { $1 < $0 + 128 << 10 }, "\(memory)")
  }

  /// Names that aren't UTF-8, deep folders, many files: what a plugin leaves in its folder goes with the run.
  @Test(
    arguments: [("h99_awkward_names", nil), ("h99_janitors_names", nil), ("h99_deep", 5000), ("h99_many", 2000)]
      as [(String, Int64?)])
  func hostileFoldersGo(_ symbol: String, _ count: Int64?) async throws {
    let host = try Workspace.host()
    let plugin = try await host.load(
      Workspace.hostile + "/libhostile.so", policy: Policy(limits: Limits(wallTime: .seconds(30), memory: 256 << 20)))
    let folder = plugin.container
    #expect(FileManager.default.fileExists(atPath: folder))
    _ = try await plugin.call(
      symbol, count == nil ? "i32()" : "i32(i32)", arguments: count.map { [.integer($0)] } ?? [])
    _ = await plugin.end()
    #expect(!FileManager.default.fileExists(atPath: folder))
  }

  /// A thread that begins and ends activities for ever, between calls.
  @Test func activitiesPutOffNoDeadline() async throws {
    let host = try Workspace.host()
    let plugin = try await host.load(
      Workspace.hostile + "/libhostile.so", policy: Policy(limits: Limits(wallTime: .milliseconds(600))))
    _ = try await plugin.call("h15_leaves_activities", "i32()")
    let runner = try #require(await plugin.runnerProcess())
    let deadline = ContinuousClock.now + .seconds(10)
    while !Runners.stillThere([runner]).isEmpty, ContinuousClock.now < deadline { sched_yield() }
    #expect(await plugin.end().outcome.kind == .wallTimeExceeded)
  }

  /// What a plugin sends and has kept costs the host no more than its bounds.
  @Test(arguments: [
    ("h15_schedule_flood", "i32()"), ("h15_list_flood", "void()"), ("h15_blind_schedule_flood", "void()"),
    ("h14_output_flood", "void()"),
  ])
  func floodsDontGrowTheHost(_ symbol: String, _ signature: String) throws {
    let (_, peak) = try Workspace.measure(
      ["call", Workspace.hostile + "/libhostile.so", symbol, signature, "--wall", "2s", "--cpu", "10s"])
    #expect(peak < 100 << 20, "\(peak >> 20) MiB")
  }

  @Test func concurrentRunsDontMix() async throws {
    let host = try Workspace.host()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 1...16 {
        group.addTask {
          let plugin = try await host.load("libc.so.6")
          for round in 1...10 {
            let reply = try await plugin.call("abs", "i32(i32)", .integer(Int64(-index * 100 - round)))
            #expect(reply.value == .signed(Int64(index * 100 + round)))
          }
          #expect(await plugin.end().outcome.kind == .returned)
        }
      }
      try await group.waitForAll()
    }
  }

  @Test func aCallAfterTheEndSaysSo() async throws {
    let host = try Workspace.host()
    let plugin = try await host.load("libc.so.6")
    await #expect(throws: HostError.self) { try await plugin.call("_exit", "void(i32)", 3) }
    let report = await plugin.end()
    #expect(report.outcome.kind == .crashed)
    #expect(report.outcome.detail.contains("status 3"))
    await #expect(throws: HostError.self) { try await plugin.call("abs", "i32(i32)", 1) }
  }
}
