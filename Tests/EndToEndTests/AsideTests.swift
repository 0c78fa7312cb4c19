import Foundation
import LinuxSystem
import Sandbox
import Synchronization
import Testing

@testable import PluginHost

/// What may take long doesn't keep the watchdog's thread from other plugins.
@Suite(.serialized) struct AsideTests {
  /// How long `work` takes, and the longest that the thread let anyone wait meanwhile.
  private static func watch(
    _ host: PluginHost, during work: @escaping @Sendable () async throws -> Void
  ) async throws -> (all: Duration, longest: Duration) {
    let isOver = Mutex(false)
    let clock = ContinuousClock()
    let start = clock.now
    async let all = {
      defer { isOver.withLock { $0 = true } }
      try await work()
      return start.duration(to: clock.now)
    }()
    var longest = Duration.zero
    while !isOver.withLock({ $0 }) {
      let asked = clock.now
      _ = await host.isPrepared()
      longest = max(longest, asked.duration(to: clock.now))
      try await Task.sleep(for: .milliseconds(1))
    }
    return (try await all, longest)
  }

  @Test func aFullFolderIsRemoved() async throws {
    let host = try Workspace.host()
    let plugin = try await host.load("libc.so.6")
    let folder = plugin.container
    for index in 0..<100_000 { close(open("\(folder)/\(index)", O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)) }
    let (all, longest) = try await Self.watch(host) {
      // Whoever asks while it is being removed waits for that, too.
      async let other = plugin.end()
      #expect(await plugin.end().outcome.kind == .returned)
      #expect(!FileManager.default.fileExists(atPath: folder))
      #expect(await other.outcome.kind == .returned)
      #expect(!FileManager.default.fileExists(atPath: folder))
    }
    #expect(longest < all / 2, "\(longest) of \(all)")
  }

  @Test func aStoppedHostLeavesNoFullFolder() async throws {
    let host = try Workspace.host()
    var folders: [String] = []
    var plugins: [Plugin] = []
    for _ in 0..<2 {
      let plugin = try await host.load("libc.so.6")
      for index in 0..<20_000 {
        close(open("\(plugin.container)/\(index)", O_CREAT | O_WRONLY | O_CLOEXEC, 0o600))
      }
      folders.append(plugin.container)
      plugins.append(plugin)
    }
    // One is just being removed, one is still in use.
    let first = plugins[0]
    async let ended = first.end()
    host.stop()
    for folder in folders { #expect(!FileManager.default.fileExists(atPath: folder)) }
    _ = await ended
  }
}
