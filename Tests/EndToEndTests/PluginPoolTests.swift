import Foundation
import TestSupport
import Testing

@testable import PluginHost

@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct PluginPoolTests {
  private static func pool(
    _ host: PluginHost, _ library: String = "libc.so.6", size: Int = 2, waiting: Int = 64,
    limit: Duration = .seconds(60), loans: Int? = nil
  ) throws -> PluginPool {
    var configuration = PluginPool.Configuration()
    configuration.size = size
    configuration.maxWaiting = waiting
    configuration.waitLimit = limit
    configuration.loansPerPlugin = loans
    return try PluginPool(host: host, library: library, configuration: configuration)
  }

  private static func until(_ condition: () async -> Bool) async throws {
    #expect(try await eventually(condition))
  }

  @Test("many tasks share a few plugins, each of which has one borrower at a time") func shares() async throws {
    let host = try Workspace.host()
    let pool = try Self.pool(host)
    let values = try await withThrowingTaskGroup(of: (Int, CallValue).self) { group in
      for index in 0..<50 {
        group.addTask { (index, try await pool.call("abs", "i32(i32)", .integer(Int64(-index))).value) }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(values.count == 50 && values.allSatisfy { $0.1 == .signed(Int64($0.0)) })
    let metrics = await host.metrics()
    #expect(metrics.loads <= 2 && metrics.calls == 50)
    await pool.stop()
    #expect(await host.metrics().ends == [.returned: 2])
    let error = await #expect(throws: PoolError.self) { try await pool.call("abs", "i32(i32)", 1) }
    if case .stopped? = error {} else { Issue.record("\(String(describing: error))") }
  }

  @Test("one that crashed is replaced, and no other caller notices") func replaces() async throws {
    let host = try Workspace.host()
    let pool = try Self.pool(host)
    for _ in 0..<5 {
      #expect(try await pool.call("abs", "i32(i32)", -3).value == .signed(3))
      let error = await #expect(throws: HostError.self) { try await pool.call("abort", "void()") }
      #expect(error?.report?.outcome.kind == .crashed)
    }
    #expect(try await pool.call("abs", "i32(i32)", -4).value == .signed(4))
    await pool.stop()
    #expect(await host.metrics().ends[.crashed] == 5)
  }

  @Test("memory that a borrower left is freed before the next one, and what it named is refused") func takesBack()
    async throws
  {
    let host = try Workspace.host()
    let pool = try Self.pool(host, size: 1)
    let (process, left) = try await pool.withPlugin { plugin in
      let memory = try await plugin.allocate(100)
      _ = try await plugin.allocate(5 << 20)
      return (await plugin.runnerProcess(), memory)
    }
    try await pool.withPlugin { plugin in
      #expect(await plugin.runnerProcess() == process, "the same one")
      let error = await #expect(throws: HostError.self) { try await plugin.read(left) }
      #expect("\(error as Any)".contains("freed"), "\(String(describing: error))")
      // The limit has room for one of them.
      try await plugin.free(try await plugin.allocate(5 << 20))
    }
    #expect(await host.metrics().loads == 1)
    await pool.stop()
  }

  @Test("a handle or a call that a borrower left costs the plugin, and a released handle doesn't")
  func replacesUnclean()
    async throws
  {
    let host = try Workspace.host()
    let pool = try Self.pool(host, size: 1)
    let process: @Sendable () async throws -> Int32? = {
      try await pool.withPlugin { plugin in await plugin.runnerProcess() }
    }
    let first = try await process()
    try await pool.withPlugin { plugin in
      try plugin.release(try await plugin.call("malloc", "handle(u64)", 10).handle)
    }
    #expect(try await process() == first)
    let handle = try await pool.call("malloc", "handle(u64)", 10).handle
    let second = try await process()
    #expect(second != first)
    let error = await #expect(throws: HostError.self) { try await pool.call("free", "void(handle)", .handle(handle)) }
    #expect("\(error as Any)".contains("another plugin"))
    let call = try await pool.withPlugin { plugin in
      let call = Task { try await plugin.call("usleep", "i32(u32)", 100_000_000) }
      try await Self.until { await plugin.core.isBusy(plugin.run) }
      return call
    }
    #expect(try await process() != second)
    let ended = await #expect(throws: HostError.self) { try await call.value }
    #expect(ended?.report?.outcome.kind == .returned)
    await pool.stop()
  }

  @Test("one that dies while no caller has it is replaced, too") func replacesAnIdleOne() async throws {
    let host = try Workspace.host()
    let pool = try Self.pool(host, size: 1)
    let process = try await pool.withPlugin { plugin in
      _ = try await plugin.call("abs", "i32(i32)", -3)
      return try #require(await plugin.runnerProcess())
    }
    kill(process, SIGKILL)
    try await Self.until { await host.metrics().loads == 2 }
    #expect(try await pool.call("abs", "i32(i32)", -4).value == .signed(4))
    await pool.stop()
  }

  @Test("who waits too long, or is one too many, is told so") func isBounded() async throws {
    let host = try Workspace.host()
    let pool = try Self.pool(host, size: 1, waiting: 1, limit: .seconds(3))
    try await Self.until { pool.status.idle == 1 }
    try await pool.withPlugin { _ in
      let late = Task { try await pool.call("abs", "i32(i32)", -1) }
      try await Self.until { pool.status.waiting == 1 }
      let full = await #expect(throws: PoolError.self) { try await pool.call("abs", "i32(i32)", -1) }
      if case .full? = full {} else { Issue.record("\(String(describing: full))") }
      let error = await #expect(throws: PoolError.self) { try await late.value }
      if case .timedOut(.seconds(3))? = error {} else { Issue.record("\(String(describing: error))") }
      let waiting = Task { try await pool.call("abs", "i32(i32)", -1) }
      try await Self.until { pool.status.waiting == 1 }
      waiting.cancel()
      let cancelled = await #expect(throws: PoolError.self) { try await waiting.value }
      if case .cancelled? = cancelled {} else { Issue.record("\(String(describing: cancelled))") }
    }
    #expect(pool.status.idle == 1 && pool.status.lent == 0 && pool.status.waiting == 0)
    await pool.stop()
  }

  @Test("cancelling a loan's call ends that plugin alone, and the pool goes on at once") func cancels() async throws {
    let host = try Workspace.host()
    let pool = try Self.pool(host, size: 1)
    for _ in 0..<3 {
      let sleeping = Task { try await pool.call("sleep", "u32(u32)", 30) }
      try await Self.until { pool.status.lent == 1 }
      sleeping.cancel()
      // It may not have come to its call yet.
      await #expect(throws: (any Error).self) { try await sleeping.value }
      #expect(try await pool.call("abs", "i32(i32)", -5).value == .signed(5))
    }
    await pool.stop()
  }

  @Test("a library that doesn't load is no reason to wait for ever, or to load without end") func loadFails()
    async throws
  {
    let host = try Workspace.host()
    let pool = try Self.pool(host, "/no/such/library.so")
    let start = ContinuousClock.now
    for _ in 0..<4 {
      let error = await #expect(throws: PoolError.self) { try await pool.call("abs", "i32(i32)", -1) }
      if case .loadFailed(.input)? = error {} else { Issue.record("\(String(describing: error))") }
    }
    #expect(ContinuousClock.now - start < .seconds(30))
    await pool.stop()
  }

  @Test("with one loan each, nothing of one borrower is there for the next") func oneLoanEach() async throws {
    let host = try Workspace.host()
    let pool = try Self.pool(host, size: 2, loans: 1)
    for seed in 1...4 {
      _ = try await pool.withPlugin { plugin in
        let fresh = try await plugin.call("getenv", "cstring(cstring)", "MARK").value
        #expect(fresh == .cstring(nil))
        _ = try await plugin.call("setenv", "i32(cstring,cstring,i32)", "MARK", .text("\(seed)"), 1)
      }
    }
    await pool.stop()
    #expect(await host.metrics().loads >= 4)
  }

  @Test("stopping waits for who has a plugin") func drains() async throws {
    let host = try Workspace.host()
    let pool = try Self.pool(host, size: 1)
    let working = Task { try await pool.call("usleep", "i32(u32)", 200_000) }
    try await Self.until { pool.status.lent == 1 }
    await pool.stop()
    #expect(try await working.value.value == .signed(0))
    #expect(await host.metrics().running == 0)
    await pool.stop()
  }

  @Test("what a pool can't be is refused") func isRefused() throws {
    let host = try Workspace.host()
    for (size, waiting, loans) in [(0, 0, 1), (257, 0, 1), (1, -1, 1), (1, 0, 0)] {
      let error = #expect(throws: HostError.self) { try Self.pool(host, size: size, waiting: waiting, loans: loans) }
      if case .usage? = error {} else { Issue.record("\(String(describing: error))") }
    }
  }
}
