import Foundation
import PluginHost
import Sandbox
import TestSupport
import Testing

/// A signal that a plugin sends itself is told apart from what the filter does.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct RaisedSignalTests {
  private static let withoutProcesses: [Set<Wall>] = [
    [], [.pidNamespace],
    [.userNamespace, .mountNamespace, .pidNamespace, .networkNamespace, .ipcNamespace, .utsNamespace],
  ]

  private func end(
    _ library: String, without namespaces: Set<Wall>, _ calls: (Plugin) async throws -> Void
  ) async throws -> RunReport {
    let host = try Workspace.host(withoutNamespaces: namespaces)
    let plugin = try await host.load(library)
    do {
      try await calls(plugin)
    } catch {
      return try #require((error as? HostError)?.report, "\(error)")
    }
    return await plugin.end()
  }

  @Test("A raised SIGSYS is a crash, and no call of another architecture", arguments: withoutProcesses)
  func raised(_ namespaces: Set<Wall>) async throws {
    for isDefault in [false, true] {
      let report = try await end("libc.so.6", without: namespaces) { plugin in
        if isDefault { _ = try await plugin.call("signal", "pointer(i32,u64)", .integer(Int64(SIGSYS)), 0) }
        _ = try await plugin.call("raise", "i32(i32)", .integer(Int64(SIGSYS)))
        // The first process of a pid namespace doesn't die of it.
        _ = try await plugin.call("abort", "void()")
      }
      #expect(report.outcome.kind == .crashed, "\(report.outcome)")
      #expect(!report.outcome.detail.contains("architecture"))
    }
  }

  #if arch(x86_64)
    @Test("A call of another architecture ends the run and is named", arguments: withoutProcesses)
    func foreign(_ namespaces: Set<Wall>) async throws {
      for (symbol, name) in [("h51_int80_socketcall", "i386"), ("h52_x32_getpid", "x32")] {
        let report = try await end("\(Workspace.hostile)/libhostile.so", without: namespaces) { plugin in
          _ = try await plugin.call(symbol, "i32()")
        }
        // Kernels without x32 refuse it before any filter is asked.
        if name == "x32", report.outcome.kind == .returned { continue }
        #expect(
          report.outcome
            == Outcome(.policyViolation, "it made a system call of another architecture (\(name)) in a call"))
        #expect(report.denials.isEmpty)
      }
    }
  #endif
}
