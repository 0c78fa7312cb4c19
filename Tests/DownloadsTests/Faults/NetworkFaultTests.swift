import AssetModel
import Foundation
import LinuxSystem
import Testing

@testable import DevelopmentOrigin
@testable import Downloads

/// Group B of the fault corpus: peers that take for ever, names that aren't found, networks that come and go.
@Suite(.timeLimit(.minutes(2))) struct NetworkFaultTests {
  // MARK: Time

  @Test("F-27 one byte at a time: the window moves, and another connection goes on") func trickle() async throws {
    let scene = try await Scene(clock: TestClock(jumpsWhenIdle: false)) { _, nth in
      guard nth == 1 else { return nil }
      return .with { $0.timing.slice = .init(size: 1, pause: .milliseconds(1)) }
    }
    // Bytes come in every step, and don't extend it.
    var seen: Int64 = 0
    for _ in 1...3 {
      var received = seen
      while received <= seen {
        received = await scene.engine.progress(of: scene.id)?.received ?? 0
        try #require(await scene.engine.explain(scene.id)?.code == .transferring)
      }
      seen = received
      await scene.advance(by: .seconds(11))
    }
    #expect(try await scene.isWaiting().data["lastError"] == "next to nothing arrived for too long")
    await scene.advance(by: .seconds(120))
    #expect(try await scene.end().isFinished && scene.isWhole)
    let requests = scene.origin.requests
    #expect(requests.count == 2 && requests[0].connection != requests[1].connection)
    _ = try await scene.close()
  }

  @Test("F-27 a handshake that never ends: another connection goes on") func silentHandshake() async throws {
    let scene = try await Scene(
      clock: TestClock(jumpsWhenIdle: false),
      configure: {
        $0.tls = TLSOptions(Authority.shared.authority)
        var rule = FaultScript.ConnectionRule(.silence)
        rule.until = 1
        $0.script.connections = [rule]
      },
      options: { $0.transport.authorityFile = Authority.shared.path }, reply: { _, _ in nil })
    try await scene.event { if case .started = $0 { true } else { false } }
    await scene.advance(by: .seconds(599))
    #expect(await scene.engine.explain(scene.id)?.code == .transferring)
    await scene.advance(by: .seconds(2))
    #expect(try await scene.isWaiting().data["lastError"]?.hasSuffix("no connection in time") == true)
    await scene.advance(by: .seconds(120))
    #expect(try await scene.end().isFinished && scene.isWhole)
    #expect(scene.origin.requests.map(\.connection) == [2])
    _ = try await scene.close()
  }

  @Test("F-27 a redirect whose body trickles is followed without it") func tricklingRedirect() async throws {
    let scene = try await Scene(
      specification: { $0.url = $0.url.replacing(Trial.path, with: "/first") },
      reply: { request, _ in
        guard request.path == "/first" else { return nil }
        return .with {
          $0.redirect = .to(Trial.path)
          $0.setHeaders = [HeaderField("Content-Length", "4000")]
          $0.ending = .init(.silence)
        }
      })
    // Whenever nothing comes for a moment, time goes on.
    for _ in 0..<100 where scene.origin.requests(for: Trial.path).isEmpty {
      let count = scene.origin.requests.count + 1
      if await scene.origin.requests(count: count, within: .milliseconds(50)).count < count {
        await scene.advance(by: .seconds(15))
      }
    }
    #expect(try await scene.end().isFinished && scene.isWhole)
    _ = try await scene.close()
  }

  // MARK: Names and addresses

  @Test("F-40 a name that isn't found: transient and bounded") func unknownName() async throws {
    let harness = try Harness { $0.transport.resolve = ["cdn.localhost:8080:"] }
    let end = try await harness.fetch(harness.specification("http://cdn.localhost:8080/file"))
    #expect(end.reason == .noProgress && end.failure?.detail.contains("resolve") == true, "\(end)")
    await harness.engine.close()
  }

  @Test("F-40 a name that isn't found for a while") func unknownForAWhile() async throws {
    let trial = try await Trial.run(
      options: { $0.transport.resolve = ["gone.localhost:8080:"] },
      reply: { _, nth in nth <= 2 ? .with { $0.redirect = .to("http://gone.localhost:8080/file") } : nil })
    #expect(trial.isFinished && trial.requests.count == 3, "\(trial.end)")
    #expect(trial.record.lastError?.contains("resolve") == true)
  }

  /// Accepts no connection: its queue is full, and the kernel drops each that is begun.
  final class BlackHole {
    let port: UInt16
    private let listener: OwnedDescriptor
    private var knockers: [Int32] = []

    init(port: UInt16) throws {
      listener = OwnedDescriptor(taking: socket(AF_INET6, Int32(SOCK_STREAM.rawValue), 0))
      var storage = sockaddr_storage()
      let length = try Listener.fill(&storage, "::1", port)
      let number = listener.number
      func call(_ function: (Int32, UnsafePointer<sockaddr>, socklen_t) -> Int32, _ socket: Int32) -> Int32 {
        withUnsafePointer(to: storage) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { function(socket, $0, length) }
        }
      }
      guard call(bind, number) == 0, listen(number, 0) == 0 else { throw Unexpected("port \(port) of ::1 is taken") }
      self.port = port
      for _ in 0..<4 {
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue)
        let knocker = socket(AF_INET6, kind, 0)
        _ = call(connect, knocker)
        knockers.append(knocker)
      }
    }

    deinit { for knocker in knockers { close(knocker) } }
  }

  @Test("F-40 an address that swallows everything beside one that answers", arguments: [true, false])
  func blackHole(isSilent: Bool) async throws {
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    // Or refused at once, where nothing listens.
    let hole = isSilent ? try BlackHole(port: origin.port) : nil
    let harness = try Harness { $0.transport.resolve = ["cdn.localhost:\(origin.port):[::1],127.0.0.1"] }
    let end = try await harness.fetch(harness.specification("http://cdn.localhost:\(origin.port)\(Trial.path)"))
    #expect(end.isFinished && origin.requests.count == 1, "\(end)")
    let record = try harness.journal.job(app: "app", identifier: "file")
    #expect(record?.history.fruitlessAttempts == 0 && record?.lastError == nil, "one attempt was enough")
    await harness.engine.close()
    _ = hole
  }

  // MARK: Changes

  @Test("F-40 one change of network ends one wait") func once() async throws {
    let scene = try await Scene(clock: TestClock(jumpsWhenIdle: false)) { _, nth in nth <= 2 ? .status(500) : nil }
    _ = try await scene.isWaiting()
    scene.engine.networkChanged()
    _ = try await scene.isWaiting()
    #expect(await scene.engine.explain(scene.id)?.code == .retrying && scene.origin.requests.count == 2)
    scene.engine.networkChanged()
    #expect(try await scene.end().isFinished && scene.isWhole)
    _ = try await scene.close()
  }

  @Test("F-40 sockets from before a sleep aren't used again", arguments: [true, false]) func sleep(sleeps: Bool)
    async throws
  {
    let origin = try Origin { $0.resources["/file"] = Resource(.text("hello")) }
    defer { origin.stop() }
    let harness = try Harness()
    for name in ["a", "b", "c"] {
      #expect(try await harness.fetch(harness.specification(origin.url("/file"), name: name)).isFinished)
      if sleeps, name == "b" { harness.clock.sleep(for: .seconds(3600)) }
    }
    #expect(origin.requests.map(\.connection) == (sleeps ? [1, 1, 2] : [1, 1, 1]))
    await harness.engine.close()
  }

  @Test("F-40 a sleep in mid-transfer is no failure") func sleepInTransfer() async throws {
    let scene = try await Scene(clock: TestClock(jumpsWhenIdle: false)) { _, nth in
      nth == 1 ? .cut(after: .byte(2 << 20), .silence) : nil
    }
    try await scene.event { if case .progress = $0 { true } else { false } }
    scene.clock.sleep(for: .seconds(8 * 3600))
    _ = await scene.engine.progress(of: scene.id)
    #expect(try await scene.end().isFinished && scene.isWhole)
    #expect(Set(scene.origin.requests.map(\.connection)).count == 2)
    #expect(try await scene.close().history.fruitlessAttempts == 0)
  }
}
