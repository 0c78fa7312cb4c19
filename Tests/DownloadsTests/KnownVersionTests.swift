import AssetModel
import DevelopmentOrigin
import Foundation
import LinuxSystem
import Synchronization
import Testing

@testable import Downloads

/// A file that is fetched again: only if its server has another version, and in the place of the old one.
@Suite(.timeLimit(.minutes(2))) struct KnownVersionTests {
  private static let first = Content.pseudoRandom(seed: 1, count: 100_000)
  private static let second = Content.pseudoRandom(seed: 2, count: 200_000)

  private struct Outcome {
    var end: Harness.End
    var record: JobRecord
    var before: JobRecord
    var data: Data?
    var identity: FileIdentity
    var staged: [String]
    var requests: [RecordedRequest]

    var size: Int64? { if case .finished(_, let size) = end { size } else { nil } }
  }

  /// Fetches once, then a second time beside what the first time left.
  private static func twice(
    second reply: @escaping @Sendable (RecordedRequest) -> Reply?, mayReplace: Bool = true,
    between: (String) throws -> Void = { _ in }, resource: (inout Resource) -> Void = { _ in }
  ) async throws -> Outcome {
    var versions = Resource(versions: [first, Self.second])
    resource(&versions)
    let isSecond = Mutex(false)
    let origin = try Origin {
      $0.resources["/file"] = versions
      $0.handler = { request, _ in
        isSecond.withLock { $0 } ? reply(request) : .with { $0.entity = .init(version: 1) }
      }
    }
    defer { origin.stop() }
    let journal = MemoryJournal()
    let once = try Harness(journal: journal)
    let specification = once.specification(origin.url("/file"))
    guard case .finished = try await once.fetch(specification) else { throw Unexpected("not fetched") }
    let before = try #require(try journal.job(app: "app", identifier: "file"))
    await once.engine.close()
    try between("\(once.folder)/file")
    isSecond.withLock { $0 = true }
    let known = try #require(KnownVersion(before))
    let again = try Harness(folder: once.folder, journal: journal) {
      $0.mayReplace = { _ in mayReplace }
      $0.knownVersion = { $0.fileName == "file" ? known : nil }
    }
    let end = try await again.fetch(specification)
    let record = try #require(try journal.job(app: "app", identifier: "file"))
    await again.engine.close()
    let identity = try Files.identity(of: "\(once.folder)/file")
    return Outcome(
      end: end, record: record, before: before, data: again.contents(), identity: identity,
      staged: again.staged, requests: origin.requests)
  }

  @Test("a server that has no other version leaves the file as it is") func unchanged() async throws {
    let inode = Mutex<UInt64>(0)
    let result = try await Self.twice(
      second: { _ in .with { $0.entity = .init(version: 1) } },
      between: { path in try inode.withLock { $0 = try Files.identity(of: path).inode } })
    #expect(result.size == 100_000 && result.staged.isEmpty)
    #expect(result.requests.count == 2 && result.requests[1].header("If-None-Match") != nil)
    #expect(result.record.id != result.before.id && result.record.state == .finished)
    #expect(result.record.publishedInode == inode.withLock { $0 } && result.record.finalSize == 100_000)
    #expect(result.record.partial?.entity == result.before.partial?.entity, "the next one asks with the same tag")
  }

  @Test("without a tag the time of the last change is asked with") func date() async throws {
    let result = try await Self.twice(
      second: { _ in .status(304) },
      resource: {
        $0.lastModified = 1_000_000_000
        $0.etag = ETagKind.none
      })
    #expect(
      result.requests[1].header("If-Modified-Since") == "Sun, 09 Sep 2001 01:46:41 GMT",
      "of version 1, a second after 0")
    guard case .finished = result.end else { throw Unexpected("\(result.end)") }
  }

  @Test("another version takes the place of the old one, whole", arguments: [true, false])
  func changed(mayReplace: Bool) async throws {
    let result = try await Self.twice(second: { _ in .with { $0.entity = .init(version: 2) } }, mayReplace: mayReplace)
    if mayReplace {
      #expect(
        result.staged.isEmpty && result.size == 200_000 && result.data == Data(Self.second.bytes(in: 0..<200_000)))
    } else {
      guard case .failed(let failure) = result.end else { throw Unexpected("\(result.end)") }
      #expect(failure.reason == .refused && result.data == Data(Self.first.bytes(in: 0..<100_000)))
      #expect(result.staged.count == 1, "what came is kept: no byte is fetched twice")
    }
  }

  @Test(
    "what takes a file's place has its permissions, but never runs as its owner",
    arguments: [0o600, 0o640, 0o400, 0o755, 0o4755, 0o2711])
  func permissions(mode: UInt32) async throws {
    let result = try await Self.twice(
      second: { _ in .with { $0.entity = .init(version: 2) } }, between: { path in #expect(chmod(path, mode) == 0) })
    #expect(result.size == 200_000 && result.identity.mode & 0o7777 == mode & 0o777)
  }

  @Test("what takes a file's place has its owner and group", .enabled(if: geteuid() == 0, "only root gives files away"))
  func owner() async throws {
    let result = try await Self.twice(
      second: { _ in .with { $0.entity = .init(version: 2) } },
      between: { path in
        #expect(chown(path, 1234, 2345) == 0)
        #expect(chmod(path, 0o640) == 0)
      })
    #expect(result.size == 200_000 && result.identity.owner == 1234 && result.identity.group == 2345)
    #expect(result.identity.mode & 0o7777 == 0o640)
  }

  @Test("a directory of that name is never replaced") func directory() async throws {
    let result = try await Self.twice(
      second: { _ in .with { $0.entity = .init(version: 2) } },
      between: { path in
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
      })
    guard case .failed = result.end else { throw Unexpected("\(result.end)") }
    #expect(result.identity.isDirectory && result.staged.count == 1)
  }

  @Test("no client that didn't ask for it is told 304") func unasked() async throws {
    let trial = try await Trial.run(options: { $0.attemptLimit = 1 }, reply: { _, _ in .status(304) })
    #expect(trial.failure != nil && trial.requests.allSatisfy { $0.header("If-None-Match") == nil })
  }

  @Test("so many attempts and no more", arguments: [1, 3]) func attempts(limit: Int) async throws {
    let trial = try await Trial.run(.prefetch, options: { $0.attemptLimit = limit }, reply: { _, _ in .status(500) })
    #expect(trial.failure == .noProgress && trial.requests.count == limit, "\(trial.end)")
  }

  @Test func aRecordWithoutAValidatorIsNoVersion() throws {
    let moment = StoredMoment(bootIdentifier: "", boot: 0, wall: 0)
    let specification = DownloadSpecification(
      app: "a", identifier: "a", url: "https://a/b", transferClass: .background, directory: "/", fileName: "b")
    var record = JobRecord(id: JobID(1), specification: specification, enqueued: moment)
    for (entity, condition) in [
      (Entity(finalURL: ""), nil),
      (Entity(strongTag: "\"x\"", lastModified: "d", finalURL: ""), "If-None-Match: \"x\""),
      (Entity(weakTag: "\"x\"", lastModified: "d", finalURL: ""), "If-None-Match: W/\"x\""),
      (Entity(lastModified: "d", finalURL: ""), "If-Modified-Since: d"),
      (Entity(strongTag: "\"x\"", coding: "gzip", finalURL: ""), nil),
    ] as [(Entity, String?)] {
      record.state = .finished
      (record.publishedInode, record.finalSize) = (1, 2)
      record.partial = Partial(stagingName: "", entity: entity, bootIdentifier: "", device: 0, inode: 1)
      #expect(KnownVersion(record)?.condition.map { "\($0.name): \($0.value)" } == condition)
      record.state = .cancelled
      #expect(KnownVersion(record) == nil)
    }
  }
}
