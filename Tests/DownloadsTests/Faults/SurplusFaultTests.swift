import AssetModel
import Downloads
import Foundation
import Testing

@testable import DevelopmentOrigin

/// Group A of the fault corpus: what comes after the end of an answer, on a connection that serves the next request.
@Suite(.timeLimit(.minutes(2))) struct SurplusFaultTests {
  private static let content = "hello world\n"
  private static let surplus = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nEVIL"

  /// Fetches two files, one after the other, when all of the first answer has left the server.
  private static func fetchTwo(
    isSecure: Bool, reply: @escaping @Sendable (RecordedRequest, Int) -> Reply?
  ) async throws -> (requests: [RecordedRequest], second: Data?, attempts: Int?) {
    let (answers, answered) = AsyncStream.makeStream(of: ServedResponse.self)
    let origin = try Origin {
      for path in ["/first", "/second"] { $0.resources[path] = Resource(.bytes(Array(content.utf8))) }
      $0.handler = reply
      $0.onResponse = { answered.yield($0) }
      if isSecure { $0.tls = TLSOptions(Authority.shared.authority) }
    }
    defer { origin.stop() }
    let harness = try Harness { $0.transport.authorityFile = Authority.shared.path }
    guard case .finished = try await harness.fetch(harness.specification(origin.url("/first"), name: "first")) else {
      throw Unexpected("the first one failed")
    }
    for await _ in answers { break }
    _ = try await harness.fetch(harness.specification(origin.url("/second"), name: "second"))
    let record = try harness.journal.job(app: "app", identifier: "second")
    await harness.engine.close()
    return (origin.requests, harness.contents("second"), record?.history.fruitlessAttempts)
  }

  @Test("F-12 what comes after an answer isn't the next one", arguments: [false, true], [false, true])
  func nextRequest(isSecure: Bool, isLate: Bool) async throws {
    let (requests, second, attempts) = try await Self.fetchTwo(isSecure: isSecure) { request, _ in
      guard request.path == "/first" else { return nil }
      return .with {
        $0.body = .bytes(Array((Self.content + Self.surplus).utf8))
        // Said so, the origin would close the connection.
        $0.setHeaders = [HeaderField("Content-Length", "\(Self.content.utf8.count)")]
        $0.removedHeaders = ["Repr-Digest", "Content-Digest"]
        // Apart from its head: libcurl sees what it reads together.
        $0.timing.beforeBody = .milliseconds(20)
        if isLate { $0.timing.slice = .init(size: Self.content.utf8.count, pause: .milliseconds(20)) }
      }
    }
    #expect(second == Data(Self.content.utf8))
    #expect(requests.map(\.path) == ["/first", "/second"])
    #expect(Set(requests.map(\.connection)).count == 2 && attempts == 0, "another connection, and no failed attempt")
  }

  @Test("a connection with nothing on it serves again", arguments: [false, true]) func quiet(isSecure: Bool)
    async throws
  {
    let (requests, second, _) = try await Self.fetchTwo(isSecure: isSecure) { _, _ in nil }
    #expect(second == Data(Self.content.utf8))
    #expect(requests.count == 2 && Set(requests.map(\.connection)).count == 1)
  }
}
