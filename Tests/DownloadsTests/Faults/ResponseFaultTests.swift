import AssetModel
import Downloads
import Foundation
import Testing

@testable import DevelopmentOrigin

/// Group A of the fault corpus: HTTP and resume. The first answer is usually cut in the middle.
@Suite(.timeLimit(.minutes(2))) struct ResponseFaultTests {
  @Test("F-01 the server ignores the range and sends everything") func ignoredRange() async throws {
    let trial = try await Trial.run { _, nth in nth == 1 ? .half : .with { $0.range = .ignored } }
    #expect(trial.isFinished)
    let rest = "bytes=2097152-"
    #expect(
      trial.ranges == [nil, rest, rest, rest], "with If-Range, with If-Match, and alone: then all of it is taken")
    // The bytes that were thrown away are charged.
    #expect(trial.record.receivedBytes >= Int64(Trial.size) + 2 << 20)
    #expect(trial.record.generation == 2)
  }

  @Test("F-02 the file changed: same length, new validator", arguments: [false, true]) func changedSameLength(
    known: Bool
  ) async throws {
    let second = Trial.content.altered(to: 2, lengthChange: 0)
    let digest = known ? Trial.digest(second, count: Trial.size) : nil
    let trial = try await Trial.run(digest: digest, versions: [second]) { _, nth in
      nth == 1
        ? .with {
          $0.entity = .init(version: 1)
          $0.ending = .init(.close, after: .byte(2 << 20))
        } : .with { $0.entity = .init(version: 2) }
    }
    #expect(trial.isFinished)
    #expect(trial.data == Data(second.bytes(in: 0..<Trial.size)))
  }

  @Test("F-03 the file changed, and its length too [B52]") func changedLength() async throws {
    let reply: @Sendable (RecordedRequest, Int) -> Reply? = { _, nth in
      nth == 1
        ? .with {
          $0.entity = .init(version: 1)
          $0.ending = .init(.close, after: .byte(2 << 20))
        } : nil
    }
    let longer = Trial.content.altered(to: 2, lengthChange: 100)
    let advisory = try await Trial.run(versions: [longer], reply: reply)
    #expect(advisory.isFinished && advisory.data?.count == Trial.size + 100)
    let exact = try await Trial.run(declares: Int64(Trial.size), essential: true, versions: [longer], reply: reply)
    #expect(exact.failure == .sizeMismatch)
  }

  @Test("F-04 206 with a wrong start, end or total", arguments: [(1, 0, 0), (0, -1, 0), (0, 0, 1), (-5, 0, 0)])
  func wrongContentRange(start: Int, end: Int, total: Int) async throws {
    let trial = try await Trial.run { _, nth in
      switch nth {
      case 1: .half
      case 2: .with { $0.range = .shifted(start: start, end: end, total: total) }
      default: nil
      }
    }
    #expect(trial.isFinished)
    #expect(trial.ranges == [nil, "bytes=2097152-", nil], "once more, without a range")
    #expect(trial.record.history.serverFaults == 1)
  }

  @Test(
    "F-04 less than was asked for, from the right byte on, is taken, and the rest is asked for",
    arguments: [false, true])
  func lessThanAsked(known: Bool) async throws {
    let trial = try await Trial.run(digest: known ? Trial.digest : nil) { request, nth in
      nth > 1
        ? .part(of: request, atMost: 400_000)
        : .with {
          $0.removedHeaders = ["Repr-Digest"]
          $0.setHeaders = [HeaderField("ETag", "\"1\"")]
          $0.ending = .init(.close, after: .byte(2 << 20))
        }
    }
    #expect(trial.isFinished, "\(trial.end)")
    #expect(trial.record.history.serverFaults == 0 && trial.record.generation == 1, "nothing is thrown away")
    #expect(
      trial.requests.count == (known ? 4 : 5), "each brings 64 KiB less where these are compared: \(trial.ranges)")
    #expect(trial.requests.dropFirst().allSatisfy { $0.header("Range") != nil }, "\(trial.ranges)")
  }

  @Test("F-05 206 although no range was asked for") func unasked() async throws {
    let trial = try await Trial.run { _, nth in nth == 1 ? .with { $0.range = .unasked(nil) } : nil }
    #expect(trial.isFinished)
    #expect(trial.requests.count == 2 && trial.requests[0].connection != trial.requests[1].connection)
  }

  @Test("F-07 416 with the length that we have, and with another") func unsatisfiable() async throws {
    // The first answer's length is unknown and it is cut exactly at the end.
    let size = Trial.size
    for (declared, digest) in [
      (Int64(size), Trial.digest),
      (Int64(size), Trial.digest(Trial.content.altered(to: 9, lengthChange: 0), count: size)),
    ] {
      let trial = try await Trial.run(declares: declared, digest: digest) { _, nth in
        nth == 1 ? .half : nth == 2 ? .with { $0.range = .refused(contentRange: true) } : nil
      }
      // N is the total, which isn't what is there: changed, so afresh.
      #expect(trial.isFinished == (digest == Trial.digest))
      if !trial.isFinished { #expect(trial.failure == .digestMismatch) }
    }
  }

  @Test("F-07 416 without Content-Range is probed") func unsatisfiableProbed() async throws {
    let trial = try await Trial.run { _, nth in
      nth == 1 ? .half : nth == 2 ? .with { $0.range = .refused(contentRange: false) } : nil
    }
    #expect(trial.isFinished)
    #expect(trial.ranges.prefix(3) == [nil, "bytes=2097152-", "bytes=0-0"])
  }

  @Test("F-08 412 to a precondition") func preconditionFailed() async throws {
    let trial = try await Trial.run { _, nth in nth == 1 ? .half : nth == 2 ? .status(412) : nil }
    #expect(trial.isFinished && trial.ranges.last == .some(nil))
  }

  @Test("F-09 a weak validator, or none", arguments: [ETagKind.weak, .none]) func weakValidator(kind: ETagKind)
    async throws
  {
    let configure: (inout OriginConfiguration) -> Void = {
      $0.resources[Trial.path]?.etag = kind
      $0.resources[Trial.path]?.lastModified = nil
    }
    let blind = try await Trial.run(configure: configure) { _, nth in
      .with {
        $0.removedHeaders = ["Repr-Digest"]
        if nth == 1 { $0.ending = .init(.close, after: .byte(2 << 20)) }
      }
    }
    #expect(blind.isFinished && blind.ranges == [nil, nil], "from 0")
    let proved = try await Trial.run(digest: Trial.digest, configure: configure) { _, nth in nth == 1 ? .half : nil }
    #expect(proved.isFinished && proved.ranges == [nil, "bytes=2097152-"], "the digest proves it")
  }

  @Test("F-10 edges with different validators for the same bytes") func edges() async throws {
    let size = 12 << 20
    let content = Content.pseudoRandom(seed: 3, count: size)
    let trial = try await Trial.run(digest: Trial.digest(content, count: size), content: content) { _, nth in
      .with {
        $0.setHeaders = [HeaderField("ETag", "\"edge-\(nth)\"")]
        $0.removedHeaders = ["Last-Modified"]
        if nth == 1 { $0.ending = .init(.close, after: .byte(10 << 20)) }
        if nth == 2 { $0.range = .ignored }
      }
    }
    #expect(trial.isFinished)
    #expect(trial.ranges == [nil, "bytes=10485760-", "bytes=10485760-"])
    #expect(trial.requests.map { $0.header("If-Range") } == [nil, "\"edge-1\"", nil])
    #expect(trial.record.receivedBytes < Int64(size) + 1 << 20, "nothing is fetched twice")
  }

  @Test("F-12 Content-Length is too small: the peer sends more") func surplus() async throws {
    let trial = try await Trial.run(declares: Int64(Trial.size), essential: true) { _, _ in
      .with { $0.length = .off(by: -100) }
    }
    #expect(trial.failure == .sizeMismatch)
    // Without any length a surplus byte shows only when it comes.
    let unbounded = try await Trial.run(declares: Int64(Trial.size) - 1, essential: true) { _, _ in
      .with { $0.framing = .chunked }
    }
    #expect(unbounded.failure == .sizeMismatch)
  }

  @Test("F-13 Content-Length is too large: the body ends early") func shortBody() async throws {
    let trial = try await Trial.run { _, nth in nth == 1 ? .half : nil }
    #expect(trial.isFinished)
    #expect(trial.ranges == [nil, "bytes=2097152-"])
    #expect(trial.requests[1].header("If-Range") != nil)
  }

  @Test("F-14 no length, and far more than a declared size that is only a guess")
  func longerThanGuessed() async throws {
    let content = Content.pseudoRandom(seed: 6, count: (9 << 20) + 5)
    let trial = try await Trial.run(declares: 1 << 20, content: content) { _, _ in .with { $0.framing = .chunked } }
    #expect(trial.isFinished && trial.requests.count == 1, "\(trial.end)")
  }

  @Test("F-14 no length: the end of the connection is the end of the body") func untilClose() async throws {
    let early: @Sendable (RecordedRequest, Int) -> Reply? = { _, nth in
      .with {
        $0.removedHeaders = ["Repr-Digest"]
        $0.framing = .untilClose
        if nth < 3 { $0.ending = .init(.close, after: .byte(1 << 20)) }
      }
    }
    let unknown = try await Trial.run(reply: early)
    #expect(unknown.failure == .refused, "nothing tells a cut from an end")
    // Under TLS as well: libcurl takes the end of the connection for the end of the body, said or not.
    let overTLS = try await Trial.run(
      configure: { $0.tls = TLSOptions(Authority.shared.authority) },
      options: { $0.transport.authorityFile = Authority.shared.path }, reply: early)
    #expect(overTLS.failure == .refused)
    let known = try await Trial.run(declares: Int64(Trial.size), digest: Trial.digest, reply: early)
    #expect(known.isFinished)
  }

  @Test(
    "no length, and the wrong digest: what comes twice is no cut connection (F-14)", arguments: [5000, 3 << 20],
    [true, false])
  func wrongUntilClose(count: Int, hasRanges: Bool) async throws {
    let other = Content.pseudoRandom(seed: 9, count: count)
    let trial = try await Trial.run(digest: Trial.digest, content: other) { request, _ in
      .with {
        $0.removedHeaders = ["Repr-Digest"]
        // Else whatever part is asked for has its length.
        if request.header("Range") == nil || !hasRanges { $0.framing = .untilClose }
        if !hasRanges { $0.range = .ignored }
      }
    }
    #expect(trial.failure == .digestMismatch, "\(trial.end)")
    #expect(trial.requests.count <= (hasRanges ? 3 : 4), "\(trial.ranges)")
  }

  @Test("no length, and cut: the rest is asked for at once (F-14)") func cutUntilClose() async throws {
    let clock = TestClock()
    let trial = try await Trial.run(digest: Trial.digest, clock: clock) { _, nth in
      .with {
        $0.removedHeaders = ["Repr-Digest"]
        $0.framing = .untilClose
        if nth == 1 { $0.ending = .init(.close, after: .byte(1 << 20)) }
      }
    }
    #expect(trial.isFinished && trial.requests.count == 2, "\(trial.end) \(trial.ranges)")
  }

  @Test("F-15 lengths that contradict each other", arguments: [Reply.LengthFault.contradicting, .withChunked])
  func contradictions(fault: Reply.LengthFault) async throws {
    let trial = try await Trial.run { _, nth in nth == 1 ? .with { $0.length = fault } : nil }
    #expect(trial.isFinished)
    #expect(trial.requests[0].connection != trial.requests[1].connection, "the connection isn't used again")
  }

  @Test("F-11 an end of the file isn't all of it because the status says so") func tailAsWhole() async throws {
    let trial = try await Trial.run { request, nth in
      if nth == 1 { return .cut(after: .byte(1 << 20)) }
      guard nth == 2, let range = request.header("Range"), let first = Int(range.dropFirst(6).dropLast()) else {
        return nil
      }
      var reply = Reply()
      let head =
        "HTTP/1.1 200 OK\r\nContent-Range: bytes \(first)-\(Trial.size - 1)/\(Trial.size)\r\n"
        + "Content-Length: \(Trial.size - first)\r\n\r\n"
      reply.raw = Array(head.utf8) + Trial.bytes[first...]
      return reply
    }
    #expect(trial.isFinished && trial.requests.count == 3 && trial.requests[1].header("Range") != nil, "\(trial.end)")
  }

  @Test("F-15 a length that is a list is shown") func listOfLengths() async throws {
    let trial = try await Trial.run { _, _ in .raw("HTTP/1.1 200 OK\r\nContent-Length: 6, 6\r\n\r\nabcdef") }
    #expect(trial.failure == .noProgress && "\(trial.end)".contains("isn't one number (6, 6)"), "\(trial.end)")
  }

  @Test(
    "F-16 broken chunked coding", arguments: [Reply.Framing.withoutLastChunk, .badChunkSize, .giantExtension(1 << 20)])
  func brokenChunks(framing: Reply.Framing) async throws {
    let trial = try await Trial.run(declares: Int64(Trial.size), digest: Trial.digest) { _, nth in
      nth == 1 ? .with { $0.framing = framing } : nil
    }
    #expect(trial.isFinished)
  }

  @Test("F-17 a compressed body although identity was asked for") func compressed() async throws {
    let trial = try await Trial.run { request, nth in nth == 1 ? .with { $0.isGzipped = true } : nil }
    #expect(trial.isFinished)
    #expect(trial.requests[0].header("Accept-Encoding") == "identity")
    #expect(trial.requests[1].header("Cache-Control") == "no-transform")
  }

  @Test("F-17 a body that stays compressed isn't resumed, and its digest is held") func compressedForGood() async throws
  {
    let trial = try await Trial.run(digest: Trial.digest) { _, nth in .with { $0.isGzipped = true } }
    #expect(trial.failure == .digestMismatch && "\(trial.end)".contains("in the coding gzip"), "\(trial.end)")
    #expect(trial.ranges.allSatisfy { $0 == nil })
  }

  @Test("F-20 F-21 a login page with status 200", arguments: [12, Trial.size]) func loginPage(count: Int) async throws {
    let trial = try await Trial.run(declares: Int64(Trial.size), digest: Trial.digest) { _, nth in
      nth == 1 ? .with { $0.body = .repeating(Array("<html>please log in</html>".utf8), count: count) } : nil
    }
    if count == Trial.size {
      #expect(trial.isFinished && trial.record.history.digestMismatches == 1, "by chance the right size: the digest")
      #expect(trial.requests[1].header("Cache-Control") == "no-cache")
    } else {
      #expect(trial.failure == .sizeMismatch)
    }
  }

  @Test(
    "F-22 Retry-After in every form",
    arguments: [
      (Reply.RetryAfter.seconds(120), 119...121), (.date(300), 250...301), (.date(-50), 0.4...90),
      (.text("garbage"), 0.4...90),
      (.text("99999999999999999999"), 86399...86401), (.seconds(315_360_000), 86399...86401),
    ])
  func retryAfter(value: Reply.RetryAfter, expected: ClosedRange<Double>) async throws {
    for status in [429, 503] {
      let clock = TestClock()
      let trial = try await Trial.run(clock: clock) { _, nth in
        nth == 1
          ? .with {
            $0.status = status
            $0.retryAfter = value
          } : nil
      }
      #expect(trial.isFinished)
      let longest = clock.jumps.withLock { $0.map { $0 / .seconds(1) }.max() ?? 0 }
      #expect(expected.contains(longest), "\(longest)")
    }
  }

  @Test("too early, on the wrong connection, or too much for now: asked once more", arguments: [425, 421, 413])
  func temporary(status: Int) async throws {
    let trial = try await Trial.run { _, nth in
      nth == 1
        ? .with {
          $0.status = status
          if status == 413 { $0.retryAfter = .seconds(120) }
        } : nil
    }
    #expect(trial.isFinished && trial.requests.count == 2, "\(trial.end)")
    #expect(status != 421 || Set(trial.requests.map(\.connection)).count == 2)
    let longest = trial.harness.clock.jumps.withLock { $0.map { $0 / .seconds(1) }.max() ?? 0 }
    #expect(status != 413 || (119...121).contains(longest), "\(longest)")
    let misdirected = try await Trial.run { _, _ in .status(421) }
    #expect(misdirected.failure == .refused && misdirected.requests.count == 2)
  }

  @Test("203 is the file, as a proxy has it") func transformed() async throws {
    let trial = try await Trial.run { _, nth in .with { $0.status = 203 } }
    #expect(trial.isFinished && trial.requests.count == 1, "\(trial.end)")
  }

  /// Said again each time: a client that honoured it each time would never get there.
  @Test("F-22 Retry-After on a redirect: what it leads to waits, once", arguments: [301, 302, 307])
  func retryAfterOfARedirect(status: Int) async throws {
    let clock = TestClock()
    let trial = try await Trial.run(clock: clock, configure: RedirectFaultTests.withOther) { request, nth in
      request.path == Trial.path
        ? .with {
          $0.redirect = .to("/other", status: status)
          $0.retryAfter = .seconds(120)
        } : .with { if nth == 1 { $0.ending = .init(.close, after: .byte(1 << 20)) } }
    }
    #expect(trial.isFinished, "\(trial.end)")
    #expect(trial.requests.map(\.path) == ["/file", "/file", "/other", "/file", "/other"])
    let waits = clock.jumps.withLock { $0.map { $0 / .seconds(1) }.filter { $0 > 60 } }
    #expect(waits.count == 1 && waits.allSatisfy { (119...121).contains($0) }, "\(waits)")
  }

  @Test("F-09 a file that changes without end, or a length that isn't its own, is given up", arguments: [true, false])
  func changesWithoutEnd(hasDigest: Bool) async throws {
    let tooLong = try await Trial.run(digest: hasDigest ? Trial.digest : nil) { _, _ in
      .with {
        $0.length = .off(by: 10)
        $0.removedHeaders = ["Repr-Digest"]
      }
    }
    #expect(!tooLong.isFinished && tooLong.requests.count <= 24, "\(tooLong.end), \(tooLong.requests.count)")
    let content = Content.pseudoRandom(seed: 3, count: 7 << 20)
    let edges = try await Trial.run(
      digest: hasDigest ? Trial.digest(content, count: content.count) : nil, content: content
    ) { _, nth in
      .with {
        $0.setHeaders = [HeaderField("ETag", "\"edge \(nth)\"")]
        $0.removedHeaders = ["Repr-Digest", "Last-Modified"]
        $0.range = .ignored
        $0.ending = .init(.close, after: .byte(5 << 20))
      }
    }
    #expect(edges.failure == .noProgress && edges.requests.count <= 24, "\(edges.end), \(edges.requests.count)")
  }

  @Test(
    "headers can't write others", arguments: ["1\r\nRange: bytes=5-9", "1\n2", "a\0b", "\u{7f}"]) func headerValues(
      value: String
    ) async throws
  {
    let harness = try Harness()
    for header in [Download.Header(name: "X-A", value: value), .init(name: "X-A" + value, value: "1")] {
      var specification = harness.specification("https://a.test/x")
      specification.headers = [header]
      guard case .invalid(let why) = try await harness.engine.add([specification])[0] else {
        throw Unexpected("\(header) was taken")
      }
      #expect(why.contains("header"))
    }
    for name in ["", "If-Range ", "a b", "Range:", "ü"] {
      var specification = harness.specification("https://a.test/x")
      specification.headers = [Download.Header(name: name, value: "1")]
      guard case .invalid = try await harness.engine.add([specification])[0] else { throw Unexpected(name) }
    }
    await harness.engine.close()
  }

  @Test("F-23 a storm of 500 and 503") func storm() async throws {
    let clock = TestClock()
    let trial = try await Trial.run(clock: clock) { _, nth in nth <= 5 ? .status(nth % 2 == 0 ? 500 : 503) : nil }
    #expect(trial.isFinished && trial.requests.count == 6)
    let waits = clock.jumps.withLock { $0.map { $0 / .seconds(1) } }
    #expect(waits.count >= 5 && zip(waits, [0.5, 1, 2, 4, 8]).allSatisfy { $0 >= $1 * 0.99 }, "\(waits)")
    let hopeless = try await Trial.run { _, _ in .status(500) }
    #expect(hopeless.failure == .noProgress && hopeless.requests.count == 6)
  }

  @Test("F-24 404 just after publication, and for good") func publication() async throws {
    let late = try await Trial.run { _, nth in nth <= 2 ? .status(404) : nil }
    #expect(late.isFinished)
    let never = try await Trial.run { _, _ in .status(404) }
    #expect(never.failure == .gone && never.requests.count == 3)
  }

  @Test("F-24 404 where no second look follows", arguments: [TransferClass.foreground, .background]) func notFound(
    transferClass: TransferClass
  ) async throws {
    let trial = try await Trial.run(
      transferClass, options: { $0.retestsPublication = false }, reply: { _, _ in .status(404) })
    #expect(trial.failure == .gone && trial.requests.count == 1)
  }

  @Test("F-14 a status line that says HTTP/2 where it wasn't agreed on proves no length") func claimedHTTP2()
    async throws
  {
    let head = "HTTP/2 200 OK\r\nETag: \"x\"\r\n\r\n"
    let trial = try await Trial.run { _, _ in .raw(head + "half of it") }
    #expect(trial.failure == .hostileResponse && trial.requests.count == 1, "\(trial.end)")
  }

  @Test(arguments: [400, 403, 410, 451, 418]) func permanentStatus(status: Int) async throws {
    let trial = try await Trial.run { _, _ in .status(status) }
    #expect(trial.failure != nil && trial.requests.count == 1)
  }

  @Test("F-73 an empty file, and a body where none was declared") func emptyFile() async throws {
    let empty = try await Trial.run(
      digest: ContentDigest(hex: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
      content: .bytes([])
    ) { _, _ in nil }
    #expect(empty.isFinished && empty.data == Data())
    let surplus = try await Trial.run(declares: 0, essential: true) { _, _ in nil }
    #expect(surplus.failure == .sizeMismatch)
  }

  @Test("a command in the middle of the last commit isn't lost", arguments: [true, false]) func lateCommand(
    cancels: Bool
  )
    async throws
  {
    let origin = try Origin { $0.handler = { _, _ in .status(500) } }
    defer { origin.stop() }
    let clock = TestClock(jumpsWhenIdle: false)
    let harness = try Harness(clock: clock)
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([harness.specification(origin.url("/file"))])[0].job)
    // As soon as the failure was heard: before, in or after the commit that tells it.
    _ = await origin.requests(count: 1, within: .seconds(60))
    for _ in 0..<3 { if cancels { harness.engine.cancel(id) } else { harness.engine.pause(id) } }
    for await event in events {
      if case .cancelled(id) = event, cancels { break }
      if case .paused(id) = event, !cancels { break }
      if case .failed(id, let failure) = event { throw Unexpected("\(failure)") }
    }
    await harness.engine.close()
  }
}
