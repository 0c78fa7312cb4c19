import AssetModel
import Downloads
import Testing

@testable import DevelopmentOrigin

/// Servers that refuse what they are asked, every time: each refusal is an attempt, and attempts come to an end.
@Suite struct FaultsARefusalTests {
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

  private static func refusal(_ range: String?) -> Reply {
    let field = range.map { "Content-Range: \($0)\r\n" } ?? ""
    return .raw("HTTP/1.1 416 Range Not Satisfiable\r\n\(field)Content-Length: 0\r\n\r\n")
  }
}
