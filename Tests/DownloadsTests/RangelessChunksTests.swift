import AssetModel
import DevelopmentOrigin
import Foundation
import Testing

@testable import Downloads

/// A file that is checked chunk by chunk, from a server that always sends all of it.
@Suite(.timeLimit(.minutes(2))) struct RangelessChunksTests {
  /// Everything, with one byte of some chunks changed.
  private static func everything(wrong chunks: [Int], cutAfter count: Int? = nil) -> Reply {
    var data = Trial.bytes
    for chunk in chunks { data[chunk * Trial.chunkSize + 7] ^= 1 }
    return .with {
      $0.range = .ignored
      // Of what is sent, not of the file.
      $0.removedHeaders = ["Repr-Digest"]
      $0.body = .bytes(Array(data))
      if let count { $0.ending = .init(.silence, after: .byte(count)) }
    }
  }

  @Test("F-71 what the journal calls verified stays so when the service ends while everything is sent once more")
  func interrupted() async throws {
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in
        switch nth {
        case 1: Self.everything(wrong: [40])
        case 2: Self.everything(wrong: [0, 3, 9], cutAfter: 2 << 20)
        default:
          .with {
            $0.body = .bytes(Array(Trial.bytes))
            $0.removedHeaders = ["Repr-Digest"]
          }
        }
      }
    }
    defer { origin.stop() }
    let first = try Harness(clock: TestClock(jumpsWhenIdle: false))
    let id = try #require(
      try await first.engine.add([first.specification(origin.url(Trial.path), chunks: Trial.chunks)])[0].job)
    try await until { origin.requests.count == 2 }
    // Nothing of it counts as progress: what is there is there already.
    try await Task.sleep(for: .milliseconds(300))
    await first.engine.close()
    let kept = try #require(try first.journal.job(id)?.partial)
    #expect(ChunkMap(Trial.chunks, verified: kept.verifiedChunks).missingBytes == Int64(Trial.chunkSize))

    let second = try Harness(folder: first.folder, journal: MemoryJournal(after: first.journal)) {
      $0.takesUpOpenJobs = false
    }
    let events = second.engine.events
    second.engine.resume(id)
    #expect(try await second.end(of: id, in: events).isFinished)
    #expect(second.contents() == Trial.bytes)
    await second.engine.close()
    #expect(origin.requests.last?.header("Range") == "bytes=\(40 * Trial.chunkSize)-\(41 * Trial.chunkSize - 1)")
  }

  @Test("a file that comes in chunks has no more bytes than have come") func countsOnce() async throws {
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, _ in .cut(after: .byte(2 << 20), .silence) }
    }
    defer { origin.stop() }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false))
    let id = try #require(
      try await harness.engine.add([harness.specification(origin.url(Trial.path), .background, chunks: Trial.chunks)])[
        0
      ]
      .job)
    try await harness.engine.received(id, 2 << 20)
    // All of it is checked in a moment.
    try await Task.sleep(for: .milliseconds(300))
    #expect(await harness.engine.progress(of: id)?.received == 2 << 20)
    await harness.engine.close()
  }
}
