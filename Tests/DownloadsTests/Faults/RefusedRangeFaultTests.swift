import AssetModel
import Downloads
import Foundation
import Testing

@testable import DevelopmentOrigin

/// Servers that refuse what they are asked, every time: each refusal is an attempt, and attempts come to an end.
@Suite(.timeLimit(.minutes(2))) struct RefusedRangeFaultTests {
  /// A foreground download makes six attempts, each with a question or two more.
  private static let most = 40

  @Test(
    "F-07 F-08 the same refusal for ever",
    arguments: [
      Reply.status(412), .with { $0.range = .refused(contentRange: false) }, refusal("bytes */77"), refusal(nil),
    ],
    [0, 1])
  func forEver(reply: Reply, good: Int) async throws {
    let trial = try await Trial.run { _, nth in nth <= good ? .half : reply }
    #expect(trial.failure != nil || trial.isFinished, "\(trial.end)")
    #expect(trial.requests.count < Self.most, "\(trial.requests.count) requests")
  }

  @Test("F-07 ranges refused, the whole given, with a chunk list", arguments: [412, 416])
  func onlyWhole(status: Int) async throws {
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { request, _ in request.header("Range") == nil ? nil : .status(status) }
    }
    defer { origin.stop() }
    let harness = try Harness()
    let end = try await harness.fetch(
      harness.specification(origin.url(Trial.path), .foreground, chunks: Trial.chunks))
    #expect(end == .finished("\(harness.folder)/file", Int64(Trial.size)), "\(end)")
    await harness.engine.close()
    #expect(harness.contents() == Trial.bytes)
    #expect(origin.requests.count < Self.most, "\(origin.requests.count) requests")
  }

  @Test("F-10 a file that changed three times, and then no more") func settles() async throws {
    let versions = (2...5).map { Trial.content.altered(to: $0, lengthChange: 0) }
    let trial = try await Trial.run(versions: versions) { _, nth in
      .with {
        $0.entity = .init(version: min(nth, 5))
        $0.removedHeaders = ["Repr-Digest"]
        if nth < 5 { $0.ending = .init(.close, after: .byte(2 << 20)) }
      }
    }
    #expect(trial.isFinished, "\(trial.end)")
    #expect(trial.requests.count <= 8)
  }

  /// Two edges with a tag each for the same bytes, of which now one and now both can be had.
  @Test("F-10 after two restarts one edge has the rest, though the other one comes first", arguments: [true, false])
  func oneEdge(stays: Bool) async throws {
    let size = 4 << 20
    let content = Content.pseudoRandom(seed: 10, count: size)
    @Sendable func edge(_ address: String, port: UInt16, isLast: Bool = false) throws -> Origin {
      try Origin {
        $0.address = address
        $0.port = port
        $0.resources["/file"] = Resource(content)
        $0.handler = { request, _ in
          .with {
            $0.setHeaders = [.init("ETag", "\"\(address)\"")]
            $0.removedHeaders = ["Repr-Digest"]
            let isTheRest = request.header("If-Range") == "\"\(address)\""
            if !isLast, !isTheRest { $0.ending = .init(.close, after: .byte(2 << 20)) }
          }
        }
      }
    }
    let clock = TestClock(jumpsWhenIdle: false)
    let second = try edge("127.0.0.2", port: LastingPort.find(on: ["127.0.0.1", "127.0.0.2"]))
    defer { second.stop() }
    let harness = try Harness(clock: clock) {
      $0.transport.resolve = ["localhost:\(second.port):127.0.0.1,127.0.0.2"]
    }
    let events = harness.engine.events
    guard
      case .added(let id, _) = try await harness.engine.add([
        harness.specification("http://localhost:\(second.port)/file")
      ])[0]
    else { throw Unexpected("not added") }
    var waits = 0
    var first: Origin?
    defer { first?.stop() }
    var end: DownloadEvent?
    loop: for await event in events {
      switch event {
      case .waiting:
        waits += 1
        // The first of the two addresses is asked first, whenever it can be.
        switch waits {
        case 1: first = try edge("127.0.0.1", port: second.port)
        case 2: first?.stop()
        case 3:
          first = try edge("127.0.0.1", port: second.port, isLast: true)
          if !stays { second.stop() }
        default: break
        }
        clock.advance(by: .seconds(700))
        // Who asks it something has the engine look at the clock.
        _ = await harness.engine.progress(of: id)
      case .finished, .failed:
        end = event
        break loop
      default: break
      }
    }
    await harness.engine.close()
    guard case .finished(id, _)? = end else { throw Unexpected("\(String(describing: end))") }
    #expect(harness.contents() == Data(content.bytes(in: 0..<size)))
    #expect((second.requests.last?.header("If-Range") == "\"127.0.0.2\"") == stays)
  }

  private static func refusal(_ range: String?) -> Reply {
    let field = range.map { "Content-Range: \($0)\r\n" } ?? ""
    return .raw("HTTP/1.1 416 Range Not Satisfiable\r\n\(field)Content-Length: 0\r\n\r\n")
  }
}
