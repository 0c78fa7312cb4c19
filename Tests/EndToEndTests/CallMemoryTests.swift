import Basics
import Foundation
import HostProtocol
import LinuxSystem
import PluginHost
import Sandbox
import TestSupport
import Testing

/// Calls through the memory that host and runner share, and what plugins make of it. The corpus has more (H131 to H136).
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct CallMemoryTests {
  private static let hostile = Workspace.hostile + "/libhostile.so"
  private static let out = "out(8192)"

  private func policy(wall: Duration = .seconds(10), memory: Int = 64 << 20) -> Policy {
    Policy(limits: Limits(wallTime: wall, memory: memory))
  }

  private static var overSocket: PluginHost.LoadOptions {
    var options = PluginHost.LoadOptions()
    options.sharesMemory = false
    return options
  }

  private static func state(of process: Int32) throws -> Substring? {
    let text = try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
    return text.split(separator: ")").last?.split(separator: " ").first
  }

  /// The mask of the process's first thread (proc_pid_status(5)).
  private static func blockedSignals(of process: Int32) throws -> UInt64? {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("SigBlk:") }) else { return nil }
    return line.split(separator: "\t").last.flatMap { UInt64($0, radix: 16) }
  }

  @Test("whichever way a call goes, its answer is the same", arguments: [true, false])
  func answers(isShared: Bool) async throws {
    let host = try Workspace.host()
    let plugin = try await host.load(
      "libc.so.6", policy: policy(), options: isShared ? PluginHost.LoadOptions() : Self.overSocket)
    for count in [0, 1, 4095, 4096, 4097, 65_536, 1 << 20, 3 << 20] {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
      let reply = try await plugin.call(
        "memcpy", "pointer(out(\(count + 1)),bytes,u64)", .bytes(bytes), .unsigned(UInt64(count)))
      #expect(reply.out == [bytes + [0]], "\(count) bytes")
    }
    // Longer than the memory: over the socket, beside others that aren't.
    let large = [UInt8](repeating: 0x61, count: (4 << 20) - 200)
    for _ in 0..<3 {
      let count = try await plugin.call("strlen", "u64(bytes)", .bytes(large)).value
      #expect(count == .unsigned(UInt64(large.count)))
      #expect(try await plugin.call("abs", "i32(i32)", -7).value == .signed(7))
    }
    #expect(
      try await plugin.call("strdup", "cstring(cstring)", .text(String(repeating: "x", count: 60_000))).value
        == .cstring([UInt8](repeating: 0x78, count: 60_000)))
    await #expect(throws: HostError.self) { try await plugin.call("no_such_function", "void()") }
    await #expect(throws: HostError.self) { try await plugin.call("environ", "void()") }
    #expect(try await plugin.call("abs", "i32(i32)", -8).value == .signed(8))
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test(
    "more functions than a runner remembers are called in any order, each with its own answer",
    arguments: [true, false])
  func manyFunctions(isShared: Bool) async throws {
    let host = try Workspace.host()
    let plugin = try await host.load(
      "libm.so.6", policy: policy(), options: isShared ? PluginHost.LoadOptions() : Self.overSocket)
    let functions: [(String, (Double) -> Double)] = [
      ("sqrt", { $0.squareRoot() }), ("floor", { $0.rounded(.down) }), ("ceil", { $0.rounded(.up) }),
      ("trunc", { $0.rounded(.towardZero) }), ("fabs", { $0.magnitude }), ("sin", { sin($0) }), ("exp2", { exp2($0) }),
    ]
    // Each spelling of a type is a function of its own to the host: 140 of them, for 64 places.
    let spellings = (0..<20).map { "f64(" + String(repeating: " ", count: $0) + "f64)" }
    var random = SeededGenerator(seed: 20_261_129)
    var wrong: [String] = []
    for _ in 0..<1500 {
      let (name, function) = functions.randomElement(using: &random)!
      let number = Double.random(in: 0...50, using: &random)
      // A few of them again and again, all of them now and then.
      let spelling = spellings[Int.random(in: 0..<20, using: &random) / (Bool.random(using: &random) ? 1 : 20)]
      let found = try await plugin.call(name, spelling, .double(number)).value
      if found != .double(function(number)) { wrong.append("\(name)(\(number)): \(found)") }
      if Int.random(in: 0..<100, using: &random) == 0 {
        await #expect(throws: HostError.self) { try await plugin.call("no_such_function", spelling, .double(1)) }
      }
    }
    #expect(wrong.isEmpty)
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test func manyTasksGetTheirOwnAnswers() async throws {
    let host = try Workspace.host()
    var plugins: [Plugin] = []
    for _ in 0..<3 { plugins.append(try await host.load("libc.so.6", policy: policy())) }
    let wrong = try await withThrowingTaskGroup(of: Int.self) { group in
      for task in 0..<12 {
        let plugin = plugins[task % plugins.count]
        group.addTask {
          var wrong = 0
          for index in 0..<200 {
            let number = Int64(task * 1000 + index)
            if try await plugin.call("labs", "i64(i64)", .integer(-number)).value != .signed(number) { wrong += 1 }
            if index % 50 == 0 { try await Task.sleep(for: .milliseconds(3)) }
          }
          return wrong
        }
      }
      return try await group.reduce(0, +)
    }
    #expect(wrong == 0)
    for plugin in plugins { #expect(await plugin.end().outcome.kind == .returned) }
  }

  /// Frozen between two calls, without being asked.
  @Test func aFrozenPluginIsCalledAgain() async throws {
    let host = try Workspace.host()
    let plugin = try await host.load("libc.so.6")
    let process = try #require(await plugin.runnerProcess())
    for _ in 0..<20 {
      #expect(try await plugin.call("abs", "i32(i32)", -5).value == .signed(5))
      #expect(try await eventually { try Self.state(of: process) == "T" })
    }
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("a deadline holds after any number of short calls", arguments: [0, 1, 500])
  func deadline(calls: Int) async throws {
    let host = try Workspace.host()
    let plugin = try await host.load("libc.so.6", policy: policy(wall: .milliseconds(300)))
    for _ in 0..<calls { _ = try await plugin.call("abs", "i32(i32)", -5) }
    let error = await #expect(throws: HostError.self) { try await plugin.call("pause", "i32()") }
    #expect(error?.report?.outcome.kind == .wallTimeExceeded)
  }

  @Test func totalCPUTimeHoldsOverShortCalls() async throws {
    let host = try Workspace.host()
    var policy = policy()
    policy.limits.cpuTotal = .milliseconds(300)
    let plugin = try await host.load(Self.hostile, policy: policy)
    var report: RunReport?
    for _ in 0..<200_000 where report == nil {
      do { _ = try await plugin.call("h134_lingers", "i32(i32)", 60) } catch { report = error.report }
    }
    #expect(report?.outcome.kind == .cpuTimeExceeded)
  }

  @Test func aCallUnderWayIsCancelled() async throws {
    let host = try Workspace.host()
    let plugin = try await host.load("libc.so.6", policy: policy())
    let process = try #require(await plugin.runnerProcess())
    #expect(try await eventually { try Self.state(of: process) == "T" })
    // Signal 12 alone is blocked while the function runs. That the runner is awake wouldn't tell that it was called: it is woken
    // before the call is made, and a task that is cancelled then makes none.
    let mask: [UInt8] = [0, 0x08] + [UInt8](repeating: 0, count: 126)
    let task = Task { try await plugin.call("sigsuspend", "i32(bytes)", .bytes(mask)) }
    #expect(try await eventually { try Self.blockedSignals(of: process) == 0x0800 })
    task.cancel()
    let error = await #expect(throws: HostError.self) { try await task.value }
    #expect(error?.report?.outcome.kind == .cancelled)
    await #expect(throws: HostError.self) { try await plugin.call("abs", "i32(i32)", 1) }
  }

  @Test("a call that is cancelled at any moment ends soon, with its run where it was under way")
  func cancelledAtAnyMoment() async throws {
    let host = try Workspace.host()
    var plugin: Plugin?
    var (ended, round) = (0, 0)
    while ended < 50 {
      let called = if let plugin { plugin } else { try await host.load("libc.so.6", policy: policy()) }
      plugin = called
      let task = Task { try await called.call("pause", "i32()") }
      // From before it has begun to when the run has long taken it over; longer where tasks begin late.
      let (begun, pause) = (BootClock.now, Duration.microseconds(round * 37 % 400 + round / 2))
      while BootClock.now - begun < pause {}
      task.cancel()
      round += 1
      let error = await #expect(throws: HostError.self) { try await task.value }
      guard let report = error?.report else { continue }
      #expect(report.outcome.kind == .cancelled)
      (plugin, ended) = (nil, ended + 1)
    }
  }

  @Test("H132: an answer that is forged is the plugin's own, and no other call's") func forgedAnswers() async throws {
    let host = try Workspace.host()
    let plugin = try await host.load(Self.hostile, policy: policy())
    let honest = try await host.load("libc.so.6", policy: policy())
    #expect(try await plugin.call("h132_forges", "i32(i32,\(Self.out))", 0).value == .signed(0))
    for index in 1...200 as ClosedRange<Int64> {
      do {
        let value = try await plugin.call("h134_lingers", "i32(i32)", .integer(index)).value
        #expect(value == .signed(index) || value == .signed(-1))
      } catch {
        #expect(error.report?.outcome.kind == .protocolViolation, "\(error)")
        break
      }
      #expect(try await honest.call("labs", "i64(i64)", .integer(-index)).value == .signed(index))
    }
    _ = await plugin.end()
    #expect(await honest.end().outcome.kind == .returned)
  }

  @Test(
    "H133: what changes while it is read harms no process",
    arguments: ["h133_flips", "h133_scribbles", "h133_says_here"])
  func changes(function: String) async throws {
    let host = try Workspace.host()
    let honest = try await host.load("libc.so.6", policy: policy())
    for _ in 0..<5 {
      let plugin = try await host.load(Self.hostile, policy: policy(wall: .seconds(1)))
      do {
        _ = try await plugin.call(function, "i32(i32,\(Self.out))", 0)
        for _ in 0..<300 {
          let reply = try await plugin.call(
            "h134_lingers", "i32(i32,\(Self.out),bytes)", 1, .bytes([UInt8](repeating: 1, count: 9000)))
          #expect(reply.out.map(\.count) == [8192])
        }
      } catch {
        let outcome = error.report?.outcome.kind
        #expect(outcome.map { [.protocolViolation, .wallTimeExceeded, .crashed].contains($0) } ?? false, "\(error)")
      }
      _ = await plugin.end()
      #expect(try await honest.call("abs", "i32(i32)", -5).value == .signed(5))
    }
    #expect(await honest.end().outcome.kind == .returned)
  }

  @Test("H134: a plugin keeps its host spinning for no longer than the host is ready to") func lingering() async throws
  {
    let host = try Workspace.host()
    let plugin = try await host.load(Self.hostile, policy: policy())
    let calls = 300
    for _ in 0..<calls { _ = try await plugin.call("h134_lingers", "i32(i32)", 5000) }
    let spun = await plugin.end().usage.spinSeconds
    // All of it would be 1.5 s; it gives up what doesn't pay, and tries again now and then.
    #expect(spun < 0.1 * Double(calls) * 0.005)
  }

  @Test("H135: what a plugin fills of the memory for calls counts, and what the host does doesn't") func memory()
    async throws
  {
    let host = try Workspace.host()
    let plugin = try await host.load(Self.hostile, policy: policy(memory: 4 << 20))
    // Three MiB each way are the host's.
    for _ in 0..<3 {
      let reply = try await plugin.call(
        "h134_lingers", "i32(i32,out(\(3 << 20)),bytes)", 1, .bytes([UInt8](repeating: 1, count: 3 << 20)))
      #expect(reply.value == .signed(1))
    }
    let report = await plugin.end()
    #expect(report.outcome.kind == .returned)
    #expect(report.usage.peakMemoryBytes < 2 << 20)
  }

  @Test("H136: a runner has its own memory for calls and no other's, and the fork server has none", .asRoot)
  func isPrivate() async throws {
    let host = try Workspace.host()
    var plugins: [Plugin] = []
    for _ in 0..<3 { plugins.append(try await host.load("libc.so.6")) }
    var inodes: Set<Substring> = []
    for plugin in plugins {
      let process = try #require(await plugin.runnerProcess())
      let maps = try Files.text(of: "/proc/\(process)/maps", limit: 1 << 20)
      let lines = maps.split(separator: "\n").filter { $0.contains("outrider-calls") }
      #expect(lines.count == 1 && lines[0].contains(" rw-s "))
      inodes.formUnion(lines.map { $0.split(separator: " ")[4] })
      let open = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd")) ?? []
      for descriptor in open {
        let target =
          (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/fd/\(descriptor)")) ?? ""
        #expect(!target.contains("outrider-calls"))
      }
    }
    #expect(inodes.count == plugins.count)
    let server = try #require(await host.forkServerProcess())
    let children = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(server)/fd")) ?? []
    for descriptor in children {
      let target =
        (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(server)/fd/\(descriptor)")) ?? ""
      #expect(!target.contains("outrider-calls"))
    }
    for plugin in plugins { _ = await plugin.end() }
  }
}
