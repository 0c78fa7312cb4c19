import AssetModel
import Basics
import DevelopmentOrigin
import Foundation
import LinuxSystem
import Testing

@testable import Downloads

/// Group D of the fault corpus: several sources of the same bytes, not all of them good.
@Suite(.timeLimit(.minutes(2))) struct MirrorFaultTests {
  typealias Handler = @Sendable (RecordedRequest, Int) -> Reply?

  /// What came of one file with a chunk list that several origins have.
  struct Outcome {
    var end: Harness.End
    /// Of each origin.
    var requests: [[RecordedRequest]]
    var notes: [String]
    var waits: [Duration]
    var record: JobRecord
    /// That failed.
    var attempts: Int
  }

  /// The first is the download's URL, the others are its mirrors; an origin that is nil isn't there any more.
  static func fetch(
    _ data: Data = Trial.bytes, _ chunks: ChunkList = Trial.chunks, transferClass: TransferClass = .foreground,
    bytesPerSecond: Int? = nil, headers: [Download.Header] = [], from handlers: [Handler?],
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> Outcome {
    let content = Content.bytes(Array(data))
    let origins = try handlers.map { handler in
      try Origin {
        $0.resources[Trial.path] = Resource(content)
        $0.handler = handler
        if let bytesPerSecond { $0.bytesPerSecond = bytesPerSecond }
      }
    }
    let urls = origins.map { $0.url(Trial.path) }
    defer { for origin in origins { origin.stop() } }
    for (origin, handler) in zip(origins, handlers) where handler == nil { origin.stop() }
    let clock = TestClock()
    let harness = try Harness(clock: clock)
    let events = harness.engine.events
    var specification = harness.specification(urls[0], transferClass, chunks: chunks)
    specification.mirrors = Array(urls.dropFirst())
    specification.headers = headers
    let end = try await harness.fetch(specification)
    let record = try #require(try harness.journal.job(app: "app", identifier: "file"))
    await harness.engine.close()
    var notes: [String] = []
    for await event in events { if case .note(_, let text) = event { notes.append(text) } }
    #expect(end.isFinished == (harness.contents() == data), "whole or not at all", sourceLocation: sourceLocation)
    #expect(harness.staged.isEmpty, sourceLocation: sourceLocation)
    return Outcome(
      end: end, requests: origins.map(\.requests), notes: notes, waits: clock.jumps.withLock { $0 }, record: record,
      attempts: harness.journal.state.withLock { $0.attempts.values.reduce(0) { $0 + $1.count } })
  }

  static let ordinary: Handler = { _, _ in nil }

  /// The right length, and a wrong byte in every chunk but the first `right`.
  static func wrong(_ data: Data = Trial.bytes, chunkSize: Int = Trial.chunkSize, right: Int = 0) -> Handler {
    var wrong = data
    for chunk in right..<(data.count / chunkSize) { wrong[chunk * chunkSize + 7] ^= 1 }
    let bytes = Array(wrong)
    return { _, _ in .with { $0.body = .bytes(bytes) } }
  }

  @Test(
    "F-71 whatever the first one does, the second has the file", arguments: [TransferClass.foreground, .background])
  func otherwise(transferClass: TransferClass) async throws {
    let days: [(String, Handler?)] = [
      ("gone", { _, _ in .status(410) }), ("not there", { _, _ in .status(404) }),
      ("forbidden", { _, _ in .status(403) }), ("overloaded", { _, _ in .status(500) }),
      (
        "credential",
        { _, _ in
          .with {
            $0.status = 401
            $0.setHeaders = [HeaderField("WWW-Authenticate", "Basic realm=x")]
          }
        }
      ),
      (
        "later",
        { _, _ in
          .with {
            $0.status = 503
            $0.retryAfter = .seconds(3000)
          }
        }
      ),
      ("loop", { _, _ in .with { $0.redirect = .loop } }),
      ("elsewhere", { _, _ in .with { $0.redirect = .to("file:///etc/passwd") } }),
      (
        "later, elsewhere",
        { _, _ in
          .with {
            $0.redirect = .to("/other")
            $0.retryAfter = .seconds(3000)
          }
        }
      ),
      ("cut", { _, _ in .cut(after: .byte(100_000)) }), ("reset", { _, _ in .cut(after: .byte(0), .reset) }),
      ("garbage", { _, _ in .with { $0.garbage = 500 } }),
      ("other range", { _, _ in .with { $0.range = .shifted(start: 1, end: 0, total: 0) } }),
      ("other length", { _, _ in .with { $0.range = .shifted(start: 0, end: 0, total: 7) } }),
      ("no range", { _, _ in .with { $0.range = .refused(contentRange: true) } }),
      ("none of it", { _, _ in .with { $0.range = .ignored } }),
      (
        "short",
        { _, _ in
          .with {
            $0.range = .ignored
            $0.body = .bytes([1, 2, 3])
          }
        }
      ),
      ("coded", { _, _ in .with { $0.isGzipped = true } }),
      ("many fields", { _, _ in .with { $0.setHeaders = (0..<300).map { HeaderField("X-\($0)", "y") } } }),
      ("no mirror there", nil),
    ]
    for (name, handler) in days {
      let outcome = try await Self.fetch(
        transferClass: transferClass, from: [handler, Self.ordinary])
      #expect(outcome.end.isFinished, "\(name): \(outcome.end)")
      #expect(outcome.attempts == 0, "\(name): nothing waits for the next attempt")
      #expect(outcome.requests[0].count <= 3, "\(name): \(outcome.requests[0].count)")
      // The other way round it isn't noticed.
      let turned = try await Self.fetch(
        transferClass: transferClass, from: [Self.ordinary, handler])
      #expect(turned.end.isFinished && turned.requests[1].isEmpty, "\(name): \(turned.end)")
    }
  }

  @Test("F-71 while one of them may come back, nothing is given up") func hope() async throws {
    let outcome = try await Self.fetch(from: [
      { _, nth in nth <= 3 ? .status(503) : nil }, { _, _ in .status(410) },
      { _, _ in .with { $0.redirect = .loop } },
    ])
    #expect(outcome.end.isFinished, "\(outcome.end)")
    #expect(outcome.attempts == 3 && outcome.requests[0].count > 3)
  }

  @Test("F-71 who sends everything has it for those who have nothing else", arguments: [410, 500, 404])
  func wholeFromTheOther(status: Int) async throws {
    let handlers: [Handler?] = [{ _, _ in .with { $0.range = .ignored } }, { _, _ in .status(status) }]
    for order in [handlers, handlers.reversed()] {
      let outcome = try await Self.fetch(from: order)
      #expect(outcome.end.isFinished && outcome.attempts == 0, "\(outcome.end)")
    }
    // Its parts are wrong, its whole isn't.
    let odd = try await Self.fetch(from: [
      { request, _ in request.header("Range") == nil ? nil : .with { $0.range = .shifted(start: 1, end: 0, total: 0) }
      },
      { _, _ in .status(status) },
    ])
    #expect(odd.end.isFinished, "\(odd.end)")
  }

  @Test("F-71 a mirror that may not be asked takes nothing from the others") func forbidden() async throws {
    for reply in [Reply.status(503), .with { $0.range = .ignored }, .cut(after: .byte(100_000))] {
      let origin = try Origin {
        $0.resources[Trial.path] = Resource(Trial.content)
        $0.handler = { _, nth in nth == 1 ? reply : nil }
      }
      defer { origin.stop() }
      let harness = try Harness()
      var specification = harness.specification(origin.url(Trial.path), chunks: Trial.chunks)
      specification.mirrors = ["http://10.0.0.1/f.bin", origin.url(Trial.path), "ftp://x.test/"]
      #expect(try await harness.fetch(specification).isFinished, "\(reply)")
      await harness.engine.close()
    }
  }

  @Test("F-71 one that only rests is waited for, one that is gone isn't the end") func restsBesideGone() async throws {
    let outcome = try await Self.fetch(from: [
      { _, nth in
        nth == 1
          ? .with {
            $0.status = 503
            $0.retryAfter = .seconds(140)
          } : nil
      }, { _, _ in .status(410) },
    ])
    #expect(outcome.end.isFinished, "\(outcome.end)")
  }

  @Test("F-71 what one origin says of another's time is nothing to others") func waitOfAnother() async throws {
    let target = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { target.stop() }
    let elsewhere = target.url(Trial.path)
    let front = try Origin {
      $0.handler = { _, _ in
        .with {
          $0.redirect = .to(elsewhere)
          $0.retryAfter = .seconds(3000)
        }
      }
    }
    defer { front.stop() }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false))
    let engine = harness.engine
    let led = try #require(
      try await engine.add([harness.specification(front.url("/x"), name: "led")])[0].job)
    try await engine.isHeld(led, by: .retrying)
    #expect(try await harness.fetch(harness.specification(elsewhere)).isFinished)
    #expect(try harness.journal.origins().allSatisfy { $0.retryAfter == nil })
    await engine.close()
  }

  @Test("F-71 who is slow isn't asked for its own rest again") func slow() async throws {
    let data = Data(Content.pseudoRandom(seed: 6, count: 48 << 20).bytes)
    let outcome = try await Self.fetch(
      data, Trial.chunks(of: data, size: 1 << 20),
      from: [{ _, _ in .with { $0.timing.bytesPerSecond = 30_000 } }, Self.ordinary])
    #expect(outcome.end.isFinished, "\(outcome.end)")
    #expect(outcome.requests[0].count <= 4, "\(outcome.requests[0].count) of \(outcome.requests[1].count)")
  }

  /// Twenty seconds pass once a part has come, and not before: no real time makes anybody slow.
  @Test("F-71 with one connection, who is slow is left for another") func poor() async throws {
    let data = Data(Content.pseudoRandom(seed: 6, count: 12 << 20).bytes)
    let slow = try Origin {
      $0.resources[Trial.path] = Resource(Content.bytes(Array(data)))
      $0.handler = { _, nth in nth == 1 ? .cut(after: .byte(1 << 20), .silence) : nil }
    }
    let quick = try Origin { $0.resources[Trial.path] = Resource(Content.bytes(Array(data))) }
    defer {
      slow.stop()
      quick.stop()
    }
    let clock = TestClock(jumpsWhenIdle: false)
    let harness = try Harness(clock: clock)
    let events = harness.engine.events
    var specification = harness.specification(
      slow.url(Trial.path), chunks: Trial.chunks(of: data, size: 1 << 20))
    specification.mirrors = [quick.url(Trial.path)]
    let id = try #require(try await harness.engine.add([specification])[0].job)
    try await harness.engine.received(id, 1 << 19)
    clock.advance(by: .seconds(20))
    harness.engine.setConditions(MachineConditions())
    let end = try await harness.end(of: id, in: events)
    await harness.engine.close()
    #expect(end.isFinished && harness.contents() == data, "\(end)")
    #expect(slow.requests.count == 1 && !quick.requests.isEmpty, "\(slow.requests.count), \(quick.requests.count)")
  }

  @Test("F-71 all of them ask to be left alone: the first that may be asked is") func resting() async throws {
    let outcome = try await Self.fetch(from: [
      { _, nth in
        nth == 1
          ? .with {
            $0.status = 503
            $0.retryAfter = .seconds(5000)
          } : nil
      },
      { _, nth in
        nth == 1
          ? .with {
            $0.status = 429
            $0.retryAfter = .seconds(50)
          } : nil
      },
    ])
    #expect(outcome.end.isFinished, "\(outcome.end)")
    #expect(outcome.requests[0].count == 1 && outcome.requests[1].count > 1)
    #expect(outcome.waits.first.map { (49..<51).contains($0 / .seconds(1)) } ?? false, "\(outcome.waits)")
  }

  @Test("F-71 all of them are gone") func allGone() async throws {
    let outcome = try await Self.fetch(from: [{ _, _ in .status(410) }, { _, _ in .status(410) }])
    #expect(outcome.end.reason == .gone)
    #expect(outcome.requests.map(\.count) == [1, 1])
    let never = try await Self.fetch(from: [{ _, _ in .status(503) }, { _, _ in .status(500) }])
    #expect(never.end.reason == .noProgress && never.requests.map(\.count) == [6, 6])
  }

  @Test("F-71 what is for the first server is for no other") func headers() async throws {
    let outcome = try await Self.fetch(
      headers: [Download.Header(name: "Authorization", value: "Bearer secret"), .init(name: "X-Own", value: "1")],
      from: [{ _, _ in .status(500) }, Self.ordinary])
    #expect(outcome.end.isFinished)
    #expect(outcome.requests[0][0].header("Authorization") == "Bearer secret")
    #expect(outcome.requests[1].allSatisfy { $0.header("Authorization") == nil && $0.header("X-Own") == nil })
  }

  @Test("F-71 mirrors go where requests may go", arguments: ["ftp://a.test/x", "http://10.0.0.1/x", "not a url", ""])
  func rules(mirror: String) async throws {
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let harness = try Harness()
    var specification = harness.specification(origin.url(Trial.path), chunks: Trial.chunks)
    specification.mirrors = [mirror]
    #expect(try await harness.fetch(specification).isFinished)
    var other = harness.specification(mirror, name: "other", chunks: Trial.chunks)
    other.mirrors = [origin.url(Trial.path)]
    #expect(try await harness.fetch(other).isFinished)
    await harness.engine.close()
  }

  @Test func mirrorsNeedAChunkList() async throws {
    let harness = try Harness()
    var specification = harness.specification("https://a.test/x")
    specification.mirrors = ["https://b.test/x"]
    guard case .invalid(let why) = try await harness.engine.add([specification])[0] else {
      throw Unexpected("it was taken")
    }
    #expect(why.contains("chunk list"))
    await harness.engine.close()
  }

  /// Only the last of three always answers well.
  @Test("F-71 random bad days of all mirrors but one", arguments: 0..<10) func random(batch: Int) async throws {
    for script in 0..<20 {
      var random = SeededGenerator(seed: UInt64(9000 + batch * 20 + script))
      let handlers: [Handler?] = (0..<2).map { _ in
        if random.next() % 4 == 0 { return Self.wrong(right: Int(random.next() % 8)) }
        let faults = (0..<Int(1 + random.next() % 6)).map { _ in
          DifferentialTests.fault(&random, Trial.size, 1)
        }
        return { _, nth in faults[(nth - 1) % faults.count] }
      }
      let place = Int(random.next() % 3)
      var all = handlers
      all.insert(Self.ordinary, at: place)
      let outcome = try await Self.fetch(
        transferClass: random.next() % 2 == 0 ? .foreground : .background, from: all)
      #expect(outcome.end.isFinished, "seed \(9000 + batch * 20 + script): \(outcome.end)")
      #expect(outcome.record.history.bannedSources & 1 << UInt64(place) == 0, "the good one isn't blamed")
    }
  }
}
