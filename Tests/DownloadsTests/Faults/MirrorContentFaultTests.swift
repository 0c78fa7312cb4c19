import AssetModel
import Basics
import DevelopmentOrigin
import Foundation
import LinuxSystem
import Testing

@testable import Downloads

/// Group D of the fault corpus: sources that send wrong bytes.
@Suite(.timeLimit(.minutes(2))) struct MirrorContentFaultTests {
  @Test(
    "F-71 who serves the right size and wrong bytes is found out, and not asked again",
    arguments: [TransferClass.foreground, .background])
  func wrongBytes(transferClass: TransferClass) async throws {
    let outcome = try await MirrorFaultTests.fetch(
      transferClass: transferClass,
      from: [MirrorFaultTests.wrong(right: 3), MirrorFaultTests.wrong(), MirrorFaultTests.ordinary])
    #expect(outcome.end.isFinished, "\(outcome.end)")
    // Other pieces may be on their way before the first one is checked.
    #expect(outcome.record.receivedBytes <= 3 * Trial.size + (64 << 10), "\(outcome.record.receivedBytes)")
    #expect(outcome.record.history.bannedSources == 0b11)
    #expect(outcome.notes.count { $0.contains("isn't asked any more") } == 2, "\(outcome.notes)")
    #expect(outcome.attempts == 0, "no wait is needed for that")
    #expect(outcome.requests[2].first?.header("Cache-Control") == nil, "its cache is as good as ever")
  }

  @Test("F-71 one of several at once sends wrong bytes") func wrongBesideOthers() async throws {
    let data = Data(Content.pseudoRandom(seed: 6, count: 48 << 20).bytes)
    let outcome = try await MirrorFaultTests.fetch(
      data, Trial.chunks(of: data, size: 1 << 20), bytesPerSecond: 12 << 20,
      from: [MirrorFaultTests.ordinary, MirrorFaultTests.wrong(data, chunkSize: 1 << 20), MirrorFaultTests.ordinary])
    #expect(outcome.end.isFinished, "\(outcome.end)")
    #expect(!outcome.requests[1].isEmpty, "it was asked, too")
    #expect(outcome.record.history.bannedSources == 0b10)
    #expect(outcome.record.receivedBytes < 80 << 20, "what was right isn't fetched again")
  }

  @Test("F-71 a chunk that two have sent is neither's fault until one has sent it alone") func mixed() async throws {
    let outcome = try await MirrorFaultTests.fetch(
      transferClass: .background,
      from: [
        // Ends in the middle of its wrong chunk, so that the other one completes it.
        { request, nth in
          var reply = MirrorFaultTests.wrong()(request, nth)
          if nth == 1 { reply?.ending = .init(.reset, after: .byte(20_000)) }
          return reply
        }, MirrorFaultTests.ordinary,
      ])
    #expect(outcome.end.isFinished, "\(outcome.end)")
    #expect(outcome.record.history.bannedSources == 0, "what the second one had no part in")
  }

  @Test("F-71 where all are wrong, it is the file that is") func allWrong() async throws {
    let outcome = try await MirrorFaultTests.fetch(from: [
      MirrorFaultTests.wrong(right: 5), MirrorFaultTests.wrong(right: 7), MirrorFaultTests.wrong(),
    ])
    #expect(outcome.end.reason == .digestMismatch, "\(outcome.end)")
    // Into how many pieces the file is cut follows who is quick.
    let counts = outcome.requests.map(\.count)
    #expect(counts.allSatisfy { $0 <= Trial.size / Trial.chunkSize }, "\(counts)")
  }

  @Test("F-71 who was found out stays so after a restart") func restart() async throws {
    let wrong = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = MirrorFaultTests.wrong()
    }
    let right = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in nth == 1 ? .cut(after: .byte(1 << 20), .silence) : nil }
    }
    defer {
      wrong.stop()
      right.stop()
    }
    let harness = try Harness()
    var specification = harness.specification(wrong.url(Trial.path), chunks: Trial.chunks)
    specification.mirrors = [right.url(Trial.path)]
    let id = try #require(try await harness.engine.add([specification])[0].job)
    try await harness.engine.received(id, 1 << 20)
    harness.engine.pause(id)
    try await harness.engine.isHeld(id, by: .paused)
    await harness.engine.close()
    wrong.reset()
    let second = try Harness(folder: harness.folder, journal: MemoryJournal(after: harness.journal))
    let events = second.engine.events
    second.engine.resume(id)
    #expect(try await second.end(of: id, in: events).isFinished)
    await second.engine.close()
    #expect(wrong.requests.isEmpty && second.contents() == Trial.bytes)
  }
}
