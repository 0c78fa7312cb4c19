import AssetModel
import Basics
import Foundation
import Synchronization
import Testing

@testable import DevelopmentOrigin
@testable import Downloads

/// Servers that drop a range because of the condition that it comes with, or put it into an envelope.
@Suite(.timeLimit(.minutes(2))) struct RangeConditionTests {
  private static let size = 20 << 20
  private static let content = Content.pseudoRandom(seed: 11, count: size)

  /// Every answer is of the kind `range`; the first `cuts` that bring bytes end after 4 MiB, like the connection.
  private static func script(
    _ range: Reply.RangeFault, cuts: Int, hasDigest: Bool = false
  ) -> @Sendable (RecordedRequest, Int) -> Reply {
    let counter = Counter()
    return { request, nth in
      .with {
        $0.range = range
        if !hasDigest { $0.removedHeaders = ["Repr-Digest"] }
        let isHonoured = request.header("Range") == nil || range.honours(request)
        if isHonoured, counter.next() <= cuts { $0.ending = .init(.reset, after: .byte(4 << 20)) }
      }
    }
  }

  @Test(
    "F-11 a range that If-Range makes the server forget costs less than a tenth, however often it is cut",
    arguments: [Reply.RangeFault.ignoredWithIfRange, .ignoredWithConditions], [1, 4])
  func dropsRange(range: Reply.RangeFault, cuts: Int) async throws {
    for hasDigest in [false, true] {
      let content = Self.content
      let trial = try await Trial.run(
        content: content, reply: Self.script(range, cuts: cuts, hasDigest: hasDigest))
      #expect(trial.isFinished && trial.record.generation == 1, "\(trial.end)")
      let received = Double(trial.record.receivedBytes) / Double(Self.size)
      #expect(received < 1.1, "\(received) times the file, \(trial.ranges)")
      // The first resume finds out what works; it is remembered for the others.
      let conditions = trial.requests.dropFirst().map { request in
        ["If-Range", "If-Match"].first { request.header($0) != nil } ?? "none"
      }
      let works = range == .ignoredWithIfRange ? "If-Match" : "none"
      let ladder = range == .ignoredWithIfRange ? ["If-Range", "If-Match"] : ["If-Range", "If-Match", "none"]
      #expect(conditions == ladder + Array(repeating: works, count: cuts - 1))
    }
  }

  @Test("F-01 a file without ranges costs no other file of its server what that has already") func otherFileHasNone()
    async throws
  {
    let content = Self.content
    let origin = try Origin { configuration in
      for path in ["/good", "/bad"] { configuration.resources[path] = Resource(content) }
      configuration.handler = { request, nth in
        .with {
          $0.removedHeaders = ["Repr-Digest"]
          if request.path == "/bad" { $0.range = .ignored }
          if nth == 1 { $0.ending = .init(request.path == "/bad" ? .close : .silence, after: .byte(12 << 20)) }
        }
      }
    }
    defer { origin.stop() }
    let harness = try Harness()
    let events = harness.engine.events
    let good = try #require(try await harness.engine.add([harness.specification(origin.url("/good"))])[0].job)
    try await until { await harness.engine.explain(good)?.data["received"] == "\(12 << 20)" }
    harness.engine.pause(good)
    try await until { try harness.journal.job(good)?.state == .paused }
    let bad = try #require(
      try await harness.engine.add([harness.specification(origin.url("/bad"), name: "bad")])[0].job)
    #expect(try await harness.end(of: bad, in: events).isFinished)
    #expect(try harness.journal.origins().contains { ($0.rangeless?.length ?? 0) > 0 })
    harness.engine.resume(good)
    #expect(try await harness.end(of: good, in: harness.engine.events).isFinished)
    #expect(origin.requests(for: "/good").count == 2 && origin.requests(for: "/good")[1].header("Range") != nil)
    #expect(Double(try #require(try harness.journal.job(good)).receivedBytes) < 1.1 * Double(Self.size))
    await harness.engine.close()
  }

  @Test("F-11 a server without any ranges is left for the last time when the range alone is dropped")
  func noRangesAtAll() async throws {
    let trial = try await Trial.run { _, nth in
      .with {
        $0.range = .ignored
        $0.removedHeaders = ["Repr-Digest"]
        if nth == 1 { $0.ending = .init(.close, after: .byte(2 << 20)) }
      }
    }
    #expect(trial.isFinished && trial.record.generation == 2 && trial.requests.count == 4, "\(trial.ranges)")
    #expect(trial.record.receivedBytes < Int64(Trial.size) + 3 << 20)
  }

  @Test("F-11 the file changes while a server that drops the range is asked otherwise", arguments: [2, 3])
  func changesOnTheLadder(at step: Int) async throws {
    let second = Trial.content.altered(to: 2, lengthChange: 0)
    let trial = try await Trial.run(versions: [second]) { _, nth in
      .with {
        $0.entity = .init(version: nth > step ? 2 : 1)
        $0.range = .ignoredWithConditions
        $0.removedHeaders = ["Repr-Digest"]
        if nth == 1 { $0.ending = .init(.close, after: .byte(2 << 20)) }
      }
    }
    #expect(trial.isFinished && trial.data == Data(second.bytes(in: 0..<Trial.size)), "\(trial.end)")
    #expect(trial.record.history.validatorRestarts == 1 && trial.record.history.serverFaults == 0)
  }

  @Test("F-11 what worked is remembered for the origin, also by the next process") func remembers() async throws {
    let origin = try Origin {
      for name in ["/a", "/b", "/c"] { $0.resources[name] = Resource(Trial.content) }
      $0.handler = { _, nth in
        .with {
          $0.range = .ignoredWithIfRange
          $0.removedHeaders = ["Repr-Digest"]
          if nth == 1 { $0.ending = .init(.close, after: .byte(2 << 20)) }
        }
      }
    }
    defer { origin.stop() }
    let harness = try Harness()
    for name in ["a", "b"] {
      #expect(try await harness.fetch(harness.specification(origin.url("/\(name)"), name: name)).isFinished)
    }
    await harness.engine.close()
    let record = harness.journal.state.withLock { $0.origins.values.first }
    #expect(record?.rangeCondition == .ifMatch && record?.rangeless == nil)
    let later = try Harness(journal: MemoryJournal(after: harness.journal))
    #expect(try await later.fetch(later.specification(origin.url("/c"), name: "c")).isFinished)
    await later.engine.close()
    let asked = origin.requests.filter { $0.header("Range") != nil }
    #expect(asked.map(\.path) == ["/a", "/a", "/b", "/c"])
    #expect(asked.dropFirst().allSatisfy { $0.header("If-Match") != nil && $0.header("If-Range") == nil })
    // A day is long enough for an operator to mend it.
    var table = OriginRegistry()
    let number = table.number(of: "https://a.example:443")
    _ = table[number].honours(.ifMatch, now: .zero)
    _ = table.expire(OriginState.memory - .seconds(1))
    #expect(table[number].rangeCondition == .ifMatch)
    _ = table.expire(OriginState.memory)
    #expect(table[number].rangeCondition == nil)
  }

  @Test("F-11 the origin that redirects lead to is the one that is remembered") func redirected() async throws {
    let cut = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { request, nth in
        .with {
          $0.range = .ignoredWithIfRange
          $0.removedHeaders = ["Repr-Digest"]
          if nth == 1 || request.header("If-Match") != nil && nth < 5 {
            $0.ending = .init(.close, after: .byte(1 << 20))
          }
        }
      }
    }
    defer { cut.stop() }
    let way = try Origin {
      let target = cut.url(Trial.path)
      $0.handler = { _, _ in .with { $0.redirect = .to(target) } }
    }
    defer { way.stop() }
    let harness = try Harness()
    #expect(try await harness.fetch(harness.specification(way.url("/x"))).isFinished)
    await harness.engine.close()
    #expect(harness.contents() == Trial.bytes)
    #expect(cut.requests.count { $0.header("If-Range") != nil } == 1)
  }

  /// Each answer is cut or whole, of the first version or the second, with the tag that it had or its own, and of a server
  /// that drops ranges or puts them into envelopes: what comes out is one version, as every trial expects.
  @Test("F-11 random servers never have two versions mixed", arguments: 0..<40) func randomServers(seed: Int)
    async throws
  {
    let second = Trial.content.altered(to: 2, lengthChange: 0)
    let trial = try await Trial.run(versions: [second]) { request, nth in
      var random = SeededGenerator(seed: UInt64(seed * 1000 + nth))
      let kinds: [Reply.RangeFault?] = [nil, .ignoredWithIfRange, .ignoredWithConditions, .multipart, .ignored]
      return .with {
        $0.removedHeaders = ["Repr-Digest"]
        $0.range = kinds[(seed + (random.next() % 4 == 0 ? nth : 0)) % kinds.count]
        let changesTag = random.next() % 4 == 0
        $0.entity = .init(version: nth > 2 + seed % 5 ? 2 : 1, tag: changesTag ? .new : .same)
        if nth < 8, random.next() % 3 != 0 {
          $0.ending = .init(.reset, after: .byte(Int(random.next() % (1 << 20)) + 1))
        }
      }
    }
    #expect(trial.isFinished || trial.failure == .noProgress, "\(trial.end), \(trial.ranges)")
  }

  // MARK: Envelopes

  @Test(
    "F-06 several parts for a single range: asked once more, and what comes then is taken", arguments: [false, true])
  func envelopeOnce(hasDigest: Bool) async throws {
    let trial = try await Trial.run { _, nth in
      .with {
        if !hasDigest { $0.removedHeaders = ["Repr-Digest"] }
        if nth == 1 { $0.ending = .init(.close, after: .byte(2 << 20)) }
        if nth == 2 { $0.range = .multipart }
      }
    }
    let from = (2 << 20) - (hasDigest ? 0 : 64 << 10)
    #expect(trial.isFinished && trial.record.generation == 1, "\(trial.end)")
    #expect(trial.ranges == [nil, "bytes=\(from)-", "bytes=\(from)-\(Trial.size - 1)"])
  }

  @Test("F-06 a server that insists on several parts is asked for everything, and isn't taken for one without ranges")
  func envelopeAlways() async throws {
    let journal = MemoryJournal()
    let trial = try await Trial.run(journal: journal) { _, nth in
      .with {
        $0.range = .multipart
        $0.removedHeaders = ["Repr-Digest"]
        // A field that makes the envelope look like a part of the file.
        if nth == 3 { $0.setHeaders = [.init("Content-Range", "bytes 2031616-\(Trial.size - 1)/\(Trial.size)")] }
        if nth == 1 { $0.ending = .init(.close, after: .byte(2 << 20)) }
      }
    }
    #expect(trial.isFinished && trial.requests.count == 4 && trial.ranges.last == .some(nil), "\(trial.ranges)")
    #expect(journal.state.withLock { $0.origins.values.allSatisfy { $0.rangeless == nil } })
    #expect(trial.record.history.serverFaults == 0)
  }

  @Test("F-06 the reason for starting again is told as it is") func envelopeIsNamed() async throws {
    let scene = try await Scene { _, nth in
      .with {
        $0.range = .multipart
        $0.removedHeaders = ["Repr-Digest"]
        if nth == 1 { $0.ending = .init(.close, after: .byte(2 << 20)) }
      }
    }
    let restart = try await scene.event { if case .restarted = $0 { true } else { false } }
    guard case .restarted(_, let reason) = restart else { throw Unexpected("\(restart)") }
    #expect(reason.contains("multipart/byteranges"), "\(reason)")
    #expect(try await scene.end().isFinished && scene.isWhole)
    _ = try await scene.close()
  }

  @Test("F-06 several parts for each part of a chunk list: the whole is asked for") func envelopesOfChunks()
    async throws
  {
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, _ in .with { $0.range = .multipart } }
    }
    defer { origin.stop() }
    let harness = try Harness()
    let end = try await harness.fetch(harness.specification(origin.url(Trial.path), chunks: Trial.chunks))
    await harness.engine.close()
    #expect(end.isFinished && harness.contents() == Trial.bytes, "\(end)")
    #expect(origin.requests.count == 3 && origin.requests.last?.header("Range") == nil)
    #expect(harness.journal.state.withLock { $0.origins.values.allSatisfy { $0.rangeless == nil } })
  }
}

/// Counts from 1.
private final class Counter: Sendable {
  private let count = Mutex(0)
  func next() -> Int {
    count.withLock {
      $0 += 1
      return $0
    }
  }
}

extension Reply.RangeFault {
  /// Whether such a server answers with the range.
  fileprivate func honours(_ request: RecordedRequest) -> Bool {
    switch self {
    case .ignoredWithIfRange: request.header("If-Range") == nil
    case .ignoredWithConditions: request.header("If-Range") == nil && request.header("If-Match") == nil
    default: false
    }
  }
}
