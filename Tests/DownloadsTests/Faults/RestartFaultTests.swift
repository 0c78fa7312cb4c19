import AssetModel
import AssetStore
import DevelopmentOrigin
import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import Downloads

/// F-67: what survives a restart of the service.
@Suite(.serialized, .timeLimit(.minutes(2))) struct RestartFaultTests {
  @Test("F-67 a service that starts takes up what waits for another attempt or is paused, and knows why") func takenUp()
    async throws
  {
    let state = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-state-")
    defer { Files.removeTree(state) }
    let origin = try Origin { $0.handler = { _, _ in .status(503) } }
    defer { origin.stop() }
    let clock = TestClock(jumpsWhenIdle: false)
    let store = try AssetStore(opening: state)
    let harness = try Harness(clock: clock, store: store)
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([harness.specification(origin.url("/a"), .background)])[0].job)
    #expect(try await events.waiting(id).code == .retrying)
    let paused = try #require(
      try await harness.engine.add([harness.specification(origin.url("/b"), name: "b", .background)])[0].job)
    harness.engine.pause(paused)
    while try store.job(paused)?.state != .paused { await Task.yield() }
    await harness.engine.close()
    try store.close()

    let again = try AssetStore(opening: state)
    let second = try Harness(folder: harness.folder, clock: clock, store: again)
    let explanation = try await second.engine.events.waiting(id)
    #expect(explanation.code == .retrying && explanation.data["attempt"] == "1", "\(explanation)")
    #expect(explanation.data["lastError"]?.contains("503") == true, "\(explanation)")
    #expect(await second.engine.explain(paused)?.code == .paused)
    await second.engine.close()
    try again.close()
  }

  @Test("F-67 the service is restarted in mid-transfer, again and again: every byte is fetched once [B43]")
  func restart()
    async throws
  {
    let state = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-state-")
    defer { Files.removeTree(state) }
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in nth <= 3 ? .cut(after: .byte(1 << 20), .silence) : nil }
    }
    defer { origin.stop() }
    // The folder goes with the first that goes.
    var all: [Harness] = []
    for round in 1...4 {
      let store = try AssetStore(opening: state)
      let harness = try Harness(
        folder: all.first?.folder, clock: TestClock(boot: "boot \(round / 3)", jumpsWhenIdle: false), store: store
      ) { $0.takesUpOpenJobs = false }
      all.append(harness)
      let events = harness.engine.events
      let specification = harness.specification(origin.url(Trial.path), .background, digest: Trial.digest)
      let id = JobID(1)
      let result = try await harness.engine.add([specification])[0]
      #expect(result == (round == 1 ? .added(id, generation: 1) : .alreadyScheduled(id)))
      harness.engine.resume(id)
      if round < 4 {
        try await harness.engine.received(id, Int64(round) << 20)
      } else {
        #expect(try await harness.end(of: id, in: events).isFinished)
        #expect(harness.contents() == Trial.bytes)
      }
      await harness.engine.close()
      #expect(try store.job(id)?.history.fruitlessAttempts == 0)
      #expect(try store.deliveries.pending().count == (round == 4 ? 1 : 0))
      try store.close()
    }
    #expect(
      origin.requests.map { $0.header("Range") } == [nil] + (1...3).map { "bytes=\($0 << 20)-" })
  }
}
