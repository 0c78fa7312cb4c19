import Foundation
import PluginHost
import Sandbox
import Testing

/// Processes that stand still: a host that was stopped, or a fork server that doesn't answer.
@Suite(.serialized, .timeLimit(.minutes(3))) struct StoppedTests {
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

  private static func waitUntil(_ isSo: () -> Bool) -> Bool {
    let deadline = ContinuousClock.now + .seconds(20)
    while !isSo(), ContinuousClock.now < deadline { usleep(1000) }
    return isSo()
  }

  /// The answer lay there before the deadline; the host looked after it.
  @Test func anAnswerToAStoppedHostIsInTime() throws {
    let folder = NSTemporaryDirectory() + "outrider-test-\(UUID().uuidString)"
    let container = "\(folder)/container"
    try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Self.patient.write(toFile: "\(folder)/patient.c", atomically: true, encoding: .utf8)
    let compiled = try Workspace.run(
      ["-shared", "-fPIC", "-o", "\(folder)/patient.so", "\(folder)/patient.c"], program: "/usr/bin/cc")
    try #require(compiled.status == 0, "\(compiled.errors)")
    let process = Process()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = [
      "call", "--json", "--wall", "3s", "--container", container, "\(folder)/patient.so", "answer", "i32()",
    ]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let hasCalled = Self.waitUntil { access("\(container)/called", F_OK) == 0 }
    let deadline = ContinuousClock.now + .seconds(3)
    kill(process.processIdentifier, SIGSTOP)
    close(open("\(container)/go", O_CREAT | O_WRONLY, 0o644))
    let hasAnswered = Self.waitUntil { access("\(container)/answered", F_OK) == 0 }
    let isLate = Self.waitUntil { ContinuousClock.now > deadline }
    kill(process.processIdentifier, SIGCONT)
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(hasCalled && hasAnswered && isLate)
    #expect(process.terminationStatus == 0 && text.contains("\"returned\""), "\(text)")
  }

  @Test func aSilentForkServerIsReplaced() async throws {
    let host = try Workspace.host()
    let late = try await host.load("libc.so.6", policy: Policy(limits: Limits(wall: .milliseconds(300))))
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
