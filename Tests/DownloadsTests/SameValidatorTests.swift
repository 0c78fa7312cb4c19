import AssetModel
import Foundation
import Synchronization
import Testing

@testable import DevelopmentOrigin
@testable import Downloads

/// Servers that give the same validator to other bytes. Where no digest checks the file, the end of what is there is asked
/// for again and compared.
@Suite(.timeLimit(.minutes(2))) struct SameValidatorTests {
  private static let compared = Int(ResumePolicy.comparedLength)

  /// Without a digest; the first answer is cut after `count` bytes.
  private static func cut(
    after count: Int, version: Int = 1, tag: ETagKind = .strong
  ) -> @Sendable (RecordedRequest, Int) -> Reply {
    { _, nth in
      .with {
        $0.removedHeaders = tag == .strong ? ["Repr-Digest"] : ["Repr-Digest", "ETag"]
        $0.entity = .init(version: nth == 1 ? 1 : version, tag: .same)
        if nth == 1 { $0.ending = .init(.close, after: .byte(count)) }
      }
    }
  }

  @Test(
    "F-10 other bytes with the same validator aren't mixed with what is there",
    arguments: [2 << 20, compared + 1, compared, 1000, 1], [ETagKind.strong, .none])
  func otherBytes(count: Int, tag: ETagKind) async throws {
    let second = Trial.content.altered(to: 2, lengthChange: 0)
    let trial = try await Trial.run(
      versions: [second],
      configure: { $0.resources[Trial.path]?.lastModified = 1_000_000_000 },
      reply: Self.cut(after: count, version: 2, tag: tag))
    #expect(trial.isFinished && trial.data == Data(second.bytes(in: 0..<Trial.size)), "\(trial.end)")
    // As little as would be compared from the first byte on is fetched again in any case.
    let isCompared = count > Self.compared
    #expect(
      trial.ranges == (isCompared ? [nil, "bytes=\(count - Self.compared)-", nil] : [nil, nil]), "\(trial.ranges)")
    #expect(trial.record.history.validatorRestarts == (isCompared ? 1 : 0))
  }

  @Test("F-10 what is compared is charged, and is no progress", arguments: [ETagKind.strong, .none])
  func sameBytes(tag: ETagKind) async throws {
    let trial = try await Trial.run(
      configure: { $0.resources[Trial.path]?.lastModified = 1_000_000_000 }, reply: Self.cut(after: 2 << 20, tag: tag))
    #expect(trial.isFinished && trial.record.generation == 1, "\(trial.end)")
    #expect(trial.ranges == [nil, "bytes=\((2 << 20) - Self.compared)-"])
    let surplus = trial.record.receivedBytes - Int64(Trial.size)
    #expect(surplus >= Int64(Self.compared) && surplus < Int64(Self.compared) + 4096, "\(surplus)")
  }

  @Test("F-10 one byte that differs is enough, wherever it is in what is compared", arguments: [0, 40_000, 65_535])
  func oneByte(place: Int) async throws {
    var bytes = Trial.content.bytes(in: 0..<Trial.size)
    bytes[(2 << 20) - Self.compared + place] ^= 1
    let second = Content.bytes(bytes)
    let trial = try await Trial.run(versions: [second], reply: Self.cut(after: 2 << 20, version: 2))
    #expect(trial.isFinished && trial.data == Data(bytes), "\(trial.end)")
  }

  @Test("F-10 a file that is another one at every request is given up") func neverTheSame() async throws {
    let trial = try await Trial.run(
      versions: (2...40).map { Trial.content.altered(to: $0, lengthChange: 0) }
    ) { _, nth in
      .with {
        $0.removedHeaders = ["Repr-Digest"]
        $0.entity = .init(version: nth, tag: .same)
        $0.ending = .init(.close, after: .byte(2 << 20))
      }
    }
    #expect(trial.failure == .noProgress && trial.requests.count < 40, "\(trial.end), \(trial.requests.count)")
  }

  @Test("F-10 a connection that ends within what is compared adds nothing") func cutWhileComparing() async throws {
    let trial = try await Trial.run { _, nth in
      .with {
        $0.removedHeaders = ["Repr-Digest"]
        if nth == 1 { $0.ending = .init(.close, after: .byte(2 << 20)) }
        if nth == 2 { $0.ending = .init(.close, after: .byte(30_000)) }
      }
    }
    #expect(trial.isFinished && trial.record.generation == 1, "\(trial.end)")
    let from = "bytes=\((2 << 20) - Self.compared)-"
    #expect(trial.ranges == [nil, from, from])
  }

  @Test("F-10 paused in the middle and gone on: compared, too, in the same run and the next", arguments: [false, true])
  func paused(restarts: Bool) async throws {
    let second = Trial.content.altered(to: 2, lengthChange: 0)
    let isReplaced = Flag()
    let scene = try await Scene(
      configure: { $0.resources[Trial.path] = Resource(versions: [Trial.content, second]) },
      reply: { _, nth in
        .with {
          $0.removedHeaders = ["Repr-Digest"]
          $0.entity = .init(version: isReplaced.isSet ? 2 : 1, tag: .same)
          if nth == 1 { $0.ending = .init(.silence, after: .byte(2 << 20)) }
        }
      })
    try await scene.engine.received(scene.id, 2 << 20)
    if restarts {
      await scene.engine.close()
      isReplaced.set()
      let next = try Harness(folder: scene.harness.folder, journal: MemoryJournal(after: scene.harness.journal)) {
        $0.takesUpOpenJobs = false
      }
      let events = next.engine.events
      next.engine.resume(scene.id)
      #expect(try await next.end(of: scene.id, in: events).isFinished)
      #expect(next.contents() == Data(second.bytes(in: 0..<Trial.size)))
      await next.engine.close()
    } else {
      scene.engine.pause(scene.id)
      try await scene.event { if case .paused = $0 { true } else { false } }
      isReplaced.set()
      scene.engine.resume(scene.id)
      #expect(try await scene.end().isFinished)
      #expect(scene.harness.contents() == Data(second.bytes(in: 0..<Trial.size)))
      _ = try await scene.close()
    }
    let ranges = scene.origin.requests.map { $0.header("Range") }
    #expect(ranges == [nil, "bytes=\((2 << 20) - Self.compared)-", nil])
    scene.origin.stop()
  }

  @Test("F-26 what a server says of the bytes of one answer covers what is compared", arguments: [true, false])
  func contentDigest(isRight: Bool) async throws {
    let from = (2 << 20) - Self.compared
    let body = Content.bytes(Trial.content.bytes(in: from..<Trial.size))
    let digest = Data(isRight ? body.digest() : [UInt8](repeating: 1, count: 32)).base64EncodedString()
    let trial = try await Trial.run { _, nth in
      .with {
        $0.removedHeaders = ["Repr-Digest"]
        if nth == 1 { $0.ending = .init(.close, after: .byte(2 << 20)) }
        if nth == 2 { $0.setHeaders = [.init("Content-Digest", "sha-256=:\(digest):")] }
      }
    }
    #expect(trial.isFinished && trial.record.history.digestMismatches == (isRight ? 0 : 1), "\(trial.end)")
    #expect(trial.requests.count == (isRight ? 2 : 3) && trial.record.generation == 1)
  }

  @Test(arguments: [[1], [3], [64], [1, 2, 61], [63, 1], [70]]) func comparesPieceByPiece(sizes: [Int]) throws {
    let expected = (0..<64).map { UInt8($0) }
    for wrong in [nil, 0, 31, 63] as [Int?] {
      var bytes = expected + [200, 201]
      if let wrong { bytes[wrong] ^= 1 }
      var comparison = try #require(TailComparison(expected))
      var (offset, turn, differs) = (0, 0, false)
      while !comparison.isDone, !differs {
        let piece = bytes[offset..<min(offset + sizes[turn % sizes.count], bytes.count)]
        let count = piece.withUnsafeBytes { comparison.take($0) }
        if let count { offset += count } else { differs = true }
        turn += 1
      }
      #expect(differs == (wrong != nil) && (differs || offset == expected.count))
    }
    #expect(TailComparison([]) == nil)
  }
}

private final class Flag: Sendable {
  private let value = Mutex(false)
  var isSet: Bool { value.withLock { $0 } }
  func set() { value.withLock { $0 = true } }
}
