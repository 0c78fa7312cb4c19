import PluginHost
import TestSupport
import Testing

/// One call may have less time than its policy gives (`within`).
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct CallDeadlineTests {
  private static func options(isShared: Bool) -> PluginHost.LoadOptions {
    var options = PluginHost.LoadOptions()
    options.sharesMemory = isShared
    return options
  }

  @Test("a call's own limit ends the run, which says whose it was", arguments: [true, false])
  func passes(isShared: Bool) async throws {
    let host = try Workspace.host()
    let plugin = try await host.load(
      "libc.so.6", policy: Policy(limits: Limits(wallTime: .seconds(20))), options: Self.options(isShared: isShared))
    #expect(try await plugin.call("abs", "i32(i32)", -7, within: .seconds(5)).value == .signed(7))
    #expect(try await plugin.call("usleep", "i32(u32)", 20_000, within: .seconds(5)).value == .signed(0))
    let error = await #expect(throws: HostError.self) {
      try await plugin.call("sleep", "u32(u32)", 10, within: .milliseconds(50))
    }
    let report = try #require(error?.report)
    #expect(report.outcome.kind == .wallTimeExceeded)
    #expect(report.outcome.detail == "the caller gave this call 50ms")
    #expect(report.usage.wallSeconds >= 0.07 && report.usage.wallSeconds < 5)
    #expect(report.usage.overrunSeconds != nil)
    #expect(await plugin.end().outcome == report.outcome)
  }

  @Test("less than the moment for which an answer is waited in the caller's thread is a limit, too")
  func isShort() async throws {
    let host = try Workspace.host()
    let plugin = try await host.load("libc.so.6")
    _ = try await plugin.call("abs", "i32(i32)", -7)
    let error = await #expect(throws: HostError.self) {
      try await plugin.call("sleep", "u32(u32)", 10, within: .microseconds(20))
    }
    #expect(error?.report?.outcome.kind == .wallTimeExceeded)
  }

  @Test("the limit is its call's alone, and the policy's holds where it is less", arguments: [true, false])
  func isForOneCall(isShared: Bool) async throws {
    let host = try Workspace.host()
    let plugin = try await host.load(
      "libc.so.6", policy: Policy(limits: Limits(wallTime: .milliseconds(800))),
      options: Self.options(isShared: isShared))
    _ = try await plugin.call("abs", "i32(i32)", -7, within: .milliseconds(100))
    #expect(try await plugin.call("usleep", "i32(u32)", 300_000).value == .signed(0))
    let error = await #expect(throws: HostError.self) {
      try await plugin.call("sleep", "u32(u32)", 10, within: .seconds(5))
    }
    #expect(error?.report?.outcome.detail == "one call may take 800ms")
  }

  @Test("an entry point of an extension may have less time as well") func isForEntryPoints() async throws {
    let host = try Workspace.host()
    defer { host.stop() }
    var options = PluginHost.LoadOptions()
    options.isExtension = true
    let policy = Policy(limits: Limits(wallTime: .seconds(60), cpu: .seconds(60)))
    let plugin = try await host.load(Workspace.hostile + "/requests/spins.so", policy: policy, options: options)
    let refused = await #expect(throws: HostError.self) { try await plugin.contentRequest(.install, within: .zero) }
    #expect("\(refused as Any)".contains("more than no time"))
    let error = await #expect(throws: HostError.self) {
      try await plugin.contentRequest(.install, within: .milliseconds(100))
    }
    #expect(error?.report?.outcome.kind == .wallTimeExceeded)
    #expect(error?.report?.outcome.detail == "the caller gave this call 100ms")
  }

  @Test("while a call waits for its turn its limit doesn't count") func waitsForItsTurn() async throws {
    let host = try Workspace.host()
    let plugin = try await host.load("libc.so.6")
    async let first = plugin.call("usleep", "i32(u32)", 500_000)
    async let second = plugin.call("abs", "i32(i32)", -9, within: .milliseconds(250))
    #expect(try await first.value == .signed(0))
    #expect(try await second.value == .signed(9))
    #expect(await plugin.end().outcome.kind == .returned)
  }

  @Test("no time at all is refused, and the plugin goes on") func isRefused() async throws {
    let host = try Workspace.host()
    let plugin = try await host.load("libc.so.6")
    for limit in [Duration.zero, .seconds(-1), .seconds(Int64.min)] {
      let error = await #expect(throws: HostError.self) {
        try await plugin.call("abs", "i32(i32)", -9, within: limit)
      }
      if case .usage? = error {} else { Issue.record("\(String(describing: error))") }
    }
    #expect(try await plugin.call("abs", "i32(i32)", -9, within: .seconds(Int64.max)).value == .signed(9))
  }
}
