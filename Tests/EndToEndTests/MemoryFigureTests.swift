import Foundation
import PluginHost
import Sandbox
import TestSupport
import Testing

/// The memory that a report shows, where the kernel counts it.
@Suite(.ownThreads, .serialized, .withMemoryCgroup, .timeLimit(.minutes(3))) struct MemoryFigureTests {
  /// The most in KiB.
  private static func peak(
    _ symbol: String, _ memory: Int, _ library: String = Workspace.hostile + "/libhostile.so"
  ) async throws -> (kibibytes: Int, outcome: Outcome.Kind) {
    let host = try Workspace.host()
    let plugin = try await host.load(library, policy: Policy(limits: Limits(wallTime: .seconds(30), memory: memory)))
    _ = try? await plugin.call(symbol, "i32()")
    let report = await plugin.end()
    return (report.usage.peakMemoryBytes >> 10, report.outcome.kind)
  }

  /// 64 MiB that are there for a few milliseconds, and pipes, which no process's figures show. The kernel counts in batches
  /// of 64 pages for each processor.
  @Test(arguments: [("h25_burst", 63 << 10), ("h34_pipes", 4 << 10)])
  func whatSamplesMissIsShown(_ symbol: String, _ least: Int) async throws {
    let found = try await Self.peak(symbol, 80 << 20)
    #expect(found.outcome == .returned && found.kibibytes >= least && found.kibibytes < least + 8192, "\(found)")
  }

  @Test func noMoreThanTheLimitIsShown() async throws {
    let found = try await Self.peak("h25_burst", 16 << 20)
    #expect(found.outcome == .memoryExceeded && found.kibibytes > 12 << 10 && found.kibibytes <= 16 << 10, "\(found)")
  }

  /// Neither what a library's own file takes nor what is read of four times the limit.
  @Test("Pages of mapped files aren't counted as memory [B17]") func filesArentShown() async throws {
    for _ in 0..<3 {
      let little = try await Self.peak("getpid", 8 << 20, "libc.so.6")
      #expect(little.outcome == .returned && little.kibibytes < 1024, "\(little)")
      let files = try await Self.peak("h36_read_big_file", 16 << 20)
      #expect(files.outcome == .returned && files.kibibytes < 4096, "\(files)")
    }
  }
}
