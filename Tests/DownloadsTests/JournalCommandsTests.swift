import AssetModel
import DevelopmentOrigin
import Foundation
import Synchronization
import Testing

@testable import Downloads

/// Commands while the journal can't be read or written: none is lost, and its caller hears that it waits.
@Suite(.timeLimit(.minutes(2))) struct JournalCommandsTests {
  private static let offline = {
    var conditions = MachineConditions()
    conditions.isOnline = false
    return conditions
  }()

  /// Reading fails until the latch is open.
  private static func unreadable(until readable: Latch) -> MemoryJournal {
    MemoryJournal(before: { _ in if !readable.isOpen { throw MemoryJournal.Failing() } })
  }

  enum Asked: CaseIterable { case pause, resume, cancel, promote }

  @Test("a command for a job that can't be looked up waits, is told and is carried out", arguments: Asked.allCases)
  func unreadable(asked: Asked) async throws {
    let readable = Latch()
    readable.open()
    let clock = TestClock(jumpsWhenIdle: false)
    let harness = try Harness(journal: Self.unreadable(until: readable), clock: clock)
    harness.engine.setConditions(Self.offline)
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([harness.specification("https://a.test/", .background)])[0].job)
    try await harness.engine.isHeld(id, by: .offline)
    if asked == .resume {
      harness.engine.pause(id)
      try await harness.engine.isHeld(id, by: .paused)
    }
    readable.close()
    switch asked {
    case .pause: harness.engine.pause(id)
    case .resume: harness.engine.resume(id)
    case .cancel: harness.engine.cancel(id)
    case .promote: harness.engine.setClass(.foreground, of: id)
    }
    let explanation = try #require(await harness.engine.explain(id))
    #expect(explanation.code == .lock && explanation.data["commands"] != nil, "\(explanation)")
    // Not before its time: a journal that fails isn't asked all the while.
    readable.open()
    clock.advance(by: .seconds(29))
    #expect(await harness.engine.explain(id)?.code == .lock)
    clock.advance(by: .seconds(2))
    switch asked {
    case .pause: try await harness.engine.isHeld(id, by: .paused)
    case .resume: try await harness.engine.isHeld(id, by: .offline)
    case .cancel: try await harness.engine.isHeld(id, by: .cancelled)
    case .promote: try await until { try harness.journal.job(id)?.transferClass == .foreground }
    }
    await harness.engine.close()
    let state = try harness.journal.job(id)?.state
    #expect(state == (asked == .pause ? .paused : asked == .cancel ? .cancelled : .open))
    var notes = 0
    for await event in events { if case .note(id, let text) = event, text.contains("waits") { notes += 1 } }
    #expect(notes == 1)
  }

  @Test("the last of several counts, and a job that is to be paused isn't begun meanwhile") func several() async throws
  {
    let readable = Latch()
    readable.open()
    let clock = TestClock(jumpsWhenIdle: false)
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let harness = try Harness(journal: Self.unreadable(until: readable), clock: clock)
    harness.engine.setConditions(Self.offline)
    let id = try #require(
      try await harness.engine.add([harness.specification(origin.url(Trial.path), .background)])[0].job)
    try await harness.engine.isHeld(id, by: .offline)
    readable.close()
    harness.engine.pause(id)
    harness.engine.resume(id)
    harness.engine.pause(id)
    harness.engine.setConditions(MachineConditions())
    try await harness.engine.isHeld(id, by: .lock)
    readable.open()
    clock.advance(by: .seconds(31))
    try await harness.engine.isHeld(id, by: .paused)
    #expect(origin.requests.isEmpty)
    harness.engine.resume(id)
    try await until { try harness.journal.job(id)?.state == .finished }
    await harness.engine.close()
  }

  @Test("what can't be carried out before the engine is closed is told") func closed() async throws {
    let readable = Latch()
    readable.open()
    let harness = try Harness(
      journal: Self.unreadable(until: readable), clock: TestClock(jumpsWhenIdle: false))
    harness.engine.setConditions(Self.offline)
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([harness.specification("https://a.test/", .background)])[0].job)
    readable.close()
    harness.engine.cancel(id)
    try await harness.engine.isHeld(id, by: .lock)
    await harness.engine.close()
    var notes: [String] = []
    for await event in events { if case .note(id, let text) = event { notes.append(text) } }
    #expect(notes.count == 2 && notes[1].contains("cancel: not carried out"), "\(notes)")
  }

  @Test(
    "what the journal is still asked for when the engine is closed is told, or carried out", arguments: [true, false])
  func closedWhileReading(fails: Bool) async throws {
    let (blocks, answers) = (Latch(), Latch())
    let journal = MemoryJournal(before: { call in
      guard call == .job, blocks.isOpen else { return }
      answers.wait()
      if fails { throw MemoryJournal.Failing() }
    })
    let harness = try Harness(journal: journal, clock: TestClock(jumpsWhenIdle: false))
    harness.engine.setConditions(Self.offline)
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([harness.specification("https://a.test/", .background)])[0].job)
    blocks.open()
    harness.engine.pause(id)
    async let closed: Void = harness.engine.close()
    answers.open()
    await closed
    var notes: [String] = []
    for await event in events { if case .note(id, let text) = event { notes.append(text) } }
    #expect(notes.contains { $0.contains("pause: not carried out") } == fails, "\(notes)")
    blocks.close()
    #expect(try journal.job(id)?.state == (fails ? .open : .paused))
  }

  @Test("a journal that takes its time to read holds no other transfer up") func slowReads() async throws {
    let (blocks, asked, answers, requested, more) = (Latch(), Latch(), Latch(), Latch(), Latch())
    let journal = MemoryJournal(before: { call in
      guard call == .job, blocks.isOpen else { return }
      asked.open()
      answers.wait()
    })
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, _ in
        requested.open()
        more.wait()
        return nil
      }
    }
    defer { origin.stop() }
    let harness = try Harness(journal: journal, clock: TestClock(jumpsWhenIdle: false))
    var conditions = MachineConditions()
    conditions.isMetered = true
    harness.engine.setConditions(conditions)
    let waiting = harness.specification("https://a.test/", name: "waiting", .background)
    let idle = try #require(try await harness.engine.add([waiting])[0].job)
    let running = try #require(
      try await harness.engine.add([harness.specification(origin.url(Trial.path), .foreground)])[0].job)
    try await until { requested.isOpen }
    blocks.open()
    harness.engine.pause(idle)
    try await until { asked.isOpen }
    more.open()
    // The journal hasn't answered yet, and everything arrives all the same.
    try await harness.engine.received(running, Int64(Trial.size))
    answers.open()
    try await harness.engine.isHeld(idle, by: .paused)
    try await until { try journal.job(running)?.state == .finished }
    await harness.engine.close()
  }

  @Test(
    "a change of class or a resumption that the journal couldn't take is committed later", arguments: [true, false])
  func unwritten(resumes: Bool) async throws {
    let writable = Latch()
    writable.open()
    let journal = MemoryJournal { _ in if !writable.isOpen { throw MemoryJournal.Failing() } }
    let clock = TestClock(jumpsWhenIdle: false)
    let harness = try Harness(journal: journal, clock: clock)
    harness.engine.setConditions(Self.offline)
    let id = try #require(try await harness.engine.add([harness.specification("https://a.test/", .background)])[0].job)
    harness.engine.pause(id)
    try await harness.engine.isHeld(id, by: .paused)
    writable.close()
    if resumes { harness.engine.resume(id) } else { harness.engine.setClass(.foreground, of: id) }
    try await harness.engine.isHeld(id, by: .lock)
    writable.open()
    clock.advance(by: .seconds(31))
    try await harness.engine.isHeld(id, by: resumes ? .offline : .paused)
    await harness.engine.close()
    let record = try #require(try journal.job(id))
    #expect(record.state == (resumes ? .open : .paused))
    #expect(record.transferClass == (resumes ? .background : .foreground))
  }

  @Test("a slow journal is tried once at a time, however many downloads wait for it") func oneAtATime() async throws {
    let isBroken = Latch()
    let (asked, answers) = (Latch(), Latch())
    let tries = Mutex(0)
    let journal = MemoryJournal { _ in
      guard isBroken.isOpen else { return }
      if answers.isOpen || asked.isOpen { tries.withLock { $0 += 1 } }
      if asked.isOpen { answers.wait() }
      throw MemoryJournal.Failing()
    }
    let clock = TestClock(jumpsWhenIdle: false)
    let harness = try Harness(journal: journal, clock: clock)
    harness.engine.setConditions(Self.offline)
    let ids = try await harness.engine.add(
      (0..<4).map { harness.specification("https://a.test/\($0)", name: "\($0)", .background) }
    ).compactMap(\.job)
    isBroken.open()
    for id in ids { harness.engine.pause(id) }
    for id in ids { try await harness.engine.isHeld(id, by: .lock) }
    asked.open()
    for _ in 0..<20 {
      clock.advance(by: .seconds(31))
      _ = await harness.engine.explain(ids[0])
    }
    try await until { tries.withLock { $0 } == 1 }
    isBroken.close()
    answers.open()
    // The last try fails as it began; the next one, half a minute later, is for all of them.
    try await until { tries.withLock { $0 } == 1 }
    for id in ids {
      try await until {
        clock.advance(by: .seconds(31))
        return await harness.engine.explain(id)?.code == .paused
      }
    }
    await harness.engine.close()
    #expect(try ids.allSatisfy { try journal.job($0)?.state == .paused })
  }

  @Test(
    "the last of several counts while the download comes to its end: pause, resume, pause", arguments: [true, false])
  func whileItSettles(endsPaused: Bool) async throws {
    let (synchronises, written) = (Latch(), Latch())
    synchronises.open()
    let files = FaultyFiles { kind, _ in
      if kind == .synchronizeData, !synchronises.isOpen {
        written.open()
        synchronises.wait()
      }
      return nil
    }
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in nth == 1 ? .cut(after: .byte(1 << 20), .silence) : nil }
    }
    defer { origin.stop() }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false), files: files)
    let id = try #require(
      try await harness.engine.add([harness.specification(origin.url(Trial.path), .background)])[0].job)
    try await harness.engine.received(id, 1 << 20)
    synchronises.close()
    harness.engine.pause(id)
    // Its last checkpoint is on its way.
    try await until { written.isOpen }
    harness.engine.resume(id)
    harness.engine.pause(id)
    if !endsPaused { harness.engine.resume(id) }
    _ = await harness.engine.explain(id)
    synchronises.open()
    if endsPaused {
      try await harness.engine.isHeld(id, by: .paused)
    } else {
      try await until { try harness.journal.job(id)?.state == .finished }
    }
    await harness.engine.close()
    #expect(try harness.journal.job(id)?.state == (endsPaused ? .paused : .finished))
  }

  @Test("the engine isn't closed before the files of what ended are gone", arguments: [true, false])
  func closesAfterRemoval(cancels: Bool) async throws {
    let clock = TestClock(jumpsWhenIdle: false)
    let isSlow = Latch()
    let files = FaultyFiles { kind, _ in
      // A removal looks the folder up first.
      if kind == .open, isSlow.isOpen { usleep(50_000) }
      return nil
    }
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, _ in .cut(after: .byte(1 << 20), .silence) }
    }
    defer { origin.stop() }
    let harness = try Harness(clock: clock, files: files) { $0.connectivityTimeouts = [.essential: .seconds(10)] }
    let id = try #require(
      try await harness.engine.add([harness.specification(origin.url(Trial.path), .essential)])[0].job)
    try await harness.engine.received(id, 1 << 20)
    harness.engine.setConditions(Self.offline)
    try await harness.engine.isHeld(id, by: .offline)
    #expect(!harness.staged.isEmpty)
    isSlow.open()
    if cancels { harness.engine.cancel(id) } else { clock.advance(by: .seconds(11)) }
    // In the same turn the engine looks at its clock.
    _ = await harness.engine.explain(id)
    await harness.engine.close()
    #expect(harness.staged.isEmpty)
    #expect(try harness.journal.job(id)?.state.isTerminal == true)
  }
}
