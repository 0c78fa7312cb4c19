import AssetModel
import AssetStore
import Foundation
import Testing

@testable import DevelopmentOrigin
@testable import Downloads

/// F-38: a signed URL expires while its file is on its way. What a digest proves is kept for the next one.
@Suite(.timeLimit(.minutes(2))) struct RefusedAccessTests {
  typealias Bench = LargeNumberFaultTests.Bench
  typealias Expectation = KeptBytesTests.Expectation

  /// The first URL brings 2 MiB and is refused from then on; any other is served.
  private static func bench(_ status: Int, tellsDigest: Bool = false, tellsVersion: Bool = true) throws -> Bench {
    try Bench(reply: { request, nth in
      .with {
        if !tellsDigest { $0.removedHeaders = ["Repr-Digest"] }
        if !tellsVersion { $0.removedHeaders += ["ETag", "Last-Modified"] }
        if nth == 1 { $0.ending = .init(.close, after: .byte(2 << 20)) }
        if nth > 1, request.query == nil { $0.status = status }
      }
    })
  }

  @Test(
    "F-38 refused at a resume: the bytes stay, and another URL of the same file goes on from them",
    arguments: [401, 403], [Expectation.digest, .chunks])
  func goesOnElsewhere(status: Int, expectation: Expectation) async throws {
    let bench = try Self.bench(status)
    var events = bench.harness.engine.events
    let specification = expectation.applied(to: bench.specification())
    let id = try #require(try await bench.harness.engine.add([specification])[0].job)
    let end = try await bench.harness.end(of: id, in: events)
    #expect(end.reason == .challenge && end.failure?.status == status, "\(end)")
    #expect(end.failure?.detail.contains("2097152 bytes") == true, "\(end)")
    #expect(bench.harness.staged.count == 1)
    // As long as no run goes on with them, they aren't forgotten.
    try bench.store.retention.forgetSettled(app: "app", keeping: 0)
    var other = specification
    other.url += "?signature=2"
    events = bench.harness.engine.events
    let next = try #require(try await bench.harness.engine.add([other])[0].job)
    #expect(next != id)
    #expect(try await bench.harness.end(of: next, in: events).isFinished)
    #expect(bench.harness.contents() == Trial.bytes)
    let last = try #require(bench.origin.requests.last)
    #expect(last.header("Range")?.hasPrefix("bytes=2097152-") == true && last.header("If-Range") == nil)
    #expect(bench.origin.requests.count == 3)
    #expect(try bench.store.job(id)?.leftover == nil)
    try await bench.close()
    #expect(bench.harness.staged.isEmpty)
  }

  @Test("F-38 the same URL goes on as well, once it lets the client in again, also by what the server said of the file")
  func sameURL() async throws {
    let bench = try Bench(reply: { _, nth in
      switch nth {
      case 1: .half
      case 2: .status(403)
      default: nil
      }
    })
    var events = bench.harness.engine.events
    let id = try #require(try await bench.harness.engine.add([bench.specification()])[0].job)
    #expect(try await bench.harness.end(of: id, in: events).reason == .challenge)
    events = bench.harness.engine.events
    let next = try #require(try await bench.harness.engine.add([bench.specification()])[0].job)
    #expect(try await bench.harness.end(of: next, in: events).isFinished && bench.harness.contents() == Trial.bytes)
    #expect(bench.origin.requests.map { $0.header("Range") } == [nil, "bytes=2097152-", "bytes=2097152-"])
    try await bench.close()
  }

  @Test("F-38 a URL with the digest that the server told of the old one goes on") func toldDigest() async throws {
    let bench = try Self.bench(403, tellsDigest: true)
    var events = bench.harness.engine.events
    let id = try #require(try await bench.harness.engine.add([bench.specification()])[0].job)
    #expect(try await bench.harness.end(of: id, in: events).reason == .challenge)
    var other = bench.specification()
    other.url += "?2"
    other.digest = Trial.digest
    events = bench.harness.engine.events
    let next = try #require(try await bench.harness.engine.add([other])[0].job)
    #expect(try await bench.harness.end(of: next, in: events).isFinished && bench.harness.contents() == Trial.bytes)
    #expect(bench.origin.requests.last?.header("Range") == "bytes=2097152-")
    try await bench.close()
  }

  @Test("F-38 without a digest the same place with another signature goes on by its entity tag, and compares the end")
  func samePlace() async throws {
    let bench = try Self.bench(403)
    var events = bench.harness.engine.events
    let id = try #require(try await bench.harness.engine.add([bench.specification()])[0].job)
    #expect(try await bench.harness.end(of: id, in: events).reason == .challenge && bench.harness.staged.count == 1)
    var other = bench.specification()
    other.url += "?signature=2"
    events = bench.harness.engine.events
    let next = try #require(try await bench.harness.engine.add([other])[0].job)
    #expect(try await bench.harness.end(of: next, in: events).isFinished && bench.harness.contents() == Trial.bytes)
    let last = try #require(bench.origin.requests.last)
    #expect(last.header("Range") == "bytes=\((2 << 20) - (64 << 10))-" && last.header("If-Range") != nil)
    #expect(bench.origin.requests.count == 3)
    try await bench.close()
    #expect(bench.harness.staged.isEmpty)
  }

  @Test("F-38 another place, or another version at the same one, is fetched from its first byte")
  func otherPlace() async throws {
    for isOtherPlace in [true, false] {
      let bench = try Bench(reply: { request, nth in
        .with {
          $0.removedHeaders = ["Repr-Digest"]
          if request.path == "/moved" { $0.body = .resource(Trial.path) }
          guard request.path == Trial.path, request.query == nil else { return }
          if nth == 1 {
            $0.ending = .init(.close, after: .byte(2 << 20))
            // What is there is of a version that is gone.
            if !isOtherPlace { $0.setHeaders = [.init("ETag", "\"gone\"")] }
          }
          if nth > 1 { $0.status = 403 }
        }
      })
      var events = bench.harness.engine.events
      let id = try #require(try await bench.harness.engine.add([bench.specification()])[0].job)
      #expect(try await bench.harness.end(of: id, in: events).reason == .challenge)
      var other = bench.specification()
      other.url = isOtherPlace ? bench.origin.url("/moved") : other.url + "?2"
      events = bench.harness.engine.events
      let next = try #require(try await bench.harness.engine.add([other])[0].job)
      #expect(try await bench.harness.end(of: next, in: events).isFinished && bench.harness.contents() == Trial.bytes)
      let range = bench.origin.requests.dropFirst(2).first?.header("Range")
      #expect((range == nil) == isOtherPlace)
      try await bench.close()
    }
  }

  @Test(
    "F-38 what nothing proves isn't kept, and what is proved to be another file isn't gone on with",
    arguments: [(.nothing, .nothing), (.digest, .wrongDigest), (.digest, .nothing), (.chunks, .digest)]
      as [(Expectation, Expectation)])
  func otherFile(change: (first: Expectation, then: Expectation)) async throws {
    let bench = try Self.bench(403, tellsVersion: change.first != .nothing)
    var events = bench.harness.engine.events
    let id = try #require(
      try await bench.harness.engine.add([change.first.applied(to: bench.specification())])[0].job)
    #expect(try await bench.harness.end(of: id, in: events).reason == .challenge)
    #expect(bench.harness.staged.count == (change.first == .nothing ? 0 : 1))
    #expect((try bench.store.job(id)?.leftover == nil) == (change.first == .nothing))
    var other = change.then.applied(to: bench.specification())
    other.url += "?2"
    events = bench.harness.engine.events
    let next = try #require(try await bench.harness.engine.add([other])[0].job)
    let end = try await bench.harness.end(of: next, in: events)
    #expect(end.isFinished == (change.then != .wrongDigest), "\(end)")
    #expect(bench.origin.requests.dropFirst(2).allSatisfy { $0.header("Range") == nil })
    try await bench.close()
    #expect(bench.harness.staged.isEmpty)
  }

  @Test("F-38 what is kept is removed when it is cancelled; refused before the first byte, there is nothing")
  func reclaimed() async throws {
    let bench = try Self.bench(401)
    let events = bench.harness.engine.events
    let id = try #require(
      try await bench.harness.engine.add([Expectation.digest.applied(to: bench.specification())])[0].job)
    #expect(try await bench.harness.end(of: id, in: events).reason == .challenge && bench.harness.staged.count == 1)
    bench.harness.engine.cancel(id)
    try await until { bench.harness.staged.isEmpty }
    try await bench.close()
    let early = try Bench(reply: { _, _ in .status(403) })
    let again = early.harness.engine.events
    let other = try #require(
      try await early.harness.engine.add([Expectation.digest.applied(to: early.specification())])[0].job)
    #expect(try await early.harness.end(of: other, in: again).reason == .challenge && early.harness.staged.isEmpty)
    #expect(try early.store.job(other)?.leftover == nil)
    try await early.close()
  }
}
