import AssetModel
import Foundation
import LinuxSystem
import Synchronization
import TestSupport
import Testing

@testable import DevelopmentOrigin
@testable import Downloads

/// Group B of the fault corpus: what HTTP/2 adds to the ways in which a connection can fail.
@Suite(.timeLimit(.minutes(2))) struct HTTP2FaultTests {
  private struct Outcome {
    var end: Harness.End
    var record: JobRecord
    var records: [HTTP2Peer.Record]
    var notes: [String]
    var isWhole: Bool

    var protocols: [Bool] { records.map(\.isHTTP2) }
  }

  private static func run(clock: TestClock = TestClock(), script: @escaping HTTP2Peer.Script) async throws -> Outcome {
    let peer = try HTTP2Peer(script: script)
    let harness = try Harness(clock: clock) { $0.transport.authorityFile = Authority.shared.path }
    let events = harness.engine.events
    let end = try await harness.fetch(harness.specification(peer.url, digest: Trial.digest))
    await harness.engine.close()
    peer.end()
    var notes: [String] = []
    for await event in events { if case .note(_, let text) = event { notes.append(text) } }
    let record = try #require(try harness.journal.job(app: "app", identifier: "file"))
    let isWhole = harness.contents() == Data(Trial.content.bytes(in: 0..<Trial.size))
    #expect(harness.staged.isEmpty)
    return Outcome(end: end, record: record, records: peer.records, notes: notes, isWhole: isWhole)
  }

  @Test("F-28 HTTP/2 as it should be") func ordinary() async throws {
    let outcome = try await Self.run { connection, _ in
      let stream = try connection.request()
      try connection.sendHead(stream)
      try connection.sendBody(stream, ends: true)
      try connection.drain()
    }
    #expect(outcome.end.isFinished && outcome.isWhole && outcome.protocols == [true], "\(outcome.end)")
  }

  enum Break: String, CaseIterable { case reset, goAway, goAwayCleanly, close }

  @Test("F-28 a stream or a connection that breaks in mid-body", arguments: Break.allCases)
  func breaks(kind: Break) async throws {
    let outcome = try await Self.run { connection, nth in
      let stream = try connection.request()
      guard nth == 1 else {
        try connection.sendHead(stream)
        try connection.sendBody(stream, ends: true)
        return try connection.drain()
      }
      try connection.sendHead(stream)
      try connection.sendBody(stream, upTo: 2 << 20, ends: false)
      switch kind {
      case .reset:
        try connection.reset(stream, HTTP2Connection.internalError)
        // The connection is good for another stream.
        let next = try connection.request()
        try connection.sendHead(next)
        try connection.sendBody(next, ends: true)
        try connection.drain()
      case .goAway: try connection.goAway(last: stream, HTTP2Connection.internalError)
      case .goAwayCleanly: try connection.goAway(last: stream, HTTP2Connection.noError)
      case .close: break
      }
    }
    #expect(outcome.end.isFinished && outcome.isWhole, "\(outcome.end)")
    #expect(outcome.record.history.fruitlessAttempts <= 1 && outcome.records.count <= 2)
  }

  @Test("F-28 resets without end are tried a bounded number of times") func bounded() async throws {
    let outcome = try await Self.run { connection, _ in
      while true { try connection.reset(try connection.request(), HTTP2Connection.internalError) }
    }
    #expect(outcome.end.reason == .noProgress && outcome.record.history.fruitlessAttempts == 6, "\(outcome.end)")
  }

  @Test("F-28 connections that go away under a request cost neither an attempt nor a wait") func tooLate() async throws
  {
    let clock = TestClock()
    let outcome = try await Self.run(clock: clock) { connection, nth in
      let stream = try connection.request()
      guard nth > 3 else { return try connection.goAway(last: 0, HTTP2Connection.noError) }
      try connection.sendHead(stream)
      try connection.sendBody(stream, ends: true)
      try connection.drain()
    }
    #expect(outcome.end.isFinished && outcome.isWhole && outcome.protocols == Array(repeating: true, count: 4))
    #expect(outcome.record.history.fruitlessAttempts == 0 && clock.jumps.withLock { $0.isEmpty }, "\(outcome.end)")
  }

  @Test("F-28 connections that always go away under a request: after a few of them one attempt failed")
  func alwaysTooLate()
    async throws
  {
    let outcome = try await Self.run { connection, _ in
      _ = try connection.request()
      try connection.goAway(last: 0, HTTP2Connection.noError)
    }
    #expect(outcome.end.isFinished && outcome.isWhole, "\(outcome.end)")
    #expect(outcome.protocols == [true, true, true, true, false], "\(outcome.protocols)")
    #expect(outcome.record.history.fruitlessAttempts == 1)
  }

  @Test("F-28 ENHANCE_YOUR_CALM: fewer requests at once, and after the second time HTTP/1.1") func calm() async throws {
    let outcome = try await Self.run { connection, _ in
      while true { try connection.reset(try connection.request(), HTTP2Connection.enhanceYourCalm) }
    }
    #expect(outcome.end.isFinished && outcome.isWhole, "\(outcome.end)")
    #expect(outcome.protocols.last == false && outcome.record.history.fruitlessAttempts == 2, "\(outcome.protocols)")
    #expect(outcome.notes.count { $0.contains("fewer requests") } == 2)
  }

  @Test("F-28 an origin that sends ENHANCE_YOUR_CALM gets half as many requests at once, for a while") func halved() {
    var scheduler = Scheduler()
    func fill(_ origin: UInt32) -> Int {
      for id in 1...20 {
        let entry = Scheduler.Entry(
          id: JobID(Int64(id)), app: 1, origin: origin, transferClass: .foreground, priority: 0, remaining: 1 << 20,
          since: .zero)
        scheduler.enqueue(entry, now: .zero)
      }
      var count = 0
      while case .start = scheduler.next(now: .zero, isClassBlocked: { _ in false }, isOriginBlocked: { _, _ in false })
      {
        count += 1
      }
      for id in 1...20 { scheduler.remove(JobID(Int64(id))) }
      return count
    }
    #expect(fill(1) == 6)
    scheduler.halve(1)
    #expect(fill(1) == 3 && fill(2) == 6)
    scheduler.halve(1)
    #expect(fill(1) == 1)
    for _ in 0..<70 { scheduler.halve(1) }
    #expect(fill(1) == 1, "never none")
    scheduler.restore(1)
    #expect(fill(1) == 6)
  }

  @Test("F-28 the reduction lasts an hour") func calmEnds() {
    var origins = OriginRegistry()
    let number = origins.number(of: "https://a:443")
    origins[number].reduceConcurrency(now: .zero)
    #expect(origins.openings == [.seconds(3600)])
    let early = origins.expire(.seconds(3599))
    let none = origins.takeRestored()
    #expect(!early && none.isEmpty)
    let late = origins.expire(.seconds(3600))
    let restored = [origins.takeRestored(), origins.takeRestored()]
    #expect(late && restored == [[number], []])
  }

  // MARK: Floods

  enum Flood: String, CaseIterable { case continuations, bomb, hugeFields, pings, settings }

  @Test(
    "F-29 floods and bombs that the limits end: HTTP/1.1 brings the file",
    arguments: [Flood.continuations, .bomb, .hugeFields])
  func flood(kind: Flood) async throws {
    let outcome = try await Self.run { connection, _ in try Self.send(kind, connection) }
    #expect(outcome.end.isFinished && outcome.isWhole, "\(outcome.end)")
    #expect(outcome.protocols == [true, false], "\(outcome.protocols)")
    #expect(outcome.record.receivedBytes < Int64(Trial.size) + 1 << 20)
  }

  @Test(
    "F-29 floods that are answered, and silence: the deadlines end them, and HTTP/1.1 brings the file",
    arguments: [Flood.pings, .settings, nil], [true, false])
  func neverOpens(kind: Flood?, hasHead: Bool) async throws {
    let clock = TestClock()
    let isAsked = Mutex(false)
    let peer = try HTTP2Peer { connection, _ in
      let stream = try connection.request()
      isAsked.withLock { $0 = true }
      if hasHead { try connection.sendHead(stream) }
      if let kind { try Self.send(kind, connection) } else { try connection.drain() }
    }
    defer { peer.end() }
    let harness = try Harness(clock: clock) { $0.transport.authorityFile = Authority.shared.path }
    let events = harness.engine.events
    guard
      case .added(let id, _) = try await harness.engine.add([harness.specification(peer.url, digest: Trial.digest)])[0]
    else { throw Unexpected("not added") }
    // Nothing tells when the head has come: time goes on until the connection is given up.
    while try harness.journal.job(id)?.lastError == nil {
      if isAsked.withLock({ $0 }) { clock.advance(by: .seconds(1)) }
      _ = await harness.engine.progress(of: id)
    }
    var errors: [String] = []
    wait: for await event in events {
      switch event {
      case .waiting(_, let explanation): errors.append(explanation.data["lastError"] ?? "")
      case .failed(_, let failure):
        errors.append("\(failure)")
        break wait
      case .finished: break wait
      default: break
      }
    }
    #expect(peer.records.map(\.isHTTP2) == [true, false], "\(errors)")
    #expect(harness.contents() == Data(Trial.content.bytes(in: 0..<Trial.size)))
    await harness.engine.close()
  }

  @Test("F-29 what floods a process takes none of its memory", arguments: Flood.allCases)
  func memory(kind: Flood) throws {
    let ordinary = try Self.peak { connection, _ in
      let stream = try connection.request()
      try connection.sendHead(stream)
      try connection.sendBody(stream, ends: true)
      try connection.drain()
    }
    let flooded = try Self.peak { connection, _ in try Self.send(kind, connection, frames: 2_000_000) }
    #expect(flooded < ordinary + 8 << 20, "\(flooded >> 10) KiB instead of \(ordinary >> 10)")
    #expect(ordinary > 8 << 20)
  }

  /// Bytes that a whole process needs to fetch the file from such a peer.
  private static func peak(script: @escaping HTTP2Peer.Script) throws -> Int {
    let peer = try HTTP2Peer(script: script)
    defer { peer.end() }
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-flooded-")
    defer { Files.removeTree(folder) }
    let process = TestProcess()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
      .deletingLastPathComponent().appending(path: "outrider")
    process.arguments = [
      "fetch", "--foreground", "--to", "\(folder)/files", "--state", "\(folder)/state", "--cacert",
      Authority.shared.path, peer.url,
    ]
    (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
    try FileManager.default.createDirectory(atPath: "\(folder)/files", withIntermediateDirectories: true)
    try process.run()
    var peak = 0
    while process.isRunning {
      let status = (try? Files.text(of: "/proc/\(process.processIdentifier)/status")) ?? ""
      // Until it is the other program, the memory is ours.
      let isIt = status.hasPrefix("Name:\toutrider\n")
      let line = status.split(separator: "\n").first { isIt && $0.hasPrefix("VmHWM:") } ?? ""
      peak = max(peak, (Int(line.filter(\.isNumber)) ?? 0) << 10)
      usleep(1000)
    }
    #expect(process.terminationStatus == 0)
    #expect(
      FileManager.default.contents(atPath: "\(folder)/files" + Trial.path)
        == Data(Trial.content.bytes(in: 0..<Trial.size)))
    return peak
  }

  /// Until the client goes away, or it has had so many.
  private static func send(_ kind: Flood, _ connection: HTTP2Connection, frames: Int = .max) throws {
    switch kind {
    case .pings:
      for _ in 0..<frames { try connection.send(HTTP2Connection.Kind.ping, 0, 0, [UInt8](repeating: 7, count: 8)) }
    case .settings:
      for _ in 0..<frames { try connection.send(HTTP2Connection.Kind.settings, 0, 0, [0, 3, 0, 0, 0, 100]) }
    case .continuations:
      let stream = try connection.request()
      try connection.sendHead(stream, endsHeaders: false)
      for _ in 0..<frames { try connection.send(HTTP2Connection.Kind.continuation, 0, stream, []) }
    case .bomb:
      let stream = try connection.request()
      // One long field goes into the table; each byte after that brings it again (RFC 7541, 6.1 and 6.2.1).
      let name = "x-bomb"
      let value = [UInt8](repeating: 0x61, count: 3500)
      var block = HTTP2Connection.block(connection.ordinaryFields)
      block += [0x40, UInt8(name.utf8.count)] + Array(name.utf8) + [0x7f, 0xad, 0x1a] + value
      block += [UInt8](repeating: 0xbe, count: 10_000)
      try connection.send(HTTP2Connection.Kind.headers, 4, stream, block)
      try connection.drain()
    case .hugeFields:
      let stream = try connection.request()
      try connection.sendHead(stream, endsHeaders: false)
      for index in 0..<2000 {
        let block = HTTP2Connection.block([("x-\(index)", String(repeating: "a", count: 8000))])
        try connection.send(HTTP2Connection.Kind.continuation, 0, stream, block)
      }
      try connection.drain()
    }
  }
}
