import Foundation
import Sandbox
import TestSupport
import Testing

/// A host that is interrupted or killed leaves no process and no folder, and takes nothing that isn't its own.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct EndedHostTests {
  /// A command whose plugin sleeps until something ends it.
  private static func sleeper() throws -> TestProcess {
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = ["call", "libc.so.6", "sleep", "u32(u32)", "30"]
    process.standardError = FileHandle.nullDevice
    try process.run()
    return process
  }

  @Test func interruptsLeaveNothing() throws {
    let process = try Self.sleeper()
    let runners = try Runners.waitForOne(of: process.processIdentifier)
    process.interrupt()
    process.waitUntilExit()
    #expect(process.terminationStatus == 130)
    #expect(Runners.stillThere(runners).isEmpty)
  }

  @Test func aKilledHostLeavesNothing() throws {
    let process = try Self.sleeper()
    let runners = try Runners.waitForOne(of: process.processIdentifier)
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    // The kernel takes the tree down on its own time; the test watches until it has.
    let deadline = ContinuousClock.now + .seconds(5)
    while !Runners.stillThere(runners).isEmpty, ContinuousClock.now < deadline { sched_yield() }
    #expect(Runners.stillThere(runners).isEmpty)
    // The next host's janitor removes the folder that the killed one left.
    let prefix = "outrider-run-\(process.processIdentifier)-"
    _ = try Workspace.run(["call", "libc.so.6", "abs", "i32(i32)", "1"])
    let left = try FileManager.default.contentsOfDirectory(atPath: "/tmp").filter { $0.hasPrefix(prefix) }
    #expect(left.isEmpty)
  }

  /// The terminal is closed: nothing stays for the next host to remove.
  @Test func aHangUpLeavesNothing() throws {
    let process = try Self.sleeper()
    let runners = try Runners.waitForOne(of: process.processIdentifier)
    kill(process.processIdentifier, SIGHUP)
    process.waitUntilExit()
    #expect(process.terminationReason == .exit && process.terminationStatus == 129)
    #expect(Runners.stillThere(runners).isEmpty)
    let prefix = "outrider-run-\(process.processIdentifier)-"
    for parent in ["/tmp", "/var/tmp"] {
      #expect(try FileManager.default.contentsOfDirectory(atPath: parent).allSatisfy { !$0.hasPrefix(prefix) })
    }
  }

  /// Its own process table says nothing of a host in another one.
  @Test(.asRoot) func aHostInAnotherPidNamespaceTakesNothing() throws {
    let library = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: library) }
    try LibraryTests.compile(
      """
      #include <fcntl.h>
      #include <unistd.h>
      int wait_here(void) { open("/container/here", O_CREAT | O_WRONLY, 0600); for (;;) pause(); }
      """, "-O1 -o waits.so", in: library)
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: Workspace.outrider)
    process.arguments = ["call", "\(library)/waits.so", "wait_here", "i32()"]
    process.standardError = FileHandle.nullDevice
    try process.run()
    let prefix = "outrider-run-\(process.processIdentifier)-"
    // A host that proves its limits first has folders that come and go: this is the plugin's.
    func folders() throws -> [String] {
      try ["/tmp", "/var/tmp"].flatMap { parent in
        try FileManager.default.contentsOfDirectory(atPath: parent)
          .filter { $0.hasPrefix(prefix) && access("\(parent)/\($0)/here", F_OK) == 0 }
      }
    }
    var before: [String] = []
    while before.isEmpty, process.isRunning { before = try folders() }
    let other = try Workspace.run(
      ["-pf", "--mount-proc", Workspace.outrider, "call", "libc.so.6", "abs", "i32(i32)", "-5"],
      program: "/usr/bin/unshare")
    let after = try folders()
    process.interrupt()
    process.waitUntilExit()
    #expect(other.output == "5\n", "\(other.errors)")
    #expect(before.count == 1 && after == before, "\(before) \(after)")
  }

  /// Names are easily made up: what another program has put there under one isn't ours to remove.
  @Test(.asRoot) func theJanitorKeepsToItsOwn() throws {
    let (foreign, own) = ("/tmp/outrider-run-1-1-foreign", "/tmp/outrider-run-1-1-own")
    for folder in [foreign, own] { mkdir(folder, 0o700) }
    defer { rmdir(foreign) }
    chown(foreign, 12345, 12345)
    _ = try Workspace.run(["call", "libc.so.6", "abs", "i32(i32)", "1"])
    #expect(access(foreign, F_OK) == 0 && access(own, F_OK) != 0)
  }
}

/// The processes that a host started, found in /proc.
enum Runners {
  struct NoneError: Error {}

  private static func children(of parent: Int32) -> [Int32] {
    let all = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return all.compactMap { Int32($0) }.filter { pid in
      guard let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8) else { return false }
      return status.contains("\nPPid:\t\(parent)\n")
    }
  }

  static func descendants(of parent: Int32) -> [Int32] {
    children(of: parent).flatMap { [$0] + descendants(of: $0) }
  }

  static func isStopped(_ pid: Int32) -> Bool {
    let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    return status?.contains("State:\tT") ?? false
  }

  /// Waits until stand-in, server and a runner are there.
  static func waitForOne(of host: Int32) throws -> [Int32] {
    let deadline = ContinuousClock.now + .seconds(10)
    while ContinuousClock.now < deadline {
      let found = descendants(of: host)
      if found.count >= 3 { return found }
      sched_yield()
    }
    throw NoneError()
  }

  static func stillThere(_ pids: [Int32]) -> [Int32] {
    pids.filter { pid in
      guard let status = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8) else { return false }
      return !status.contains("State:\tZ")
    }
  }
}
