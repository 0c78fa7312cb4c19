import Foundation
import LinuxSystem
import Sandbox
import TestSupport
import Testing

@testable import PluginHost

/// What a plugin leaves to others of its host's time and of the machine's.
@Suite(.ownThreads, .timeLimit(.minutes(2))) struct NeighbourTests {
  private static let source = """
    #include <pthread.h>
    #include <stdint.h>
    #include <sys/resource.h>
    #include <time.h>
    #include <unistd.h>
    static void *waits(void *none) { for (;;) pause(); return none; }
    int32_t starts(void) { pthread_t thread; return pthread_create(&thread, 0, waits, 0); }
    int32_t lowers(void) { return setpriority(PRIO_PROCESS, 0, 7); }
    int32_t computes(int32_t seconds) {
      struct timespec begun, now;
      clock_gettime(CLOCK_MONOTONIC, &begun);
      do clock_gettime(CLOCK_MONOTONIC, &now); while (now.tv_sec - begun.tv_sec < seconds);
      return 0;
    }
    """

  /// After the name and the state (proc_pid_stat(5)).
  private static func numbers(of pid: Int32) throws -> [Int] {
    let text = try Files.text(of: "/proc/\(pid)/stat")
    return text[text.index(after: try #require(text.lastIndex(of: ")")))...].split(separator: " ").dropFirst()
      .compactMap {
        Int($0)
      }
  }

  @Test("a plugin has a session of its own, without the terminal of the host's user")
  func session() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await host.load("libc.so.6")
    let pid = try #require(await plugin.runnerProcess())
    // Group, session, terminal.
    #expect(try Self.numbers(of: pid)[1...3] == [Int(pid), Int(pid), 0])
    _ = await plugin.end()
  }

  @Test(
    "a runner that answers at once has short turns of a processor; one that computes has the usual ones, and so has each thread of a plugin",
    .withTurns)
  func turns() async throws {
    let folder = try LibraryTests.folder()
    try LibraryTests.compile(Self.source, "-O1 -o turns.so", in: folder)
    let host = try Workspace.host()
    defer { host.stop() }
    let plugin = try await host.load(folder + "/turns.so", policy: Policy(limits: Limits(wallTime: .seconds(60))))
    let pid = try #require(await plugin.runnerProcess())
    let usual = try #require(Conditions.turn(of: "/proc/thread-self"))
    func turn() throws -> Int { try #require(Conditions.turn(of: "/proc/\(pid)/task/\(pid)")) }
    #expect(try turn() == usual, "while it loads")
    #expect(try await plugin.call("lowers", "i32()").value == .signed(0))
    func answersSoon() async throws {
      for _ in 0..<1000 where try turn() != 100_000 { _ = try await plugin.call("lowers", "i32()") }
      #expect(try turn() == 100_000)
    }
    try await answersSoon()
    #expect(try await plugin.call("starts", "i32()").value == .signed(0))
    for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task") where thread != "\(pid)" {
      #expect(Conditions.turn(of: "/proc/\(pid)/task/\(thread)") == usual)
    }
    async let computed = plugin.call("computes", "i32(i32)", 2)
    var isUsual = false
    while !isUsual { isUsual = try turn() == usual }
    _ = try await computed
    try await answersSoon()
    #expect(try Self.numbers(of: pid)[15] == 7, "its nice value is its own")
    _ = await plugin.end()
  }

  @Test(
    "a plugin that floods the host takes no more than a share of its thread",
    arguments: ["h14_output_flood", "h15_activities"])
  func floods(function: String) async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    /// Of the host's thread, while the function is called.
    func share(_ function: String) async throws -> Double {
      let plugin = try await host.load(
        Workspace.hostile + "/libhostile.so", policy: Policy(limits: Limits(wallTime: .seconds(2))))
      let (began, before) = (BootClock.now, await Self.time(of: host))
      let reply = try? await plugin.call(function, "void()")
      let (used, passed) = (await Self.time(of: host) - before, BootClock.now - began)
      #expect(reply == nil)
      #expect(await plugin.end().outcome.kind == .wallTimeExceeded)
      return Double(used.inNanoseconds) / Double(passed.inNanoseconds)
    }
    // What the host does for each run each millisecond is a fifth of its thread in a debug build, and twice that where two threads
    // share a core.
    let quiet = try await share("h02_pause")
    let flooded = try await share(function)
    // A quarter for reading, and what the loop's rounds cost beside it.
    #expect(flooded - quiet < 0.45, "\(flooded), and \(quiet) for a plugin that only waits")
  }

  /// What the host's own thread has computed so far.
  private static func time(of host: PluginHost) async -> Duration {
    await withCheckedContinuation { continuation in
      host.core.loop.submit {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        continuation.resume(returning: .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec))
      }
    }
  }
}
