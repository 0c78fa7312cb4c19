import Foundation
import Glibc
import HostProtocol
import PluginHost
import PolicyLab
import Sandbox
import Synchronization
import TestSupport
import Testing

/// The same for other people's libraries, from the first call of their loading on: the tests of Examples/policies, each without any wall
/// and again under its policy. libc.test.yaml is left out: it attacks, and the corpus does that where it can do no harm.
@Suite(.ownThreads, .timeLimit(.minutes(5)), .enabled(if: geteuid() == 0, "strace attaches as root alone"))
struct LibraryOracleTests {
  private static let libraries = [
    "zlib", "sqlite", "libxml2", "libmagic", "libpng", "libjpeg", "liblua", "libpython3", "libavformat", "imagemagick",
  ]
  private static let examples = Workspace.root + "/Examples/policies"
  private static let sum = Oracle.Sum("libraries", parts: libraries.count)

  @Test(
    "what a library gets without walls and fails to get inside them is in the report, and nothing else is",
    arguments: libraries)
  func library(name: String) async throws {
    let file = "\(Self.examples)/\(name).test.yaml"
    let tests = try PolicyTests(parsing: String(contentsOfFile: file, encoding: .utf8), file: file, policy: Self.policy)
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let walled = try Workspace.host()
    defer { walled.stop() }
    let bare = try Self.bareHost(folder)
    defer { bare.stop() }
    var figures = Oracle.Figures()
    for test in tests.tests {
      let (outside, _) = try await Self.run(test, tests.plugin, in: bare, folder, isBare: true)
      let (inside, observed) = try await Self.run(test, tests.plugin, in: walled, folder, isBare: false)
      #expect(!outside.isEmpty && !inside.isEmpty, "the oracle sees nothing of '\(test.name)'")
      figures += Oracle.compare("\(name): \(test.name)", outside: outside, inside: inside, denials: observed.denials)
    }
    if let sum = Self.sum.add(figures) { #expect(sum.refused > 20 && sum.denials > 20, "the oracle sees nothing") }
    #expect(figures.missed.isEmpty)
    #expect(figures.unconfirmed.isEmpty)
  }

  private static func policy(_ name: String) throws -> Policy {
    let text =
      try ShippedPolicy(rawValue: name)?.text ?? String(contentsOfFile: "\(examples)/\(name)", encoding: .utf8)
    return try PolicyFile(parsing: text, file: name) { (_) throws(PolicyFile.Unreadable) in
      throw PolicyFile.Unreadable(reason: "none of these has a parent")
    }.policy
  }

  /// Without walls, but away from the machine's network: nothing waits for an answer from there.
  private static func bareHost(_ folder: String) throws -> PluginHost {
    let runner = "\(folder)/runner"
    let text = "#!/bin/sh\nexec unshare --net --ipc --uts '\(Workspace.products)/outrider-runner' \"$@\"\n"
    try text.write(toFile: runner, atomically: true, encoding: .utf8)
    chmod(runner, 0o755)
    var configuration = PluginHost.Configuration()
    configuration.runner = runner
    return try PluginHost(configuration: configuration)
  }

  /// Its system calls from when the walls are closed.
  private static func run(
    _ test: PolicyTests.Test, _ library: String, in host: PluginHost, _ folder: String, isBare: Bool
  ) async throws -> ([StraceLog.Call], Observed) {
    let limits = test.policy.limits
    var test = test
    test.policy.observesFiles = true
    if isBare {
      // What a policy requires and grants means nothing there.
      test.policy = Policy()
      test.policy.limits = limits
    }
    let log = "\(folder)/log"
    let strace = Mutex<Oracle.Attached?>(nil)
    var options = PluginHost.LoadOptions()
    options.withoutSandbox = isBare
    options.onReadyForDebugger = { process in
      let attached = try? Oracle.Attached(to: process, log: log)
      // No call is missed: the host goes on as soon as a debugger traces, whether or not it looks already.
      attached?.waitUntilAttached()
      strace.withLock { $0 = attached }
    }
    if isBare {
      options.container = "\(folder)/container"
      try? FileManager.default.removeItem(atPath: "\(folder)/container")
      try FileManager.default.createDirectory(atPath: "\(folder)/container", withIntermediateDirectories: true)
    }
    let (observed, _) = try await PolicyTestRunner(host: host, options: options).observe(test, library)
    // Where the plugin has its folder, so that both name the same.
    let calls = try #require(strace.withLock { $0 }).calls(
      renamed: isBare ? ["\(folder)/container": RunnerView.container] : [:])
    return (calls, observed)
  }
}
