import AssetModel
import Basics
import Foundation
import LinuxSystem
import TestSupport
import Testing

@testable import Downloads

/// A journal that can't be read or added to says so: nothing is taken for missing, and nothing for added, because of that.
@Suite(.timeLimit(.minutes(2))) struct UnreadableJournalTests {
  private typealias Call = MemoryJournal.Call

  private static let offline = {
    var conditions = MachineConditions()
    conditions.isOnline = false
    return conditions
  }()

  /// Fails the calls of `failing` until the latch is open.
  private static func journal(failing: [Call], until works: Latch) -> MemoryJournal {
    MemoryJournal(before: { call in if !works.isOpen, failing.contains(call) { throw MemoryJournal.Failing() } })
  }

  @Test("an engine doesn't start with what it can't read", arguments: [MemoryJournal.Call.origins, .openJobs])
  func start(call: MemoryJournal.Call) async throws {
    let journal = Self.journal(failing: [call], until: Latch())
    #expect(throws: MemoryJournal.Failing.self) { try Harness(journal: journal) }
  }

  @Test("what can't be added is thrown, and goes on when the journal works") func add() async throws {
    let works = Latch()
    let harness = try Harness(
      journal: Self.journal(failing: [.add], until: works), clock: TestClock(jumpsWhenIdle: false))
    harness.engine.setConditions(Self.offline)
    let specification = harness.specification("https://a.test/", .background)
    await #expect(throws: MemoryJournal.Failing.self) { try await harness.engine.add([specification]) }
    works.open()
    #expect(try await harness.engine.add([specification])[0].job != nil)
    await harness.engine.close()
  }

  @Test("a job of which nothing is known but its name isn't called missing", arguments: [true, false])
  func update(isCancelling: Bool) async throws {
    let works = Latch()
    works.open()
    let harness = try Harness(
      journal: Self.journal(failing: Call.allCases, until: works), clock: TestClock(jumpsWhenIdle: false))
    harness.engine.setConditions(Self.offline)
    let id = try #require(try await harness.engine.add([harness.specification("https://a.test/", .background)])[0].job)
    try await harness.engine.isHeld(id, by: .offline)
    works.close()
    if isCancelling { harness.engine.cancel(id) } else { harness.engine.pause(id) }
    let explanation = try #require(await harness.engine.explain(id))
    #expect(explanation.code == .lock && explanation.data["journal"] != nil, "\(explanation)")
    works.open()
    await harness.engine.close()
  }

  @Test("a settled job that can't be read isn't called missing") func settled() async throws {
    let works = Latch()
    works.open()
    let harness = try Harness(
      journal: Self.journal(failing: [.job], until: works), clock: TestClock(jumpsWhenIdle: false))
    harness.engine.setConditions(Self.offline)
    let id = try #require(try await harness.engine.add([harness.specification("https://a.test/", .background)])[0].job)
    harness.engine.cancel(id)
    try await harness.engine.isHeld(id, by: .cancelled)
    works.close()
    let explanation = try #require(await harness.engine.explain(id))
    #expect(explanation.code == .lock && explanation.data["journal"] != nil, "\(explanation)")
    works.open()
    await harness.engine.close()
  }

  @Test("what waits in the queue says why, though its record can't be read") func queued() async throws {
    let works = Latch()
    works.open()
    let harness = try Harness(
      journal: Self.journal(failing: [.job], until: works), clock: TestClock(jumpsWhenIdle: false))
    harness.engine.setConditions(Self.offline)
    let id = try #require(try await harness.engine.add([harness.specification("https://a.test/", .background)])[0].job)
    try await harness.engine.isHeld(id, by: .offline)
    works.close()
    #expect(await harness.engine.explain(id)?.code == .offline)
    works.open()
    await harness.engine.close()
  }
}
