import Foundation
import PluginHost
import TestSupport
import Testing

/// A runner that isn't one, or can't run here.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct StartTests {
  @Test(.timeLimit(.minutes(3))) func aRunnerThatEndsAtItsStartIsNamed() throws {
    let start = ContinuousClock.now
    for program in ["/bin/true", "/bin/false"] {
      let finished = try Workspace.run(
        ["call", "libc.so.6", "abs", "i32(i32)", "-5"], environment: ["OUTRIDER_RUNNER": program])
      #expect(finished.status == 70)
      #expect(finished.output.isEmpty)
      let status = program == "/bin/true" ? 0 : 1
      #expect(finished.errors.contains("\(program)) ended with status \(status)"), "\(finished.errors)")
    }
    #expect(start.duration(to: .now) < .seconds(10))
  }

  @Test func aKilledRunnerIsNamed() throws {
    let script = try Workspace.temporaryFile("#!/bin/sh\nkill -9 $$\n", suffix: ".sh")
    defer { try? FileManager.default.removeItem(atPath: script) }
    chmod(script, 0o700)
    let finished = try Workspace.run(["doctor"], environment: ["OUTRIDER_RUNNER": script])
    #expect(finished.status == 70)
    #expect(finished.errors.contains("ended with SIGKILL"), "\(finished.errors)")
  }

  /// It holds on to the socket and says nothing.
  @Test(.timeLimit(.minutes(3))) func aSilentRunnerCanBeInterrupted() throws {
    let script = try Workspace.temporaryFile("#!/bin/sh\nexec sleep 60\n", suffix: ".sh")
    defer { try? FileManager.default.removeItem(atPath: script) }
    chmod(script, 0o700)
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = ["call", "libc.so.6", "abs", "i32(i32)", "-5"]
    process.environment = ProcessInfo.processInfo.environment.merging(["OUTRIDER_RUNNER": script]) { $1 }
    process.standardError = FileHandle.nullDevice
    try process.run()
    let deadline = ContinuousClock.now + .seconds(10)
    while Runners.descendants(of: process.processIdentifier).isEmpty, ContinuousClock.now < deadline { sched_yield() }
    let runners = Runners.descendants(of: process.processIdentifier)
    #expect(!runners.isEmpty)
    let start = ContinuousClock.now
    process.interrupt()
    process.waitUntilExit()
    #expect(process.terminationStatus == 130)
    #expect(start.duration(to: .now) < .seconds(5))
    #expect(Runners.stillThere(runners).isEmpty)
  }
}
