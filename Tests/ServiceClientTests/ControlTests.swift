import Foundation
import ServiceProtocol
import Synchronization
import Testing

@testable import BackgroundAssets

@Suite(.timeLimit(.minutes(2))) struct ControlTests {
  /// Of a service: who has control, and whether two ever had.
  private final class Lock: Sendable {
    let holders = Mutex<Set<UInt64>>([])
    let isViolated = Mutex(false)
    let log = Record<String>()

    func script(_ peer: ScriptedService.Peer, _ id: UInt64, _ request: ClientRequest) {
      switch request {
      case .acquireControl(let token, _):
        let count = holders.withLock {
          $0.insert(token)
          return $0.count
        }
        if count > 1 { isViolated.withLock { $0 = true } }
        log.add("acquire")
      case .releaseControl(let token):
        if holders.withLock({ $0.remove(token) }) == nil { isViolated.withLock { $0 = true } }
        log.add("release")
      default: break
      }
      peer.reply(id)
    }
  }

  @available(*, deprecated)
  private func closureForms(_ manager: BADownloadManager, _ number: Int, _ body: @escaping @Sendable () -> Void) {
    if number.isMultiple(of: 2) {
      manager.withExclusiveControl { acquired, error in if acquired, error == nil { body() } }
    } else {
      manager.withExclusiveControl(beforeDate: .now + 60) { acquired, error in if acquired, error == nil { body() } }
    }
  }

  @Test("all four forms from many tasks take turns, each with its own grant and release (B65, B69)")
  @available(*, deprecated)
  func turns() async throws {
    let lock = Lock()
    let app = try App { lock.script($0, $1, $2) }
    defer { app.service.stop() }
    let manager = app.manager
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<40 {
        group.addTask {
          switch number % 4 {
          case 0, 1: self.closureForms(manager, number) { lock.log.add("body") }
          case 2: try? await manager.withExclusiveControl { lock.log.add("body") }
          default: try? await manager.withExclusiveControl(before: .now + 60) { lock.log.add("body") }
          }
        }
      }
    }
    await lock.log.wait(for: 120)
    let log = lock.log.all
    #expect(stride(from: 0, to: 120, by: 3).allSatisfy { Array(log[$0..<$0 + 3]) == ["acquire", "body", "release"] })
    #expect(!lock.isViolated.withLock { $0 } && lock.holders.withLock { $0.isEmpty })
  }

  @Test(
    "a request whose date comes while another of its process has control fails then, and one whose date has passed at once (B68)"
  )
  @available(*, deprecated)
  func datesWithinTurns() async throws {
    let lock = Lock()
    let app = try App { lock.script($0, $1, $2) }
    defer { app.service.stop() }
    let manager = app.manager
    // Shut until all of them have failed.
    let gate = DispatchSemaphore(value: 0)
    manager.withExclusiveControl { _, _ in gate.wait() }
    await lock.log.wait(for: 1)
    for date in [Date.distantPast, .now, .now + 0.05, Date(timeIntervalSinceReferenceDate: .nan)] {
      let thrown = await #expect(throws: NSError.self) {
        try await manager.withExclusiveControl(before: date) { lock.log.add("body") }
      }
      #expect(thrown?.domain == BAErrorDomain && thrown?.code == 0, "\(date)")
    }
    let waiting = [Date.now + 60, .distantFuture].map { date in
      Task.detached { try await manager.withExclusiveControl(before: date) { lock.log.add("body") } }
    }
    gate.signal()
    for task in waiting { try await task.value }
    try await manager.withExclusiveControl(before: .now) { lock.log.add("body") }
    let turn = ["acquire", "body", "release"]
    #expect(lock.log.all == ["acquire", "release"] + turn + turn + turn)
  }

  @Test("a request that failed waits for nothing, also while it is still told of it (B68)") func failedRequests()
    async throws
  {
    let lock = Lock()
    let app = try App { lock.script($0, $1, $2) }
    defer { app.service.stop() }
    // Not the process's own, whose queues other tests use.
    let control = ExclusiveControl()
    let source = ControlSource.service(app.link)
    let (gate, told) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    defer { told.signal() }
    let log = lock.log
    control.request(from: source, before: nil, afterwards: { log.add("ended") }, { _ in gate.wait() })
    await log.wait(for: 1)
    control.request(from: source, before: .now + 0.01) { error in
      log.add(error == nil ? "acquired" : "failed")
      told.wait()
    }
    await log.wait(for: 2)
    gate.signal()
    await log.wait(for: 4)
    control.request(
      from: source, before: .now, afterwards: { log.add("ended") },
      { error in
        log.add(error == nil ? "body" : "failed, too")
      })
    await log.wait(for: 6)
    #expect(log.all.starts(with: ["acquire", "failed", "release", "ended", "acquire", "body"]))
  }

  @Test("the asynchronous form hands value and error through and returns after the release [B69]") func handsThrough()
    async throws
  {
    let lock = Lock()
    let app = try App { lock.script($0, $1, $2) }
    defer { app.service.stop() }
    #expect(try await app.manager.withExclusiveControl { 42 } == 42)
    #expect(lock.log.all == ["acquire", "release"])
    await #expect(throws: CocoaError.self) {
      try await app.manager.withExclusiveControl(before: .now + 60) { throw CocoaError(.fileNoSuchFile) }
    }
    #expect(lock.log.all.count == 4)
  }

  @Test("the present moment means one try, and a date in time so many seconds (B68)") func dates() async throws {
    let app = try App()
    defer { app.service.stop() }
    try await app.manager.withExclusiveControl(before: .now) {}
    try await app.manager.withExclusiveControl(before: .now + 100) {}
    try await app.manager.withExclusiveControl(before: .distantFuture) {}
    try await app.manager.withExclusiveControl {}
    let timeouts = app.service.requests.compactMap { request -> Double?? in
      if case .acquireControl(_, let timeout) = request { .some(timeout) } else { nil }
    }
    #expect(timeouts.count == 4 && timeouts[0] == 0.0 && timeouts[2] == .some(nil) && timeouts[3] == .some(nil))
    let seconds = timeouts[1] ?? 0
    #expect(seconds > 50 && seconds <= 100)
  }

  @Test("control that isn't granted in time is an error that says so, and nothing is released [B67]") func notInTime()
    async throws
  {
    let app = try App { peer, id, _ in peer.send(.failure(id: id, failure: .framework(0, "held"))) }
    defer { app.service.stop() }
    let error = await #expect(throws: NSError.self) {
      try await app.manager.withExclusiveControl(before: .now) { Issue.record("ran without control") }
    }
    #expect((error?.userInfo[NSUnderlyingErrorKey] as? NSError)?.code == Int(ETIMEDOUT))
    #expect(app.service.requests.count == 1)
  }

  @Test("who waits for control when the connection ends gets 56") func connectionLost() async throws {
    let app = try App { peer, _, request in if case .acquireControl = request { peer.close() } }
    defer { app.service.stop() }
    let error = await #expect(throws: NSError.self) {
      try await app.manager.withExclusiveControl { Issue.record("ran without control") }
    }
    #expect(error?.domain == BAErrorDomain && error?.code == 56)
  }

  @Test("control that was lost with its connection isn't released on the next one") func lostWhileHeld() async throws {
    let app = try App { peer, id, _ in peer.reply(id) }
    defer { app.service.stop() }
    let service = app.service
    let manager = app.manager
    let value = try await manager.withExclusiveControl {
      service.peers.all[0].close()
      while (try? manager.scheduleDownload(App.download())) == nil {}
      return 1
    }
    #expect(value == 1 && service.peers.all.count == 2)
    #expect(!service.requests.contains { if case .releaseControl = $0 { true } else { false } })
  }
}
