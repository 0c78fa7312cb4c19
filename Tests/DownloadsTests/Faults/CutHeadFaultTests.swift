import AssetModel
import Downloads
import Foundation
import Testing

@testable import DevelopmentOrigin

/// Group A of the fault corpus: answers that end within their head. libcurl takes that for an answer without a body.
@Suite(.timeLimit(.minutes(2))) struct CutHeadFaultTests {
  private static let content = Content.pseudoRandom(seed: 5, count: 48_000)
  private static let digest = Trial.digest(content, count: content.count)

  private static let heads = [
    "HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 48000\r\n\r\n",
    "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 20000-47999/48000\r\n\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 302 Found\r\nLocation: /other\r\n\r\n",
    "HTTP/1.1 404 Not Found\r\n\r\n", "HTTP/1.1 500 Oops\r\n\r\n", "HTTP/1.1 204 No Content\r\n\r\n",
  ]

  enum Way: CaseIterable {
    case plain, secure, proxy, tunnel

    /// Bytes between two cuts that are tried: a handshake costs more than a test is worth.
    var stride: Int { self == .plain ? 1 : 7 }
    var isSecure: Bool { self == .secure || self == .tunnel }
    var isProxied: Bool { self == .proxy || self == .tunnel }
  }

  private static func run(
    _ way: Way, digest: ContentDigest?, reply: @escaping @Sendable (RecordedRequest, Int) -> Reply?
  ) async throws -> Trial {
    let proxy = way.isProxied ? try Origin { $0.isProxy = true } : nil
    defer { proxy?.stop() }
    let address = proxy?.url
    return try await Trial.run(
      digest: digest, content: content,
      configure: { if way.isSecure { $0.tls = TLSOptions(Authority.shared.authority) } },
      options: {
        $0.transport.authorityFile = Authority.shared.path
        $0.transport.proxy = address
      }, reply: reply)
  }

  @Test("F-13 the first answer ends within its head", arguments: Way.allCases, heads)
  func first(way: Way, head: String) async throws {
    for count in stride(from: 0, to: head.utf8.count, by: way.stride) {
      let cut = String(decoding: head.utf8.prefix(count), as: UTF8.self)
      let trial = try await Self.run(way, digest: count % 2 == 0 ? nil : Self.digest) { _, nth in
        nth == 1 ? .raw(cut) : nil
      }
      #expect(trial.isFinished && trial.requests.count == 2, "\(cut.debugDescription): \(trial.end)")
    }
  }

  @Test("F-13 the answer for the rest ends within its head", arguments: Way.allCases, heads)
  func rest(way: Way, head: String) async throws {
    for count in stride(from: 0, to: head.utf8.count, by: way.stride) {
      let cut = String(decoding: head.utf8.prefix(count), as: UTF8.self)
      let trial = try await Self.run(way, digest: count % 2 == 0 ? nil : Self.digest) { _, nth in
        switch nth {
        case 1:
          .with {
            $0.removedHeaders = ["Repr-Digest"]
            $0.ending = .init(.close, after: .byte(20_000))
          }
        case 2: .raw(cut)
        default: nil
        }
      }
      #expect(trial.isFinished, "\(cut.debugDescription): \(trial.end)")
      // So little is fetched again where no digest checks the file: it would be compared from its first byte on.
      let rest = count % 2 == 0 ? nil : "bytes=20000-"
      #expect(trial.ranges == [nil, rest, rest], "\(cut.debugDescription)")
    }
  }

  @Test("F-13 with a chunk list, too", arguments: heads) func chunks(head: String) async throws {
    for count in stride(from: 0, to: head.utf8.count, by: 7) {
      let cut = String(decoding: head.utf8.prefix(count), as: UTF8.self)
      let origin = try Origin {
        $0.resources[Trial.path] = Resource(Trial.content)
        $0.handler = { _, nth in nth == 1 ? .cut(after: .byte(1 << 20)) : nth == 2 ? .raw(cut) : nil }
      }
      defer { origin.stop() }
      let harness = try Harness()
      let end = try await harness.fetch(harness.specification(origin.url(Trial.path), chunks: Trial.chunks))
      await harness.engine.close()
      #expect(end.isFinished && harness.contents() == Trial.bytes, "\(cut.debugDescription): \(end)")
    }
  }

  @Test("F-13 heads that always end too early are tried a bounded number of times") func bounded() async throws {
    let trial = try await Trial.run { _, _ in .raw("HTTP/1.1 200 OK\r\nContent-Type: text/pl") }
    #expect(trial.failure == .noProgress && trial.requests.count == 6, "\(trial.end)")
  }

  @Test("a head whose first field begins with a blank is refused by what is wrong with it (F-14)")
  func continuedStatusLine() async throws {
    let trial = try await Trial.run { _, _ in
      .raw("HTTP/1.1 200 OK\r\n X-A: b\r\nContent-Length: \(Trial.size)\r\n\r\n")
    }
    #expect(trial.failure == .hostileResponse && "\(trial.end)".contains("begins with a blank"), "\(trial.end)")
  }

  @Test("F-37 a proxy's answer ends within its head: its failure, and no attempt") func tunnel() async throws {
    for cut in ["HTTP/1.1 200", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nVia: x\r\n", "HTTP/1.1 502 Bad Gateway\r\n"]
    {
      let proxy = try Origin {
        $0.isProxy = true
        $0.handler = { _, nth in nth == 1 ? .raw(cut) : nil }
      }
      defer { proxy.stop() }
      let address = proxy.url
      let trial = try await Trial.run(
        configure: { $0.tls = TLSOptions(Authority.shared.authority) },
        options: {
          $0.transport.authorityFile = Authority.shared.path
          $0.transport.proxy = address
        }, reply: { _, _ in nil })
      #expect(trial.isFinished && trial.record.history.fruitlessAttempts == 0, "\(cut.debugDescription): \(trial.end)")
    }
  }
}
