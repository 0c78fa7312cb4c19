import Foundation
import Glibc
import LinuxSystem
import PluginHost
import TestSupport
import Testing

/// A container may have hundreds of thousands of names.
@Suite(.ownThreads, .timeLimit(.minutes(1))) struct ContainerListingTests {
  /// When a folder was last listed, in seconds: the kernel writes that down where it was long ago (mount(8), relatime).
  private static func lastListing(of folder: String) -> Int {
    var status = stat()
    stat(folder, &status)
    return status.st_atim.tv_sec
  }

  private static let longAgo = 1_000_000

  private static func forget(_ folder: String) {
    let time = timespec(tv_sec: longAgo, tv_nsec: 0)
    utimensat(AT_FDCWD, folder, [time, time], 0)
  }

  @Test("a load, a call and an end don't list the container") func isNotListed() async throws {
    // What lies in memory has no such times on every kernel.
    let container = "/var/tmp/outrider-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: container, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: container) }
    for name in 0..<10 { close(open("\(container)/\(name)", O_CREAT | O_WRONLY, 0o644)) }
    let host = try Workspace.host()
    defer { host.stop() }
    var options = PluginHost.LoadOptions()
    options.container = container
    Self.forget(container)
    let plugin = try await host.load("libc.so.6", options: options)
    #expect(try await plugin.call("abs", "i32(i32)", -5).value == .signed(5))
    let report = await plugin.end()
    #expect(report.outcome.kind == .returned)
    #expect(Self.lastListing(of: container) == Self.longAgo)
    _ = try Files.names(in: container)
    #expect(Self.lastListing(of: container) != Self.longAgo, "a listing is seen")
  }
}
