import Foundation
import Sandbox
import TestSupport
import Testing

@testable import PluginHost

/// What the host reads of a plugin's files before it loads them is a part of the load's wall time.
@Suite(.ownThreads, .timeLimit(.minutes(2))) struct ReadingTimeTests {
  /// It takes a second or more to hash, and a disk no room.
  private static func hugeFile() throws -> String {
    let path = NSTemporaryDirectory() + "outrider-test-\(UUID().uuidString).so"
    try #require(FileManager.default.createFile(atPath: path, contents: Data([0x7f, 0x45, 0x4c, 0x46])))
    try #require(truncate(path, 2040 << 20) == 0)
    return path
  }

  @Test("A library that can't be read in time isn't loaded, and isn't read to its end") func ends() async throws {
    let path = try Self.hugeFile()
    defer { unlink(path) }
    let host = try Workspace.host()
    let error = await #expect(throws: HostError.self) {
      try await host.load(path, policy: Policy(limits: Limits(wallTime: .milliseconds(50))))
    }
    #expect(error?.report?.outcome.kind == .wallTimeExceeded)
    #expect(error?.report?.outcome.detail.contains("reading \(path) before loading it takes longer") == true)
    #expect(await host.forkServerProcess() == nil, "nothing was started for it")
  }

  @Test("The task whose load is being read may be cancelled") func cancelled() async throws {
    let path = try Self.hugeFile()
    defer { unlink(path) }
    let host = try Workspace.host()
    let load = Task { () throws(HostError) in try await host.load(path) }
    load.cancel()
    let error = await #expect(throws: HostError.self) { try await load.value }
    if case .cancelled = error { return }
    Issue.record("\(String(describing: error))")
  }

  @Test("A load has the time that reading left it", arguments: [false, true]) func charged(_ isSpent: Bool) async throws
  {
    let host = try Workspace.host()
    let image = try PluginImage(opening: Workspace.hostile + "/libhostile.so")
    let proof = try await host.core.proof(.runtime)
    let policy = Policy(limits: Limits(wallTime: .seconds(60)))
    do {
      let plugin = try await host.core.load(
        image, policy: policy, options: .init(), proof: proof, reading: isSpent ? .seconds(60) : .milliseconds(1))
      let report = await plugin.end()
      #expect(!isSpent && report.usage.wallSeconds >= 0.001)
    } catch {
      #expect(isSpent)
      #expect(error.report?.outcome == Outcome(.wallTimeExceeded, "one call may take 60s while loading"), "\(error)")
    }
  }
}
