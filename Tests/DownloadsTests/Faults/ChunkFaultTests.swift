import AssetModel
import DevelopmentOrigin
import Foundation
import LinuxSystem
import Synchronization
import Testing

@testable import Downloads

/// Files that are checked chunk by chunk, on bad days: what is there and right is neither lost nor written over.
@Suite(.timeLimit(.minutes(2))) struct ChunkFaultTests {
  private struct Outcome {
    var end: Harness.End
    var requests: [RecordedRequest]
    var isWhole: Bool
    var restarts: Int
    var notes: [String]
    /// Boot time of each request.
    var times: [Duration]

    var ranges: [String?] { requests.map { $0.header("Range") } }
  }

  /// Twenty MiB in chunks of one.
  private static let large = Content.pseudoRandom(seed: 5, count: 20 << 20)
  private static let largeData = Data(large.bytes)
  private static let largeChunks = Trial.chunks(of: largeData, size: 1 << 20)

  /// Enough for several connections.
  private static let huge = Data(Content.pseudoRandom(seed: 6, count: 48 << 20).bytes)
  private static let hugeChunks = Trial.chunks(of: huge, size: 1 << 20)

  private static func fetch(
    _ data: Data = Trial.bytes, _ chunks: ChunkList = Trial.chunks, digest: ContentDigest? = nil,
    _ transferClass: TransferClass = .foreground, bytesPerSecond: Int? = nil,
    reply: @escaping @Sendable (RecordedRequest, Int) -> Reply?
  ) async throws -> Outcome {
    let clock = TestClock()
    let times = Mutex<[Duration]>([])
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Content.bytes(Array(data)))
      $0.handler = { request, nth in
        times.withLock { $0.append(clock.boot) }
        return reply(request, nth)
      }
      if let bytesPerSecond { $0.bytesPerSecond = bytesPerSecond }
    }
    defer { origin.stop() }
    let harness = try Harness(clock: clock)
    let events = harness.engine.events
    let end = try await harness.fetch(
      harness.specification(origin.url(Trial.path), transferClass, digest: digest, chunks: chunks))
    await harness.engine.close()
    var notes: [String] = []
    var restarts = 0
    for await event in events {
      if case .note(_, let text) = event { notes.append(text) }
      if case .restarted = event { restarts += 1 }
    }
    #expect(harness.staged.isEmpty == (end.failure?.keptBytes == nil), "what stays is told, and nothing else stays")
    #expect(end.isFinished == (harness.contents() == data), "finished is whole, and nothing else is handed over")
    return Outcome(
      end: end, requests: origin.requests, isWhole: harness.contents() == data, restarts: restarts, notes: notes,
      times: times.withLock { $0 })
  }

  /// Everything, with one byte of some chunks changed.
  private static func everything(wrong chunks: [Int]) -> Reply {
    var data = Trial.bytes
    for chunk in chunks { data[chunk * Trial.chunkSize + 7] ^= 1 }
    return .with {
      $0.range = .ignored
      $0.body = .bytes(Array(data))
    }
  }

  @Test("F-71 what was right isn't written over when a server without ranges sends it once more")
  func wrongElsewhere() async throws {
    let outcome = try await Self.fetch { _, nth in
      nth == 1 ? Self.everything(wrong: [1, 5]) : Self.everything(wrong: [0, 3, 9, 47])
    }
    #expect(outcome.isWhole && outcome.requests.count == 2 && outcome.restarts == 0, "\(outcome.end) \(outcome.ranges)")
  }

  @Test("F-71 a chunk that is wrong in everything is given up") func alwaysWrong() async throws {
    let outcome = try await Self.fetch { _, _ in Self.everything(wrong: [20]) }
    #expect(outcome.end.reason == .digestMismatch && outcome.requests.count == 2, "\(outcome.end) \(outcome.ranges)")
  }

  @Test("F-13 answers without their bytes are failed attempts", arguments: ["whole", "part", "short"])
  func short(kind: String) async throws {
    let outcome = try await Self.fetch { request, _ in
      switch kind {
      case "whole":
        .with {
          $0.range = .ignored
          $0.framing = .chunked
          $0.body = .bytes([])
        }
      case "part": .with { $0.ending = .init(.close, after: .byte(0)) }
      default:
        .with {
          $0.range = .ignored
          $0.framing = .chunked
          $0.body = .bytes(Array(Trial.bytes.dropLast(10)))
        }
      }
    }
    #expect(outcome.end.reason == .noProgress, "\(outcome.end)")
    #expect(outcome.requests.count <= 12, "\(outcome.ranges)")
  }

  @Test("F-10 edges that tag the same bytes differently") func edges() async throws {
    let outcome = try await Self.fetch(Self.largeData, Self.largeChunks) { _, nth in
      .with {
        $0.setHeaders = [HeaderField("ETag", "\"edge-\(nth)\"")]
        if nth == 1 { $0.ending = .init(.close, after: .byte(12 << 20)) }
      }
    }
    #expect(outcome.isWhole && outcome.restarts == 0, "\(outcome.end) \(outcome.ranges)")
    #expect(outcome.ranges.dropFirst().allSatisfy { $0?.hasPrefix("bytes=0-") == false }, "\(outcome.ranges)")
  }

  @Test(
    "one odd answer costs nothing that is there",
    arguments: [200, 206, 412, 416])
  func odd(status: Int) async throws {
    let outcome = try await Self.fetch(Self.largeData, Self.largeChunks, .background) { _, nth in
      switch nth {
      case 1: .with { $0.ending = .init(.close, after: .byte(12 << 20)) }
      case 2 where status == 200: .with { $0.range = .ignored }
      case 2 where status == 206: .with { $0.range = .shifted(start: 1, end: 0, total: 0) }
      case 2: .with { $0.status = status }
      default: nil
      }
    }
    #expect(outcome.isWhole && outcome.restarts == 0, "\(outcome.end) \(outcome.ranges)")
    #expect(outcome.requests.count == 3, "\(outcome.ranges)")
    #expect(outcome.ranges[2]?.hasPrefix("bytes=12582912-") == true, "\(outcome.ranges)")
  }

  @Test("F-13 chunks larger than what a server sends at a time come in parts") func cutWithinChunks() async throws {
    let chunks = Trial.chunks(of: Self.largeData, size: 4 << 20)
    let outcome = try await Self.fetch(Self.largeData, chunks, .background) { _, _ in
      .with { $0.ending = .init(.close, after: .byte(3 << 20)) }
    }
    #expect(outcome.isWhole && outcome.requests.count == 7, "\(outcome.end) \(outcome.ranges)")
  }

  @Test("a wrong part of a chunk is found out, and the chunk fetched again") func wrongPart() async throws {
    let chunks = Trial.chunks(of: Self.largeData, size: 4 << 20)
    var wrong = Self.largeData
    wrong[100] ^= 1
    let bad = Array(wrong)
    let outcome = try await Self.fetch(Self.largeData, chunks, .background) { _, nth in
      nth > 1
        ? nil
        : .with {
          $0.body = .bytes(bad)
          $0.ending = .init(.close, after: .byte(3 << 20))
        }
    }
    #expect(outcome.isWhole && outcome.restarts == 0, "\(outcome.end) \(outcome.ranges)")
    #expect(outcome.ranges.contains("bytes=0-4194303"), "\(outcome.ranges)")
  }

  @Test("a digest of the whole file counts beside a chunk list", arguments: [true, false])
  func both(isRight: Bool) async throws {
    let digest = isRight ? Trial.digest : Trial.digest(Self.large, count: 1000)
    let outcome = try await Self.fetch(digest: digest) { _, _ in nil }
    #expect(isRight ? outcome.isWhole : outcome.end.reason == .digestMismatch, "\(outcome.end)")
    #expect(outcome.restarts == 0 && Set(outcome.ranges).count == outcome.requests.count, "\(outcome.ranges)")
  }

  @Test("F-26 whom the server asks to wait, waits with all connections") func retryAfter() async throws {
    let refusal = Mutex(-1)
    let outcome = try await Self.fetch(Self.huge, Self.hugeChunks, bytesPerSecond: 8 << 20) { _, nth in
      guard nth == 3 else { return nil }
      refusal.withLock { $0 = nth - 1 }
      return .with {
        $0.status = 503
        $0.retryAfter = .seconds(30)
      }
    }
    #expect(outcome.isWhole, "\(outcome.end)")
    let index = refusal.withLock { $0 }
    try #require(index >= 0, "several connections")
    for time in outcome.times.dropFirst(index + 1) { #expect(time >= outcome.times[index] + .seconds(30)) }
  }

  @Test("F-23 the probe of an origin that was left alone may have a chunk list") func probe() async throws {
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in nth <= 12 ? .status(500) : nil }
    }
    defer { origin.stop() }
    let harness = try Harness()
    let events = harness.engine.events
    let ids = try await harness.engine.add(
      (1...3).map { harness.specification(origin.url(Trial.path), name: "\($0)", .background, chunks: Trial.chunks) }
    ).compactMap(\.job)
    var finished = 0
    for await event in events {
      if case .finished = event { finished += 1 }
      if case .failed(_, let failure) = event { Issue.record("\(failure)") }
      if finished == ids.count { break }
    }
    await harness.engine.close()
    #expect(ids.count == 3 && origin.requests.count >= 15)
  }

  @Test("what is sent again and isn't wanted is received all the same") func countsWhatIsSkipped() async throws {
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in nth == 1 ? Self.everything(wrong: [40]) : .with { $0.range = .ignored } }
    }
    defer { origin.stop() }
    let harness = try Harness()
    let end = try await harness.fetch(harness.specification(origin.url(Trial.path), chunks: Trial.chunks))
    let record = try #require(try harness.journal.job(app: "app", identifier: "file"))
    await harness.engine.close()
    #expect(end.isFinished && origin.requests.count == 2, "\(end)")
    // Not to its end: after the chunk that was missing the second one is given up.
    let least = Int64(Trial.size + 41 * Trial.chunkSize)
    #expect((least...Int64(2 * Trial.size)).contains(record.receivedBytes), "\(record.receivedBytes)")
  }

  @Test(
    "F-04 less than was asked for: the chunks that are whole are taken, and the rest is asked for",
    arguments: [(300_000, true), (60_000, false)])
  func lessThanAsked(count: Int, isFinished: Bool) async throws {
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { request, _ in
        request.header("Range") == nil ? .status(500) : .part(of: request, atMost: count)
      }
    }
    defer { origin.stop() }
    let harness = try Harness()
    let end = try await harness.fetch(harness.specification(origin.url(Trial.path), chunks: Trial.chunks))
    let record = try #require(try harness.journal.job(app: "app", identifier: "file"))
    await harness.engine.close()
    // Less than a chunk proves nothing, and comes to no end.
    #expect(end.isFinished == isFinished && harness.contents() == (isFinished ? Trial.bytes : nil), "\(end)")
    #expect(isFinished ? record.history.serverFaults == 0 : origin.requests.count < 40, "\(record.history)")
    // What is cut within a chunk is asked for again from that chunk's beginning.
    #expect(record.receivedBytes < Int64(Trial.size) * 3 / 2, "\(record.receivedBytes)")
  }

  @Test("F-47 an odd answer, and then a volume that fails: it waits, and goes on") func oddAndBroken() async throws {
    let files = FaultyFiles(.synchronizeData, 1, EIO)
    let clock = TestClock()
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Content.bytes(Array(Self.largeData)))
      $0.handler = { _, nth in
        switch nth {
        case 1: .with { $0.ending = .init(.close, after: .byte(12 << 20)) }
        case 2: .with { $0.range = .shifted(start: 1, end: 0, total: 0) }
        case 3: .with { $0.range = .shifted(start: 0, end: -1, total: 0) }
        default: nil
        }
      }
    }
    defer { origin.stop() }
    let harness = try Harness(clock: clock, files: files)
    let end = try await harness.fetch(
      harness.specification(origin.url(Trial.path), .background, chunks: Self.largeChunks))
    await harness.engine.close()
    #expect(end.isFinished && harness.contents() == Self.largeData, "\(end)")
  }

  /// What memory still shows needn't be on the disk, whatever the next synchronisation says.
  @Test("F-47 pages of chunks that a synchronisation lost are fetched and written again", arguments: [1, 2])
  func lostPages(nth: Int) async throws {
    let files = FaultyFiles(.synchronizeData, nth, EIO)
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Content.bytes(Array(Self.largeData)))
      $0.handler = { _, nth in nth <= 2 ? .with { $0.ending = .init(.close, after: .byte(6 << 20)) } : nil }
    }
    defer { origin.stop() }
    let harness = try Harness(files: files)
    let end = try await harness.fetch(
      harness.specification(origin.url(Trial.path), .background, chunks: Self.largeChunks))
    await harness.engine.close()
    #expect(end.isFinished && harness.contents() == Self.largeData, "\(end)")
    let after = origin.requests.map { $0.header("Range") ?? "" }
    // The first cut was synchronised or not; what came after that and before the fault is asked for once more.
    let again = nth == 1 ? "bytes=0-" : "bytes=6291456-"
    #expect(after.count { $0.hasPrefix(again) } == 2, "\(after)")
  }

  @Test("the engine is closed while an odd answer is looked at: nothing more is fetched") func closed() async throws {
    let gate = Latch()
    // The first piece is still being checked when the answer for the second one comes.
    let files = FaultyFiles { kind, _ in
      if kind == .read { gate.wait() }
      return nil
    }
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Content.bytes(Array(Self.largeData)))
      $0.handler = { _, nth in nth == 2 ? .with { $0.range = .shifted(start: 1, end: 0, total: 0) } : nil }
    }
    defer { origin.stop() }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false), files: files)
    let events = harness.engine.events
    let id = try #require(
      try await harness.engine.add([harness.specification(origin.url(Trial.path), chunks: Self.largeChunks)])[0].job)
    for await event in events { if case .note(_, let text) = event, text.contains("206") { break } }
    let closing = Task { await harness.engine.close() }
    try await until {
      do { _ = try await harness.engine.add([harness.specification("not a URL", name: "probe", .prefetch)]) } catch {
        return error is EngineClosed
      }
      return false
    }
    gate.open()
    await closing.value
    #expect(origin.requests.count == 2)
    #expect(try harness.journal.job(id)?.state == .open)
  }

  @Test("F-27 a slow connection doesn't hold the file up while others could go on") func slowest() async throws {
    let outcome = try await Self.fetch(Self.huge, Self.hugeChunks, bytesPerSecond: 8 << 20) { _, nth in
      nth == 2
        ? .with {
          $0.timing.slice = .init(size: 4096, pause: .milliseconds(100))
        } : nil
    }
    #expect(
      outcome.isWhole && outcome.notes.contains { $0.contains("is slow") },
      "\(outcome.end) \(outcome.notes) \(outcome.ranges)")
  }

  @Test("F-28 an HTTP/2 body without a length whose stream is reset without an error isn't whole")
  func resetWithoutError() async throws {
    let peer = try HTTP2Peer { connection, _ in
      let stream = try connection.request()
      try connection.sendHead(stream, [(":status", "200")])
      try connection.sendBody(stream, upTo: 1000, ends: false)
      try connection.reset(stream, HTTP2Connection.noError)
      try connection.drain()
    }
    let harness = try Harness { $0.transport.authorityFile = Authority.shared.path }
    let end = try await harness.fetch(harness.specification(peer.url))
    await harness.engine.close()
    peer.end()
    #expect(end.isFinished && harness.contents() == Trial.bytes, "\(end)")
    #expect(peer.records.map(\.isHTTP2) == [true, false], "the older protocol says where it ends")
  }

  // MARK: What a killed process leaves

  @Test("what was written in this boot is found, whatever the journal knows of it") func killed() throws {
    let folder = try Harness.folderWithStaging()
    defer { Files.removeTree(folder) }
    let path = Harness.staging(folder)
    let list = Self.largeChunks
    let file = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
    defer { close(file) }
    func put(_ range: Range<Int>) {
      Self.largeData.withUnsafeBytes { bytes in
        _ = pwrite(file, bytes.baseAddress! + range.lowerBound, range.count, off_t(range.lowerBound))
      }
    }
    let chunk = 1 << 20
    put(0..<2 * chunk)
    put(3 * chunk..<4 * chunk + 700_000)
    put(9 * chunk..<10 * chunk)
    _ = pwrite(file, "x", 1, off_t(9 * chunk + 5))
    let identity = try Files.identity(of: path)
    let partial = Partial(
      stagingName: Destination.stagingName(app: "app", identifier: "file", generation: 1),
      entity: Entity(finalURL: ""), verifiedChunks: [1, 0, 0], bootIdentifier: "boot", device: identity.device,
      inode: identity.inode)
    let staging = StagingFile(
      destination: try Destination(folder, app: "app", files: SystemFiles()), name: partial.stagingName)
    let kept = try #require(try staging.reopen(partial, boot: "boot", chunks: list))
    #expect(kept.found.verified == [0b1010, 0, 0])
    let part = 700_000 / 4096 * 4096
    #expect(kept.found.prefixes.keys.sorted() == [4] && (part - 4096...part).contains(Int(kept.found.prefixes[4] ?? 0)))
    var map = ChunkMap(list, verified: partial.verifiedChunks, found: kept.found)
    #expect(map.journalledBytes == Int64(chunk) && map.verifiedBytes == 3 * Int64(chunk))
    let first = map.claim(atMost: .max)
    #expect(first?.chunks == 2..<3 && first?.from == 2 << 20)
    let second = map.claim(atMost: .max)
    #expect(second?.chunks == 4..<20 && second?.from == 4 << 20 + (kept.found.prefixes[4] ?? 0))
    let later = try #require(try staging.reopen(partial, boot: "another boot", chunks: list))
    #expect(later.found == kept.found, "whatever the disk has kept, the digests say whether it is right")
  }
}
