import Foundation
import LinuxSystem
import TestSupport
import Testing

@testable import PluginHost

/// Plugins that need Foundation and all others are forked from different processes.
@Suite(.ownThreads, .timeLimit(.minutes(2))) struct PreloadTests {
  private static let sessions = Workspace.root + "/Plugins/.build/release/libSessionsDownloader.so"

  private static func loadSessions(in host: PluginHost) async throws -> Plugin {
    var options = PluginHost.LoadOptions()
    options.isExtension = true
    return try await host.load(sessions, options: options)
  }

  /// Whether that process has it. Only root may look into one, and who is no root is told so by nil.
  private static func hasFoundation(_ process: Int32) -> Bool? {
    // Foundation's own reading ends after the first page of such a file.
    (try? Files.text(of: "/proc/\(process)/maps", limit: 1 << 20)).map { $0.contains("/libFoundation.so") }
  }

  @Test func eachKindHasAServerOfItsOwn() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let plain = try await host.load("libc.so.6")
    let first = try #require(await host.forkServerProcess())
    let swift = try await Self.loadSessions(in: host)
    let second = try #require(await host.forkServerProcess())
    #expect(first != second)
    let processes = (try #require(await plain.runnerProcess()), try #require(await swift.runnerProcess()))
    #expect(Self.hasFoundation(processes.0) != true)
    #expect(Self.hasFoundation(processes.1) != false)
    let other = try await host.load("libz.so.1")
    #expect(await host.forkServerProcess() == first)
    // One that is gone takes nothing of the other kind with it.
    kill(second, SIGKILL)
    await #expect(throws: HostError.self) { while true { _ = try await swift.contentRequest(.install) } }
    #expect(await swift.end().outcome.kind == .hostFailed)
    #expect(try await plain.call("abs", "i32(i32)", -3).value == .signed(3))
    for plugin in [plain, other] { #expect(await plugin.end().outcome.kind == .returned) }
    let again = try await Self.loadSessions(in: host)
    #expect(await host.forkServerProcess() != second)
    #expect(await again.end().outcome.kind == .returned)
  }

  @Test(arguments: ["libc.so.6", sessions]) func itsRunnerStandsReady(for library: String) async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    try await host.prepare(for: library)
    #expect(await host.isPrepared())
    let spare = try #require(await host.forkServerProcess().flatMap { Runners.descendants(of: $0).last })
    #expect(Self.hasFoundation(spare) != (library == "libc.so.6"))
    let plugin =
      library == Self.sessions ? try await Self.loadSessions(in: host) : try await host.load(library)
    #expect(await plugin.runnerProcess() == spare)
    #expect(await plugin.end().outcome.kind == .returned)
    // Without a name it is one of the same kind.
    try await host.prepare()
    let next = try #require(await host.forkServerProcess().flatMap { Runners.descendants(of: $0).last })
    #expect(Self.hasFoundation(next) != (library == "libc.so.6"))
  }

  @Test func whatCannotBeReadCannotBePreparedFor() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    let error = await #expect(throws: HostError.self) { try await host.prepare(for: "/nonexistent.so") }
    #expect(error?.description.contains("/nonexistent.so") == true)
    #expect(await host.forkServerProcess() == nil)
  }

  /// What a plugin may touch is what it brings and what it needs, and little else.
  @Test func theRunnerLinksNothingThatNoPluginNeeds() throws {
    let runner = try PluginImage(opening: Workspace.products + "/outrider-runner")
    let expected = [
      "libffi.", "libswift", "libBlocksRuntime.", "libdispatch.", "libm.", "libgcc_s.", "libc.", "ld-linux",
    ]
    let needed = try #require(runner.elf?.needed)
    #expect(needed.filter { name in !expected.contains { name.hasPrefix($0) } } == [])
  }

  @Test func foundationIsFoundThroughALibraryBesideTheLibrary() throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try "int f(void) { return 1; }".write(toFile: folder + "/f.c", atomically: true, encoding: .utf8)
    // Each needs the one before; the first only has such a name.
    for (name, needed) in [
      ("libFoundationOther.so", []), ("libinner.so", ["libFoundationOther.so"]), ("libouter.so", ["libinner.so"]),
    ] {
      let built = try Workspace.run(
        [
          "-shared", "-fPIC", "-Wl,--no-as-needed", "-Wl,-soname,\(name)", "-L\(folder)", "-o", "\(folder)/\(name)",
          "\(folder)/f.c",
        ]
          + needed.map { "-l:\($0)" }, program: "/usr/bin/cc")
      try #require(built.status == 0, "\(built)")
    }
    #expect(try PluginImage(opening: folder + "/libouter.so").needsFoundation)
    #expect(try PluginImage(opening: folder + "/libinner.so").needsFoundation)
    #expect(try !PluginImage(opening: folder + "/libFoundationOther.so").needsFoundation)
  }
}
