import Foundation
import LinuxSystem
import PluginHost
import Sandbox
import TestSupport
import Testing

/// Processes that stand still: a host that was stopped, or a fork server that doesn't answer.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct StoppedTests {
  /// The process that forks runners, below the one that stands in for it.
  private static func server(of host: PluginHost) async throws -> Int32 {
    let process = try #require(await host.forkServerProcess())
    return Runners.descendants(of: process).first ?? process
  }

  /// Says so, waits for a word, says so again, returns.
  private static let patient = """
    #include <fcntl.h>
    #include <unistd.h>
    int answer(void) {
      close(open("/container/called", O_CREAT | O_WRONLY, 0644));
      while (access("/container/go", F_OK) != 0) usleep(1000);
      close(open("/container/answered", O_CREAT | O_WRONLY, 0644));
      return 7;
    }
    """

  /// A command that calls a function of `source`, and the folder that the plugin sees as `/container`.
  private final class Command {
    let folder = NSTemporaryDirectory() + "outrider-test-\(UUID().uuidString)"
    let process = TestProcess()
    private let output = Pipe.own()
    var container: String { "\(folder)/container" }

    init(_ source: String, _ options: [String], _ symbol: String) throws {
      try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
      try source.write(toFile: "\(folder)/plugin.c", atomically: true, encoding: .utf8)
      let compiled = try Workspace.run(
        ["-shared", "-fPIC", "-o", "\(folder)/plugin.so", "\(folder)/plugin.c"], program: "/usr/bin/cc")
      try #require(compiled.status == 0, "\(compiled.errors)")
      process.executableURL = URL(fileURLWithPath: Workspace.outrider)
      process.arguments =
        ["call", "--json", "--container", container] + options + ["\(folder)/plugin.so", symbol, "i32()"]
      process.standardOutput = output
      process.standardError = FileHandle.nullDevice
      try process.run()
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func has(_ name: String) -> Bool { access("\(container)/\(name)", F_OK) == 0 }
    func make(_ name: String) { close(open("\(container)/\(name)", O_CREAT | O_WRONLY, 0o644)) }

    /// Stops the command, and waits until each of its threads stands: until then it may let a plugin go on that its server
    /// has stopped.
    func stop() -> Bool {
      let tasks = "/proc/\(process.processIdentifier)/task"
      kill(process.processIdentifier, SIGSTOP)
      return becomes {
        let threads = (try? FileManager.default.contentsOfDirectory(atPath: tasks)) ?? []
        return !threads.isEmpty && threads.allSatisfy { Self.isStopped("\(tasks)/\($0)") ?? false }
      }
    }

    /// Whether one of the processes stands still; `orEnded`: or is gone.
    func hasStopped(_ runners: [Int32], orEnded: Bool = false) -> Bool {
      runners.contains { Self.isStopped("/proc/\($0)") ?? orEnded }
    }

    /// nil for a process that has ended.
    private static func isStopped(_ folder: String) -> Bool? {
      guard let status = try? String(contentsOfFile: folder + "/status", encoding: .utf8),
        !status.contains("State:\tZ")
      else { return nil }
      return status.contains("State:\tT")
    }

    func finish() -> (text: String, status: Int32) {
      let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      return (text, process.terminationStatus)
    }
  }

  /// Its plugins are stopped with it, and the time counts for none.
  @Test func aCallOutlastsAStoppedHost() throws {
    let command = try Command(Self.patient, ["--wall", "3s"], "answer")
    let hasCalled = becomes { command.has("called") }
    let deadline = ContinuousClock.now + .seconds(3)
    let below = Runners.descendants(of: command.process.processIdentifier)
    let hasStopped = command.stop() && becomes { command.hasStopped(below) }
    command.make("go")
    let isLate = becomes { ContinuousClock.now > deadline }
    let answeredMeanwhile = command.has("answered")
    kill(command.process.processIdentifier, SIGCONT)
    let (text, status) = command.finish()
    #expect(hasCalled && hasStopped && isLate && !answeredMeanwhile)
    #expect(status == 0 && text.contains("\"returned\""), "\(text)")
  }

  /// The host is the first that goes on: by its clock the call is over, and no plugin could answer it.
  @Test("a call outlasts a machine that stood still for longer than it may take [H20]")
  func aCallOutlastsAStoppedMachine() throws {
    let command = try Command(Self.patient, ["--wall", "2s"], "answer")
    let hasCalled = becomes { command.has("called") }
    let host = command.process.processIdentifier
    let below = Runners.descendants(of: host)
    let deadline = ContinuousClock.now + .seconds(3)
    // Its server first, which would let the host know.
    for process in below { kill(process, SIGSTOP) }
    let isStill = command.stop()
    for process in below { kill(process, SIGSTOP) }
    command.make("go")
    let isLate = becomes { ContinuousClock.now > deadline }
    kill(host, SIGCONT)
    // A hundred looks, in which the others still stand.
    usleep(100_000)
    for process in below { kill(process, SIGCONT) }
    let (text, status) = command.finish()
    #expect(hasCalled && isStill && isLate)
    #expect(status == 0 && text.contains("\"returned\""), "\(text)")
  }

  private static let parent = """
    #include <fcntl.h>
    #include <signal.h>
    #include <unistd.h>
    int answer(void) {
      if (fork() == 0) {
        int file = open("/container/child", O_CREAT | O_WRONLY, 0644);
        for (;;) kill(getppid(), SIGCONT), kill(0, SIGCONT), usleep(200);
      }
      while (access("/container/child", F_OK) != 0) usleep(1000);
      close(open("/container/called", O_CREAT | O_WRONLY, 0644));
      while (access("/container/go", F_OK) != 0) usleep(1000);
      return 7;
    }
    """

  @Test("all processes of a plugin are stopped with the host, though one lets the others go on", .withMemoryCgroup)
  func processesAreStoppedWithTheHost() throws {
    let policy = NSTemporaryDirectory() + "outrider-test-\(UUID().uuidString).yaml"
    try "version: 2\nprocesses: 2\n".write(toFile: policy, atomically: true, encoding: .utf8)
    defer { try? FileManager.default.removeItem(atPath: policy) }
    let command = try Command(Self.parent, ["--policy", policy], "answer")
    let hasCalled = becomes { command.has("called") }
    let host = command.process.processIdentifier
    let isStill = command.stop()
    // The runner and its child. A spare runner, which the host may have by now, has no plugin and isn't stopped.
    let runners = Runners.descendants(of: host).filter(Self.hasThePlugin)
    func standStill() -> Bool { runners.allSatisfy { command.hasStopped([$0]) || Self.waitsForItsHost($0) } }
    let hasStopped = becomes { standStill() }
    let looks = (0..<100).map { _ -> Bool in
      usleep(2000)
      return standStill()
    }
    command.make("go")
    kill(host, SIGCONT)
    let (text, status) = command.finish()
    #expect(hasCalled && isStill && hasStopped, "\((hasCalled, isStill, hasStopped))")
    #expect(runners.count == 2, "\(runners)")
    #expect(looks.allSatisfy { $0 })
    #expect(status == 0 && text.contains("\"returned\""), "\(text)")
  }

  /// Whether a system call of it was seen by the host, and isn't decided. Nothing but an end interrupts that wait
  /// (`SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV`, seccomp(2)): the process stops as it has the answer.
  private static func waitsForItsHost(_ pid: Int32) -> Bool {
    ((try? Files.text(of: "/proc/\(pid)/wchan")) ?? "").hasPrefix("seccomp_do_user_notification")
  }

  private static func hasThePlugin(_ pid: Int32) -> Bool {
    // All of it: Foundation ends with the first read that is short.
    ((try? Files.text(of: "/proc/\(pid)/maps", limit: 1 << 20)) ?? "").contains("/plugin.so\n")
  }

  private static let greedy = """
    #include <fcntl.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <unistd.h>
    int grow(void) {
      close(open("/container/called", O_CREAT | O_WRONLY, 0644));
      while (access("/container/go", F_OK) != 0) usleep(1000);
      for (;;) {
        char *memory = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory != MAP_FAILED) memset(memory, 1, 1 << 20);
        usleep(1000);
      }
    }
    """

  /// About 1 MiB each millisecond. Stopped with the host, or ended by the kernel, it never has much more than its limit.
  @Test func memoryHoldsWhileTheHostIsStopped() throws {
    let command = try Command(Self.greedy, ["--memory", "8MiB"], "grow")
    let hasCalled = becomes { command.has("called") }
    let below = Runners.descendants(of: command.process.processIdentifier)
    let isStill = command.stop()
    command.make("go")
    let hasStopped = isStill && becomes { command.hasStopped(below, orEnded: true) }
    let used = below.map(Self.anonymousKibibytes).max() ?? 0
    kill(command.process.processIdentifier, SIGCONT)
    let (text, status) = command.finish()
    #expect(hasCalled && hasStopped && used < 256 << 10, "\(used) KiB")
    #expect(status == 14 && text.contains("\"memoryExceeded\""), "\(text)")
  }

  private static func anonymousKibibytes(of pid: Int32) -> Int {
    let status = (try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") }
    return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
  }

  @Test func aSilentForkServerIsReplaced() async throws {
    let host = try Workspace.host()
    let late = try await host.load("libc.so.6", policy: Policy(limits: Limits(wallTime: .milliseconds(300))))
    let other = try await host.load("libc.so.6")
    let server = try await Self.server(of: host)
    kill(server, SIGSTOP)
    async let waiting = other.call("sleep", "u32(u32)", 30)
    do {
      _ = try await late.call("sleep", "u32(u32)", 30)
      Issue.record("the call returned")
    } catch {
      #expect(error.report?.outcome.kind == .wallTimeExceeded)
    }
    // What else was in flight ends with the server.
    do {
      _ = try await waiting
      Issue.record("the call returned")
    } catch {
      #expect((error as? HostError)?.report?.outcome.kind == .hostFailed)
    }
    #expect(Runners.stillThere([server]).isEmpty)
    for plugin in [late, other] { _ = await plugin.end() }
    let next = try await host.load("libc.so.6")
    #expect(try await next.call("abs", "i32(i32)", -7).value == .signed(7))
    _ = await next.end()
  }

  @Test func aForkServerThatMakesNoRunnerIsReplaced() async throws {
    let host = try Workspace.host()
    _ = await (try await host.load("libc.so.6")).end()
    kill(try await Self.server(of: host), SIGSTOP)
    do {
      _ = try await host.load("libc.so.6")
      Issue.record("the plugin was loaded")
    } catch {
      #expect(error.report?.outcome.kind == .hostFailed)
    }
    _ = await (try await host.load("libc.so.6")).end()
  }
}
