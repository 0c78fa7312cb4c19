import Foundation
import LinuxSystem
import Sandbox
import Synchronization
import TestSupport
import Testing

@testable import PluginHost

/// What may take long doesn't keep the watchdog's thread from other plugins.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct WorkerThreadsTests {
  /// How long `work` takes, and the longest that the watchdog's thread let a thread wait meanwhile. Tasks would wait for the
  /// other tests, too.
  private static func watch(
    _ host: PluginHost, during work: @escaping @Sendable () async throws -> Void
  ) async throws -> (all: Duration, longest: Duration) {
    let isOver = Mutex(false)
    let clock = ContinuousClock()
    let start = clock.now
    async let longest = withCheckedContinuation { continuation in
      Thread.detachNewThread { [loop = host.core.loop] in
        let answered = DispatchSemaphore(value: 0)
        var longest = Duration.zero
        while !isOver.withLock({ $0 }) {
          let asked = clock.now
          loop.submit { answered.signal() }
          answered.wait()
          longest = max(longest, asked.duration(to: clock.now))
          usleep(1000)
        }
        continuation.resume(returning: longest)
      }
    }
    defer { isOver.withLock { $0 = true } }
    try await work()
    let all = start.duration(to: clock.now)
    isOver.withLock { $0 = true }
    return (all, await longest)
  }

  /// Makes names of a few files: ext4 looks at each inode that was freed in the last minutes before it takes another, so that
  /// as many files would hold up whoever makes one meanwhile.
  private static func fill(_ folder: String, _ count: Int) throws {
    let namesPerFile = 10_000
    for index in 0..<count {
      let file = "\(folder)/\(index / namesPerFile * namesPerFile)"
      let path = "\(folder)/\(index)"
      let made =
        index % namesPerFile == 0
        ? close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0o600)) : link(file, path)
      try #require(made == 0, "\(path): \(errno)")
    }
  }

  @Test func aFullFolderIsRemoved() async throws {
    let host = try Workspace.host()
    let plugin = try await host.load("libc.so.6")
    let folder = plugin.container
    try Self.fill(folder, 100_000)
    let (all, longest) = try await Self.watch(host) {
      // A caller that asks while it is being removed waits for that, too.
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
      try Self.fill(plugin.container, 20_000)
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

  /// A server for one run alone, which is slow to start, and starts no more at all once there is a file `SCRIPT.shut`.
  private static func slowHost() throws -> (PluginHost, script: String) {
    let script = try Workspace.temporaryFile(
      """
      #!/bin/sh
      sleep 1
      while [ -e "$0.shut" ]; do sleep 1; done
      exec \(Workspace.products)/outrider-runner "$@"

      """, suffix: ".sh")
    chmod(script, 0o700)
    var configuration = PluginHost.Configuration()
    configuration.runner = script
    configuration.isCold = true
    return (try PluginHost(configuration: configuration), script)
  }

  @Test func aColdServerStarts() async throws {
    let (host, script) = try Self.slowHost()
    defer { try? FileManager.default.removeItem(atPath: script) }
    _ = try await host.walls()
    let (all, longest) = try await Self.watch(host) {
      let plugin = try await host.load("libc.so.6")
      #expect(try await plugin.call("abs", "i32(i32)", -7).value == .signed(7))
      #expect(await plugin.end().outcome.kind == .returned)
    }
    #expect(all > .seconds(1) && longest < all / 2, "\(longest) of \(all)")
  }

  @Test func aHostIsStoppedWhileAColdServerStarts() async throws {
    let (host, script) = try Self.slowHost()
    defer { try? FileManager.default.removeItem(atPath: script) }
    _ = try await host.walls()
    let shut = script + ".shut"
    try #require(FileManager.default.createFile(atPath: shut, contents: nil))
    defer { try? FileManager.default.removeItem(atPath: shut) }
    func servers() -> [Int32] {
      Runners.descendants(of: getpid()).filter {
        ((try? String(contentsOfFile: "/proc/\($0)/cmdline", encoding: .utf8)) ?? "").contains(script)
      }
    }
    async let loading = host.load("libc.so.6")
    while servers().isEmpty { try await Task.sleep(for: .milliseconds(5)) }
    host.stop()
    #expect(Runners.stillThere(servers()).isEmpty)
    do {
      _ = try await loading
      Issue.record("a stopped host loaded a plugin")
    } catch {
      #expect("\(error)".contains("the host was shut down"), "\(error)")
    }
  }

  /// A server that has ended, of which the host hasn't heard yet.
  @Test func requestsThatCantBeSentLeaveNoDescriptor() async throws {
    let host = try Workspace.host()
    let image = try PluginImage(opening: "libc.so.6", searching: true)
    _ = await (try await host.load("libc.so.6")).end()
    let server = try #require(await host.forkServerProcess())
    let before = await host.inventory().descriptors
    let count = 200
    let failed = Mutex(0)
    await withCheckedContinuation { continuation in
      host.core.loop.submit { [core = host.core] in
        kill(Runners.descendants(of: server).first ?? server, SIGKILL)
        while !Runners.stillThere([server]).isEmpty { usleep(1000) }
        for _ in 0..<count {
          core.begin(LoadRequest(image: image, policy: Policy(), options: .init(), isBare: false, proof: [])) {
            result in
            let all = failed.withLock {
              if case .failure = result { $0 += 1 }
              return $0
            }
            if all == count { continuation.resume() }
          }
        }
      }
    }
    // Other suites open some at the same time, and close them.
    let end = ContinuousClock.now + .seconds(60)
    while await host.inventory().descriptors >= before + count, ContinuousClock.now < end {
      try await Task.sleep(for: .milliseconds(50))
    }
    #expect(await host.inventory().descriptors < before + count)
    _ = await (try await host.load("libc.so.6")).end()
  }
}
