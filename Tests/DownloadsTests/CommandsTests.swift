import AssetModel
import Basics
import DevelopmentOrigin
import Foundation
import Testing

@testable import Downloads

/// Whatever is asked for in whatever order and moment: the last command counts, and is told.
@Suite(.timeLimit(.minutes(2))) struct CommandsTests {
  private enum Command: CaseIterable { case pause, resume, cancel, promote, demote, network, rates }

  /// A journal that takes its time, and now and then takes nothing.
  private static func journal(_ seed: UInt64, fails: Bool, _ recovered: Latch) -> MemoryJournal {
    MemoryJournal { number in
      var random = SeededGenerator(seed: seed &+ UInt64(number))
      usleep(UInt32(random.next() % 3000))
      if fails, number > 1, random.next() % 3 == 0, !recovered.isOpen { throw MemoryJournal.Failing() }
    }
  }

  @Test("random commands, with a slow journal or a failing one", arguments: 0..<12) func random(batch: Int) async throws
  {
    for script in 0..<8 {
      let seed = UInt64(batch * 8 + script)
      var random = SeededGenerator(seed: seed)
      let recovered = Latch()
      let gate = Latch()
      let origin = try Origin {
        $0.resources[Trial.path] = Resource(Trial.content)
        $0.handler = { _, nth in
          gate.isOpen ? nil : nth % 3 == 0 ? .status(500) : .cut(after: .byte(200_000), .silence)
        }
      }
      defer { origin.stop() }
      let harness = try Harness(journal: Self.journal(seed, fails: batch % 2 == 1, recovered))
      let events = harness.engine.events
      let engine = harness.engine
      let id = try #require(
        try await engine.add([harness.specification(origin.url(Trial.path), .background, digest: Trial.digest)])[0].job)
      var (isCancelled, isPaused) = (false, false)
      var commands: [String] = []
      for _ in 0..<Int(1 + random.next() % 8) {
        if random.next() % 2 == 0 { try await Task.sleep(for: .microseconds(Int(random.next() % 12_000))) }
        let command = Command.allCases[Int(random.next() % UInt64(Command.allCases.count))]
        commands.append("\(command)")
        switch command {
        case .pause:
          engine.pause(id)
          isPaused = true
        case .resume:
          engine.resume(id)
          isPaused = false
        case .cancel where random.next() % 2 == 0:
          engine.cancel(id)
          isCancelled = true
        case .cancel, .network: engine.networkChanged()
        case .promote: engine.setClass(.foreground, of: id)
        case .demote: engine.setClass(.prefetch, of: id)
        case .rates: engine.setRates(random.next() % 2 == 0 ? nil : 40 << 20)
        }
      }
      recovered.open()
      let what: Comment = "seed \(seed): \(commands)"
      if isCancelled {
        try await settled(id, harness, what)
        #expect(try await harness.end(of: id, in: events) == .cancelled, what)
        #expect(await engine.explain(id)?.code == .cancelled, what)
        #expect(try harness.journal.job(id)?.state == .cancelled, what)
      } else if isPaused {
        try await engine.isHeld(id, by: .paused)
        try await until { try harness.journal.job(id)?.state == .paused }
        gate.open()
        try await Task.sleep(for: .milliseconds(5))
        #expect(await engine.explain(id)?.code == .paused, what)
      } else {
        gate.open()
        // What was silent isn't any more.
        engine.networkChanged()
        try await settled(id, harness, what)
        #expect(try await harness.end(of: id, in: events).isFinished, what)
        #expect(harness.contents() == Trial.bytes, what)
        #expect(await engine.explain(id)?.code == .finished, what)
      }
      await engine.close()
      #expect(try harness.journal.job(id)?.state.isTerminal == !(isPaused && !isCancelled), what)
      #expect(isPaused && !isCancelled || harness.staged.isEmpty, what)
    }
  }

  /// With what is known when it doesn't come to that.
  private func settled(_ id: JobID, _ harness: Harness, _ what: Comment) async throws {
    do {
      try await until(within: .seconds(15)) { try harness.journal.job(id)?.state.isTerminal == true }
    } catch {
      let record = try harness.journal.job(id)
      Issue.record("\(what): \(String(describing: await harness.engine.explain(id))), \(String(describing: record))")
      throw error
    }
  }

  @Test("what was asked for before the end is in the journal when the engine is closed", arguments: 0..<10)
  func closing(run: Int) async throws {
    var offline = MachineConditions()
    offline.isOnline = false
    let harness = try Harness(journal: Self.journal(UInt64(run), fails: false, Latch()))
    harness.engine.setConditions(offline)
    let results = try await harness.engine.add(
      (0..<3).map { harness.specification("https://a.test/\($0)", name: "\($0)", .background) })
    let ids = results.compactMap(\.job)
    let events = harness.engine.events
    harness.engine.cancel(ids[0])
    harness.engine.pause(ids[1])
    harness.engine.pause(ids[2])
    harness.engine.resume(ids[2])
    await harness.engine.close()
    #expect(try ids.map { try harness.journal.job($0)?.state } == [.cancelled, .paused, .open])
    var told: [DownloadEvent] = []
    for await event in events { told.append(event) }
    #expect(told.contains(.cancelled(ids[0])) && told.contains(.paused(ids[1])))
  }
}
