import AssetModel
import AssetStore
import Foundation
import Testing

@testable import DevelopmentOrigin
@testable import Downloads

/// What a download that failed leaves for the next one of the same file: an outage costs no byte that had arrived.
@Suite(.timeLimit(.minutes(2))) struct KeptAfterFailureTests {
  typealias Bench = LargeNumberFaultTests.Bench

  /// Two MiB arrive, then `reply` answers so many requests.
  private static func bench(
    _ count: Int = .max, removing removed: [String] = ["Repr-Digest"], _ reply: @escaping @Sendable () -> Reply
  ) throws -> Bench {
    try Bench(
      options: { $0.attemptLimit = 2 },
      reply: { _, nth in
        if nth > 1, nth - 1 <= count { return reply() }
        return .with {
          $0.removedHeaders = removed
          if nth == 1 { $0.ending = .init(.close, after: .byte(2 << 20)) }
        }
      })
  }

  private static func twice(
    _ bench: Bench, second: (DownloadSpecification) -> DownloadSpecification = { $0 }
  ) async throws -> (first: Harness.End, second: Harness.End, staged: [String]) {
    var events = bench.harness.engine.events
    let id = try #require(try await bench.harness.engine.add([bench.specification()])[0].job)
    let first = try await bench.harness.end(of: id, in: events)
    let staged = bench.harness.staged
    events = bench.harness.engine.events
    let next = try #require(try await bench.harness.engine.add([second(bench.specification())])[0].job)
    let end = try await bench.harness.end(of: next, in: events)
    try await bench.close()
    return (first, end, staged)
  }

  @Test("after an outage the same download goes on where it was", arguments: [503, 500, nil] as [Int?])
  func outage(status: Int?) async throws {
    let bench = try Self.bench(2) {
      status.map { .status($0) } ?? .with { $0.ending = .init(.reset, after: .byte(0)) }
    }
    let (first, second, staged) = try await Self.twice(bench)
    #expect(first.reason == .noProgress && first.failure?.keptBytes == 2 << 20, "\(first)")
    #expect(first.failure?.detail.hasSuffix("and the same download goes on from them") == true, "\(first)")
    #expect(staged.count == 1 && second.isFinished && bench.harness.contents() == Trial.bytes, "\(second)")
    #expect(bench.origin.requests.last?.header("Range")?.hasPrefix("bytes=") == true)
    #expect(bench.harness.staged.isEmpty)
  }

  @Test(
    "a file that is gone for a while is gone on with by its entity tag, and given up without one",
    arguments: [true, false])
  func gone(hasTag: Bool) async throws {
    let removed = ["Repr-Digest"] + (hasTag ? [] : ["ETag", "Last-Modified"])
    // Asked for again twice: it may be published yet.
    let bench = try Self.bench(3, removing: removed) { .status(404) }
    let (first, second, staged) = try await Self.twice(bench)
    #expect(first.reason == .gone && first.failure?.keptBytes == (hasTag ? 2 << 20 : nil), "\(first)")
    #expect(staged.count == (hasTag ? 1 : 0) && second.isFinished && bench.harness.contents() == Trial.bytes)
    #expect((bench.origin.requests.last?.header("Range") != nil) == hasTag)
    #expect(bench.harness.staged.isEmpty)
  }

  @Test(
    "an answer that brings nothing says nothing against what is there: kept by its entity tag, and given up without one",
    arguments: [204, 300, 302, 400, 402, 405, 409, 413, 417, 421, 422, 428, 431], [true, false])
  func refused(status: Int, hasTag: Bool) async throws {
    let removed = ["Repr-Digest"] + (hasTag ? [] : ["ETag", "Last-Modified"])
    let bench = try Self.bench(status == 421 ? 2 : 1, removing: removed) { .status(status) }
    let (first, second, staged) = try await Self.twice(bench)
    #expect(first.reason == .refused && first.failure?.status == status, "\(first)")
    #expect(first.failure?.keptBytes == (hasTag ? 2 << 20 : nil), "\(first)")
    let what = hasTag ? "are kept, and the same download goes on" : "are given up"
    #expect(first.failure?.detail.contains("the 2097152 bytes that") == true, "\(first)")
    #expect(first.failure?.detail.contains(what) == true, "\(first)")
    #expect(staged.count == (hasTag ? 1 : 0) && second.isFinished && bench.harness.contents() == Trial.bytes)
    #expect((bench.origin.requests.last?.header("Range") != nil) == hasTag)
    #expect(bench.harness.staged.isEmpty)
  }

  enum Obstacle: CaseIterable {
    case credential, plainRedirect, circle, trust, proxyCredential
  }

  @Test(
    "what fails before the origin says anything of the file leaves what is there, where only its date identifies it, too",
    arguments: Obstacle.allCases)
  func beforeTheOriginAnswers(obstacle: Obstacle) async throws {
    let stranger = try Origin { $0.tls = TLSOptions(Authority.shared.authority) }
    let proxy = try Origin {
      $0.isProxy = true
      $0.handler = { _, nth in
        guard obstacle == .proxyCredential, nth == 2 else { return nil }
        return .with {
          $0.status = 407
          $0.setHeaders = [HeaderField("Proxy-Authenticate", "Basic realm=\"x\"")]
        }
      }
    }
    defer {
      stranger.stop()
      proxy.stop()
    }
    let (elsewhere, address) = (stranger.url(Trial.path), proxy.url)
    let bench = try Bench(
      options: { if obstacle == .proxyCredential { $0.transport.proxy = address } },
      reply: { _, nth in
        .with {
          $0.removedHeaders = ["Repr-Digest", "ETag"]
          if nth == 1 { $0.ending = .init(.close, after: .byte(2 << 20)) }
          guard nth == 2 else { return }
          switch obstacle {
          case .credential:
            $0.status = 401
            $0.setHeaders = [HeaderField("WWW-Authenticate", "Basic realm=\"x\"")]
          case .plainRedirect: $0.redirect = .to("http://portal.example/login")
          case .circle: $0.redirect = .to(Trial.path)
          case .trust: $0.redirect = .to(elsewhere)
          case .proxyCredential: break
          }
        }
      })
    var events = bench.harness.engine.events
    let id = try #require(try await bench.harness.engine.add([bench.specification()])[0].job)
    let first = try await bench.harness.end(of: id, in: events)
    let reason: TransferFailure.Reason =
      switch obstacle {
      case .credential, .proxyCredential: .challenge
      case .plainRedirect: .notAllowed
      case .circle: .refused
      case .trust: .trust
      }
    #expect(first.reason == reason && first.failure?.keptBytes == 2 << 20, "\(first)")
    #expect(first.failure?.detail.hasSuffix("are kept, and the same download goes on from them") == true, "\(first)")
    #expect(bench.harness.staged.count == 1)
    #expect(try bench.store.job(id)?.durableBytes == 2 << 20)
    events = bench.harness.engine.events
    let next = try #require(try await bench.harness.engine.add([bench.specification()])[0].job)
    let second = try await bench.harness.end(of: next, in: events)
    #expect(second.isFinished && bench.harness.contents() == Trial.bytes, "\(second)")
    #expect(bench.origin.requests.last?.header("Range") != nil)
    try await bench.close()
    #expect(bench.harness.staged.isEmpty)
  }

  enum Answer: CaseIterable {
    case gone, forbidden, malformed, tooLarge

    var reply: Reply {
      switch self {
      case .gone: .status(410)
      case .forbidden: .status(403)
      case .malformed: .raw("HTTP/1.1 200 OK\r\nno name: x\r\n\r\n", ending: .close)
      case .tooLarge:
        .with { $0.setHeaders = (0..<9).map { HeaderField("X-\($0)", String(repeating: "x", count: 9000)) } }
      }
    }
  }

  @Test(
    "where bytes are given up the message says so, and the journal knows of none of them",
    arguments: Answer.allCases, [true, false])
  func givenUp(answer: Answer, hasTag: Bool) async throws {
    let bench = try Self.bench(1, removing: ["Repr-Digest"] + (hasTag ? [] : ["ETag"])) { answer.reply }
    let events = bench.harness.engine.events
    let id = try #require(try await bench.harness.engine.add([bench.specification()])[0].job)
    let end = try await bench.harness.end(of: id, in: events)
    let what = hasTag ? "are kept, and " : "were there are given up, as nothing tells which version they are of"
    #expect(end.failure?.detail.contains("; the 2097152 bytes that ") == true, "\(end)")
    #expect(end.failure?.detail.contains(what) == true, "\(end)")
    #expect(bench.harness.staged.count == (hasTag ? 1 : 0))
    let record = try #require(try bench.store.job(id))
    #expect(record.durableBytes == (hasTag ? 2 << 20 : 0) && (record.partial != nil) == hasTag)
    try await bench.close()
  }

  @Test("what is cancelled is in the journal without a byte", arguments: [true, false])
  func cancelledRecord(isRunning: Bool) async throws {
    let bench = try Bench(
      clock: TestClock(jumpsWhenIdle: false),
      reply: { _, _ in .with { $0.ending = .init(isRunning ? .silence : .close, after: .byte(2 << 20)) } })
    let events = bench.harness.engine.events
    let id = try #require(try await bench.harness.engine.add([bench.specification()])[0].job)
    if isRunning {
      while await bench.harness.engine.progress(of: id)?.received ?? 0 < 2 << 20 { await Task.yield() }
    } else {
      for await event in events {
        if case .waiting(id, _) = event { break }
      }
      #expect(try bench.store.job(id)?.durableBytes == 2 << 20)
    }
    bench.harness.engine.cancel(id)
    try await until { try bench.store.job(id)?.state == .cancelled }
    #expect(try bench.store.job(id)?.partial == nil)
    try await bench.close()
    #expect(bench.harness.staged.isEmpty)
  }

  @Test(
    "F-04 parts that bring next to nothing come to no end, and what is there stays", arguments: [1, 65_536, 65_537])
  func trickle(count: Int) async throws {
    let bench = try Bench(
      options: { $0.attemptLimit = 3 },
      reply: { request, nth in
        if nth > 1 { return request.header("Range") == nil ? .status(500) : .part(of: request, atMost: count) }
        return .with {
          $0.removedHeaders = ["Repr-Digest"]
          $0.setHeaders = [.init("ETag", "\"1\"")]
          $0.ending = .init(.close, after: .byte(2 << 20))
        }
      })
    let events = bench.harness.engine.events
    let id = try #require(try await bench.harness.engine.add([bench.specification()])[0].job)
    let end = try await bench.harness.end(of: id, in: events)
    #expect(end.reason == .noProgress && bench.origin.requests.count < 20, "\(end)")
    #expect(bench.harness.staged.count == 1)
    try await bench.close()
  }

  @Test("another version after an outage is fetched whole") func anotherVersion() async throws {
    let bench = try Self.bench(2) { .status(503) }
    let (first, second, _) = try await Self.twice(bench) {
      var other = $0
      other.url += "?other"
      other.digest = Trial.digest
      return other
    }
    #expect(first.failure?.keptBytes != nil && second.isFinished && bench.harness.contents() == Trial.bytes)
    #expect(bench.harness.staged.isEmpty)
  }

  @Test("connections that end before all of the tail is compared get on all the same") func shortConnections()
    async throws
  {
    let bench = try Bench(
      options: { $0.attemptLimit = 4 },
      reply: { _, nth in
        .with {
          $0.removedHeaders = ["Repr-Digest"]
          $0.ending = .init(.close, after: .byte(nth == 1 ? (4 << 20) - 150_000 : 50_000))
        }
      })
    let events = bench.harness.engine.events
    let id = try #require(try await bench.harness.engine.add([bench.specification()])[0].job)
    let end = try await bench.harness.end(of: id, in: events)
    #expect(end.isFinished && bench.harness.contents() == Trial.bytes, "\(end)")
    #expect(bench.origin.requests.count <= 12, "\(bench.origin.requests.count)")
    try await bench.close()
  }

  @Test("what is kept goes when it is cancelled") func cancelled() async throws {
    let bench = try Self.bench { .status(503) }
    let events = bench.harness.engine.events
    let id = try #require(try await bench.harness.engine.add([bench.specification()])[0].job)
    #expect(try await bench.harness.end(of: id, in: events).failure?.keptBytes != nil)
    bench.harness.engine.cancel(id)
    try await bench.close()
    #expect(bench.harness.staged.isEmpty)
  }
}
