import PluginHost
import TestSupport
import Testing

/// Log lines and denials as they happen, and what a host counts.
@Suite(.ownThreads, .serialized, .timeLimit(.minutes(3))) struct PluginEventsTests {
  private static func text(_ event: PluginEvent?) -> String {
    switch event {
    case .logged(let line)?: line.message
    case .denied(let denial)?: "\(denial.wall) \(denial.operation) \(denial.count)"
    case .missed(let count)?: "missed \(count)"
    case nil: "end"
    }
  }

  @Test("events are there while the plugin runs, and end with it") func live() async throws {
    let host = try Workspace.host()
    let plugin = try await host.load("libc.so.6")
    var first = plugin.events.makeAsyncIterator()
    _ = try await plugin.call("dprintf", "i32(i32,cstring)", 1, "one\n")
    #expect(Self.text(await first.next()) == "one")
    _ = try await plugin.call("socket", "i32(i32,i32,i32)", 2, 1, 0)
    #expect(Self.text(await first.next()) == "seccomp socket 1")
    // One that comes later begins with what there was.
    var second = plugin.events.makeAsyncIterator()
    #expect(Self.text(await second.next()) == "one")
    #expect(Self.text(await second.next()) == "seccomp socket 1")
    _ = try await plugin.call("dprintf", "i32(i32,cstring)", 2, "two\nand three")
    #expect(Self.text(await first.next()) == "two")
    #expect(Self.text(await second.next()) == "two")
    let report = await plugin.end()
    #expect(Self.text(await first.next()) == "and three")
    #expect(await first.next() == nil)
    #expect(Self.text(await second.next()) == "and three")
    #expect(await second.next() == nil)
    var after = plugin.events.makeAsyncIterator()
    var seen: [String] = []
    while let event = await after.next() { seen.append(Self.text(event)) }
    #expect(seen == report.log.map(\.message) + ["seccomp socket 1"])
  }

  @Test("a flood is dropped for the reader who doesn't read, and every line of it counted") func flood() async throws {
    let host = try Workspace.host()
    var policy = Policy()
    policy.limits.logBytes = 1000
    let plugin = try await host.load("libc.so.6", policy: policy)
    var reader = plugin.events.makeAsyncIterator()
    let count = 20_000
    for _ in 0..<count / 1000 {
      let lines = String(repeating: "a line\n", count: 1000)
      _ = try await plugin.call("dprintf", "i32(i32,cstring)", 1, .text(lines))
    }
    let report = await plugin.end()
    #expect(report.droppedLogLines + report.log.count == count)
    var (lines, missed) = (0, 0)
    while let event = await reader.next() {
      if case .missed(let more) = event { missed += more } else { lines += 1 }
    }
    #expect(lines == 1024)
    #expect(lines + missed == count)
  }

  @Test("a crash's last line is read, and a reader that is cancelled leaves the plugin alone") func ends() async throws
  {
    let host = try Workspace.host()
    let plugin = try await host.load("libc.so.6")
    let waiting = Task { () -> PluginEvent? in
      var reader = plugin.events.makeAsyncIterator()
      return await reader.next()
    }
    waiting.cancel()
    #expect(await waiting.value == nil)
    var reader = plugin.events.makeAsyncIterator()
    _ = try await plugin.call("dprintf", "i32(i32,cstring)", 1, "last words\n")
    await #expect(throws: HostError.self) { try await plugin.call("abort", "void()") }
    #expect(Self.text(await reader.next()) == "last words")
    #expect(await reader.next() == nil)
  }

  @Test("a host counts loads, calls, ends and denials") func metrics() async throws {
    let host = try Workspace.host()
    let none = await host.metrics()
    #expect(none.loads == 0 && none.calls == 0 && none.running == 0 && none.ends.isEmpty)
    let plugin = try await host.load("libc.so.6")
    for _ in 0..<50 { _ = try await plugin.call("abs", "i32(i32)", -1) }
    _ = try await plugin.call("usleep", "i32(u32)", 30_000)
    _ = try await plugin.call("socket", "i32(i32,i32,i32)", 2, 1, 0)
    await #expect(throws: HostError.self) { try await plugin.call("no_such_function", "void()") }
    let running = await host.metrics()
    #expect(running.loads == 1 && running.calls == 53 && running.running == 1 && running.ends.isEmpty)
    #expect(running.denials == ["seccomp": 1])
    let slow = zip(HostMetrics.Histogram.bounds + [.max], running.callTimes.counts).reduce(0) {
      $1.0 > 20_000_000 ? $0 + $1.1 : $0
    }
    #expect(slow >= 1)
    #expect(running.callTimes.sum >= .milliseconds(30))
    #expect(running.loadTimes.sum > .zero)
    await #expect(throws: HostError.self) { try await plugin.call("abort", "void()") }
    // While the client still refers to it, and when it doesn't.
    for _ in 0..<2 {
      let ended = await host.metrics()
      #expect(ended.calls == 53 && ended.running == 0 && ended.ends == [.crashed: 1])
      #expect(ended.denials == ["seccomp": 1])
      _ = await plugin.end()
    }
  }
}
