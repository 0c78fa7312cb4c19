import AssetModel
import Downloads
import Foundation
import LinuxSystem
import Testing

@testable import DevelopmentOrigin

/// Group B of the fault corpus: connections that stall, die or change.
@Suite(.timeLimit(.minutes(2))) struct ConnectionFaultTests {
  // MARK: Time

  @Test("F-27 a body that stalls goes on over another connection") func stall() async throws {
    let scene = try await Scene(clock: TestClock(jumpsWhenIdle: false)) { _, nth in
      nth == 1 ? .cut(after: .byte(1 << 20), .silence) : nil
    }
    try await until { await scene.engine.progress(of: scene.id)?.received ?? 0 >= 1 << 20 }
    await scene.advance(by: .seconds(40))
    #expect(try await scene.isWaiting().data["lastError"] == "next to nothing arrived for too long")
    await scene.advance(by: .seconds(120))
    #expect(try await scene.end().isFinished && scene.isWhole)
    let requests = scene.origin.requests
    #expect(requests.map { $0.header("Range") } == [nil, "bytes=1048576-"])
    #expect(requests[0].connection != requests[1].connection)
    _ = try await scene.close()
  }

  @Test("F-27 a head that trickles in, or never comes", arguments: [true, false]) func slowHead(trickles: Bool)
    async throws
  {
    let scene = try await Scene(clock: TestClock(jumpsWhenIdle: false)) { _, nth in
      guard nth == 1 else { return nil }
      return .with {
        if trickles { $0.timing.betweenHeadBytes = .milliseconds(20) } else { $0.timing.beforeStatus = .seconds(3600) }
        $0.setHeaders = [HeaderField("X-Padding", String(repeating: "x", count: 20_000))]
      }
    }
    _ = await scene.origin.requests(count: 1, within: .seconds(120))
    // Bytes that come meanwhile don't extend it.
    await scene.advance(by: .seconds(30))
    #expect(await scene.engine.explain(scene.id)?.code == .transferring)
    await scene.advance(by: .seconds(31))
    #expect(try await scene.isWaiting().data["lastError"] == "the server didn't answer in time")
    await scene.advance(by: .seconds(120))
    #expect(try await scene.end().isFinished && scene.isWhole)
    _ = try await scene.close()
  }

  @Test("F-27 a TLS handshake that never ends") func endlessHandshake() async throws {
    // It waits for a request in plain text, and the client for a ServerHello: neither says anything after the first line.
    let scene = try await Scene(
      specification: { $0.url = $0.url.replacing("http:", with: "https:") },
      configure: { $0.headLimit = .seconds(3600) }, options: { $0.transport.connectTimeout = .milliseconds(20) },
      reply: { _, _ in nil })
    #expect(try await scene.end().reason == .noProgress)
    #expect(try await scene.close().history.fruitlessAttempts == 6)
  }

  @Test(
    "F-28 reset, close and half-close in mid-body", arguments: Reply.Ending.Manner.allCases.filter { $0 != .silence })
  func brokenBody(manner: Reply.Ending.Manner) async throws {
    let trial = try await Trial.run(digest: Trial.digest) { _, nth in
      nth <= 2 ? .cut(after: .byte(1 << 20), manner) : nil
    }
    #expect(trial.isFinished && trial.requests.count == 3)
    #expect(trial.record.history.validatorRestarts == 0)
  }

  @Test("F-28 a connection that dies at once is tried a bounded number of times") func bounded() async throws {
    let trial = try await Trial.run { _, _ in .cut(after: .byte(0), .reset) }
    #expect(trial.failure == .noProgress && trial.requests.count == 6)
  }

  @Test("F-30 heads without measure", arguments: [Reply.HeaderFlood.many(2000), .huge(1 << 20), .endless])
  func flood(flood: Reply.HeaderFlood) async throws {
    let trial = try await Trial.run { _, _ in .with { $0.flood = flood } }
    #expect(trial.failure == .hostileResponse && trial.requests.count == 1)
    #expect(trial.record.receivedBytes < 1 << 20)
  }

  // MARK: Networks

  @Test("F-40 a change of network ends a wait") func networkChanged() async throws {
    let scene = try await Scene(clock: TestClock(jumpsWhenIdle: false)) { _, nth in nth == 1 ? .status(500) : nil }
    #expect(try await scene.isWaiting().code == .retrying)
    scene.engine.networkChanged()
    #expect(try await scene.end().isFinished && scene.isWhole)
    _ = try await scene.close()
  }

  @Test("F-40 a change of network doesn't end what a server asked for") func retryAfterStays() async throws {
    let scene = try await Scene(clock: TestClock(jumpsWhenIdle: false)) { _, nth in
      nth == 1
        ? .with {
          $0.status = 503
          $0.retryAfter = .seconds(600)
        } : nil
    }
    _ = try await scene.isWaiting()
    scene.engine.networkChanged()
    #expect(await scene.engine.explain(scene.id)?.code == .retryAfter)
    #expect(scene.origin.requests.count == 1)
    _ = try await scene.close()
  }

  @Test("F-40 a change of network in mid-transfer: old connections aren't used again") func changedInTransfer()
    async throws
  {
    let scene = try await Scene(clock: TestClock(jumpsWhenIdle: false)) { _, nth in
      nth == 1 ? .cut(after: .byte(2 << 20), .silence) : nil
    }
    try await scene.event { if case .progress = $0 { true } else { false } }
    scene.engine.networkChanged()
    #expect(try await scene.end().isFinished && scene.isWhole)
    #expect(Set(scene.origin.requests.map(\.connection)).count == 2)
    let record = try await scene.close()
    #expect(record.history.fruitlessAttempts == 0, "no failure of either side")
  }
}
