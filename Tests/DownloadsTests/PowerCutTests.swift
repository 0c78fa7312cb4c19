import AssetModel
import Basics
import DevelopmentOrigin
import Foundation
import LinuxSystem
import Testing

@testable import Downloads

/// F-41 and F-43 with the power gone instead of the process: what wasn't synchronised is lost, all of it or at random.
@Suite(.timeLimit(.minutes(5))) struct PowerCutTests {
  enum Loss: Sendable, CaseIterable { case everything, some, names }

  /// Cut twice, so that there are checkpoints and something to resume.
  private static let reply: @Sendable (RecordedRequest, Int) -> Reply? = { _, nth in
    switch nth {
    case 1: .cut(after: .byte(1 << 20))
    case 2: .cut(after: .byte((1 << 20) + 70_000))
    default: nil
    }
  }

  @Test(
    "F-41 F-43 what was finished survives power loss at every write, synchronisation, rename and commit",
    arguments: Loss.allCases)
  func everywhere(loss: Loss) async throws {
    var number = 0
    var wasCut = true
    while wasCut {
      number += 1
      wasCut = try await cut(at: number, loss)
      try #require(number < 500)
    }
    #expect(number > 20, "there is enough to be interrupted")
  }

  private func cut(at number: Int, _ loss: Loss) async throws -> Bool {
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = Self.reply
    }
    defer { origin.stop() }
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-downloads-")
    let shadow = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-shadow-")
    defer { Files.removeTree(shadow) }
    let (dead, tellsDead) = AsyncStream<Bool>.makeStream()
    let files = VolatileFiles(shadow: shadow, last: number) { tellsDead.yield(true) }
    let journal = MemoryJournal { _ in try files.pass() }

    let first = try Harness(folder: folder, journal: journal, files: files)
    let events = first.engine.events
    let specification = first.specification(origin.url(Trial.path), digest: Trial.digest)
    guard case .added(let id, _) = try await first.engine.add([specification])[0] else { throw Unexpected("not added") }
    let watching = Task {
      _ = try await first.end(of: id, in: events)
      tellsDead.yield(false)
    }
    let wasCut = await dead.first { _ in true } ?? false
    watching.cancel()
    await first.engine.close()

    let record = try #require(try journal.job(id))
    let durable = record.partial?.durableOffset ?? 0
    var random = SeededGenerator(seed: UInt64(number))
    try files.loseWhatWasNotSynchronized(names: loss == .names ? files.pendingNames : 0) { _ in
      loss == .some && Bool.random(using: &random)
    }
    if record.state == .finished {
      #expect(first.contents()?.count == Trial.size, "told is durable, operation \(number)")
    }
    origin.reset()

    let second = try Harness(
      folder: folder, journal: MemoryJournal(after: journal), clock: TestClock(boot: "the boot after")
    ) { $0.takesUpOpenJobs = false }
    if record.state != .finished {
      // Not taken up before there is a listener: what is verified is published in no time.
      let later = second.engine.events
      second.engine.resume(id)
      #expect(try await second.end(of: id, in: later).isFinished, "operation \(number), \(loss)")
      if durable > 0, record.state == .open {
        #expect(
          origin.requests.first?.header("Range") == "bytes=\(durable)-", "operation \(number): durable is durable")
      }
    }
    await second.engine.close()
    #expect(second.contents() == Data(Trial.content.bytes(in: 0..<Trial.size)), "operation \(number), \(loss)")
    #expect(second.journal.state.withLock { $0.deliveries } == [id], "one callback, operation \(number)")
    return wasCut
  }
}
