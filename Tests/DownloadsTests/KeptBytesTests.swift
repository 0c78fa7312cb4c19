import AssetModel
import AssetStore
import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import DevelopmentOrigin
@testable import Downloads

/// Bytes that are there already and are good for the next run: it may expect more of them than the last one, and what
/// stood in the way of the last one may be gone.
@Suite(.timeLimit(.minutes(2))) struct KeptBytesTests {
  typealias Bench = LargeNumberFaultTests.Bench

  enum Expectation: String, CaseIterable, Sendable {
    case nothing, digest, chunks, wrongDigest, wrongChunks

    func applied(to specification: DownloadSpecification) -> DownloadSpecification {
      var specification = specification
      let other = Data(Trial.content.altered(to: 2, lengthChange: 0).bytes(in: 0..<Trial.size))
      switch self {
      case .nothing: break
      case .digest: specification.digest = Trial.digest
      case .chunks: specification.chunks = Trial.chunks
      case .wrongDigest: specification.digest = ContentDigest(.sha256, bytes: [UInt8](repeating: 7, count: 32))
      case .wrongChunks: specification.chunks = Trial.chunks(of: other)
      }
      return specification
    }
  }

  // MARK: Expectations that come and go

  @Test(
    "the same request with a digest or chunk list more, or less, goes on with what is there",
    arguments: [
      (.nothing, .digest), (.nothing, .chunks), (.digest, .nothing), (.chunks, .nothing), (.digest, .chunks),
      (.chunks, .digest),
    ] as [(Expectation, Expectation)], ["boot", "next boot"])
  func goesOn(change: (first: Expectation, then: Expectation), boot: String) async throws {
    let (end, origin) = try await run(change.first, change.then, boot: boot)
    #expect(end.isFinished, "\(end)")
    let ranges = origin.requests.map { $0.header("Range") ?? "" }
    let later = ranges.dropFirst()
    #expect(later.count == 1 && later.allSatisfy { $0.hasPrefix("bytes=2097152-") }, "\(ranges)")
  }

  @Test("kept bytes that prove wrong are given up", arguments: [Expectation.wrongDigest, .wrongChunks])
  func areWrong(then: Expectation) async throws {
    let (end, origin) = try await run(.nothing, then)
    #expect(end.reason == .digestMismatch, "\(end)")
    let ranges = origin.requests.map { $0.header("Range") }
    if then == .wrongDigest { #expect(ranges == [nil, "bytes=2097152-", nil]) }
  }

  /// One run that is stopped after 2 MiB, and another.
  private func run(
    _ first: Expectation, _ then: Expectation, boot: String = "boot"
  ) async throws -> (Harness.End, Origin) {
    let state = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-state-")
    defer { Files.removeTree(state) }
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in nth == 1 ? .cut(after: .byte(2 << 20), .silence) : nil }
    }
    defer { origin.stop() }
    var harnesses: [Harness] = []
    var ends: [Harness.End] = []
    for (round, expectation) in [first, then].enumerated() {
      let store = try AssetStore(opening: state)
      let clock = round == 0 ? TestClock(boot: "boot", jumpsWhenIdle: false) : TestClock(boot: boot)
      let harness = try Harness(folder: harnesses.first?.folder, clock: clock, store: store) {
        $0.takesUpOpenJobs = false
      }
      harnesses.append(harness)
      let events = harness.engine.events
      let id = JobID(1)
      let wanted = expectation.applied(to: harness.specification(origin.url(Trial.path), .background))
      let result = try await harness.engine.add([wanted])[0]
      #expect(result == (round == 0 ? .added(id, generation: 1) : .alreadyScheduled(id)))
      harness.engine.resume(id)
      if round == 0 {
        try await harness.engine.received(id, 2 << 20)
      } else {
        #expect(try store.job(id)?.specification == wanted)
        ends.append(try await harness.end(of: id, in: events))
        if ends[0].isFinished { #expect(harness.contents() == Trial.bytes) }
      }
      await harness.engine.close()
      try store.close()
    }
    return (ends[0], origin)
  }

  @Test("what runs isn't told to expect something else") func runs() async throws {
    let bench = try Bench(
      clock: TestClock(jumpsWhenIdle: false), reply: { _, _ in .cut(after: .byte(1 << 20), .silence) })
    let engine = bench.harness.engine
    let specification = bench.specification()
    let id = try #require(try await engine.add([specification])[0].job)
    try await engine.received(id, 1 << 20)
    let other = Expectation.digest.applied(to: specification)
    let results = try await engine.add([other, bench.specification("other"), specification])
    #expect(results[0] == .conflict(id) && results[1].job != nil && results[2] == .alreadyScheduled(id))
    try await bench.close()
    #expect(try bench.store.job(id)?.specification.digest == nil)
  }

  @Test func chunksWithoutTheirList() throws {
    let list = Trial.chunks
    var record = JobRecord(
      id: JobID(1), specification: Expectation.chunks.applied(to: ResumePolicyTests.job().specification),
      partial: Partial(
        stagingName: "x", entity: Entity(finalURL: ""), verifiedChunks: [0b1011], bootIdentifier: "boot", device: 1,
        inode: 1), enqueued: StoredMoment(bootIdentifier: "", boot: 0, wall: 0))
    record.history.digestMismatches = 1
    record.expect(ResumePolicyTests.job().specification)
    #expect(record.partial?.durableOffset == 2 * list.chunkSize && record.partial?.verifiedChunks == [])
    #expect(record.partial?.bootIdentifier == "" && record.history.digestMismatches == 0)
    var same = record
    same.expect(record.specification)
    #expect(same == record)
  }

  @Test func onlyWhatSaysNothingMayDiffer() {
    let plain = ResumePolicyTests.job().specification
    for one in Expectation.allCases {
      for other in Expectation.allCases {
        let isSame = one.applied(to: plain).asksForTheSame(as: other.applied(to: plain))
        let differs =
          one != other
          && (Set([one, other]) == [.digest, .wrongDigest] || Set([one, other]) == [.chunks, .wrongChunks])
        #expect(isSame == !differs, "\(one) \(other)")
      }
    }
  }

  // MARK: A name that is taken

  @Test(
    "a name that is taken costs no byte: after it was freed, nothing is fetched again",
    arguments: [
      (.nothing, .nothing), (.chunks, .chunks), (.nothing, .digest), (.chunks, .nothing), (.nothing, .chunks),
    ] as [(Expectation, Expectation)])
  func nameIsTaken(change: (first: Expectation, then: Expectation)) async throws {
    let bench = try Bench()
    let path = "\(bench.harness.folder)/file"
    try "precious".write(toFile: path, atomically: true, encoding: .utf8)
    var events = bench.harness.engine.events
    let id = try #require(
      try await bench.harness.engine.add([change.first.applied(to: bench.specification())])[0].job)
    let end = try await bench.harness.end(of: id, in: events)
    #expect(end.failure?.isForWantOfPlace == true && bench.harness.staged.count == 1, "\(end)")
    let words = "isn't replaced; what was received is kept: move the other file away, and ask for this one again"
    #expect(end.failure?.detail.hasSuffix(words) == true, "\(end)")
    #expect(await bench.harness.engine.explain(id)?.remedy.contains("moved away") == true)
    let requests = bench.origin.requests.count
    try FileManager.default.removeItem(atPath: path)
    events = bench.harness.engine.events
    let next = try #require(
      try await bench.harness.engine.add([change.then.applied(to: bench.specification())])[0].job)
    #expect(try await bench.harness.end(of: next, in: events).isFinished)
    #expect(bench.origin.requests.count == requests && bench.harness.contents() == Trial.bytes)
    #expect(try bench.store.job(id)?.leftover == nil)
    try await bench.close()
    #expect(bench.harness.staged.isEmpty)
  }

  @Test(
    "a name that the file may not get costs no byte either, and the next request asks for none",
    arguments: [EPERM, EISDIR])
  func nameIsRefused(code: Int32) async throws {
    let bench = try Bench(files: FaultyFiles(.rename, 1, code))
    for round in 1...2 {
      let events = bench.harness.engine.events
      let id = try #require(try await bench.harness.engine.add([bench.specification()])[0].job)
      let end = try await bench.harness.end(of: id, in: events)
      if round == 1 {
        #expect(end.failure?.errno == code && end.failure?.keptBytes == Int64(Trial.size), "\(end)")
        #expect(end.failure?.detail.contains("can't get its place") == true, "\(end)")
      } else {
        #expect(end.isFinished && bench.harness.contents() == Trial.bytes, "\(end)")
      }
      #expect(bench.origin.requests.count == 1, "round \(round)")
    }
    try await bench.close()
    #expect(bench.harness.staged.isEmpty)
  }

  @Test("what was left is removed when it is cancelled, and remembered until then") func leftoverIsReclaimed()
    async throws
  {
    let bench = try Bench()
    try "precious".write(toFile: "\(bench.harness.folder)/file", atomically: true, encoding: .utf8)
    let events = bench.harness.engine.events
    let id = try #require(try await bench.harness.engine.add([bench.specification()])[0].job)
    #expect(try await bench.harness.end(of: id, in: events).reason == .refused)
    #expect(try bench.store.job(id)?.leftover != nil)
    try bench.store.retention.forgetSettled(app: "app", keeping: 0)
    #expect(try bench.store.job(id) != nil)
    bench.harness.engine.cancel(id)
    try await until { bench.harness.staged.isEmpty }
    try await bench.close()
  }

  @Test("what was left is of no use to another request, and goes with it") func anotherRequest() async throws {
    let bench = try Bench()
    let path = "\(bench.harness.folder)/file"
    try "precious".write(toFile: path, atomically: true, encoding: .utf8)
    var events = bench.harness.engine.events
    let id = try #require(try await bench.harness.engine.add([bench.specification()])[0].job)
    #expect(try await bench.harness.end(of: id, in: events).reason == .refused)
    try FileManager.default.removeItem(atPath: path)
    var other = bench.specification()
    other.url += "?2"
    events = bench.harness.engine.events
    let next = try #require(try await bench.harness.engine.add([other])[0].job)
    #expect(try await bench.harness.end(of: next, in: events).isFinished && bench.origin.requests.count == 2)
    try await bench.close()
    #expect(bench.harness.staged.isEmpty)
  }
}
