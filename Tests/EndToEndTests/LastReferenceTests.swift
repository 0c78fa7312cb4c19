import Foundation
import HostProtocol
import PluginHost
import Sandbox
import TestSupport
import Testing

/// A host that nobody refers to any more ends, on whichever thread the last reference went.
@Suite(.ownThreads, .timeLimit(.minutes(2))) struct LastReferenceTests {
  private static func isThere(_ process: Int32) -> Bool { kill(process, 0) == 0 || errno != ESRCH }

  /// Waits until the processes are gone, or the test's time is over.
  private static func gone(_ processes: [Int32?]) async throws {
    while processes.compactMap(\.self).contains(where: isThere) { try await Task.sleep(for: .milliseconds(5)) }
  }

  private static func called(_ library: String) async throws -> Int32? {
    let host = try Workspace.host()
    let plugin = try await host.load(library)
    let callback = try await plugin.register("i32(i32)") { arguments in
      _ = host
      return .integer(Int64(try arguments[0].int32))
    }
    #expect(try await plugin.call("calls", "i32(callback,i32)", .callback(callback), 5).int32 == 5)
    return await host.forkServerProcess()
  }

  @Test("a callback that refers to the host") func callback() async throws {
    let folder = try LibraryTests.folder()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try LibraryTests.compile("int calls(int (*f)(int), int n) { return f(n); }", "-o a.so", in: folder)
    for _ in 0..<3 { try await Self.gone([try await Self.called("\(folder)/a.so")]) }
  }

  /// The time limit of a waiting borrower is the host's thread to keep: the pool, and then the host, may go there.
  private static func timedOut() async throws -> Int32? {
    let host = try Workspace.host()
    _ = try await host.load("libc.so.6")
    var configuration = PluginPool.Configuration()
    configuration.size = 1
    configuration.waitLimit = .milliseconds(2)
    let pool = try PluginPool(host: host, library: "nothing.so", configuration: configuration)
    for _ in 0..<3 {
      do { _ = try await pool.call("nothing", "i32()") } catch PoolError.timedOut { break } catch {}
    }
    return await host.forkServerProcess()
  }

  @Test("a pool whose borrowers' time is over") func pool() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask { for _ in 0..<10 { try await Self.gone([try await Self.timedOut()]) } }
      }
      try await group.waitForAll()
    }
  }

  @Test("who stops a host that another is stopping returns when all is gone, too") func twoStops() async throws {
    for _ in 0..<5 {
      let host = try Workspace.host()
      for _ in 0..<4 { _ = try await host.load("libc.so.6") }
      let server = try #require(await host.forkServerProcess())
      await withTaskGroup(of: Bool.self) { group in
        for _ in 0..<2 {
          group.addTask {
            host.stop()
            return Self.isThere(server)
          }
        }
        for await isThere in group { #expect(!isThere) }
      }
    }
  }

  @Test("a plugin whose host was stopped has its report, and says why it makes no calls") func report() async throws {
    let host = try Workspace.host()
    let plugin = try await host.load("libc.so.6")
    _ = try await plugin.call("puts", "i32(cstring)", "said")
    host.stop()
    let error = await #expect(throws: HostError.self) { try await plugin.call("abs", "i32(i32)", 1) }
    #expect(error?.report?.outcome.detail == "the host was shut down", "\(String(describing: error))")
    let report = await plugin.end()
    #expect(report.outcome.kind == .hostFailed && report.outcome.detail == "the host was shut down")
    #expect(report.walls.isEmpty == false)
  }
}
