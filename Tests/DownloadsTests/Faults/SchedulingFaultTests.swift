import AssetModel
import DevelopmentOrigin
import Foundation
import Synchronization
import Testing

@testable import Downloads

/// F-63, F-64 and F-65: what is urgent comes first, what waits keeps its bytes, and every gate opens again.
@Suite(.serialized, .timeLimit(.minutes(2))) struct SchedulingFaultTests {
  private static func start(_ scheduler: inout Scheduler, now: Duration = .zero) -> [Int64] {
    SchedulerTests.started(&scheduler, now: now)
  }

  private static func next(_ scheduler: inout Scheduler, now: Duration = .zero) -> Scheduler.Decision? {
    SchedulerTests.next(&scheduler, now: now)
  }

  @Test(
    "F-63 large prefetches that fill an origin make room for a small essential file",
    arguments: [
      TransferClass.essential, .background,
    ])
  func fullOrigin(transferClass: TransferClass) {
    var scheduler = Scheduler()
    for number in 1...5 {
      scheduler.enqueue(SchedulerTests.entry(Int64(number), .prefetch, remaining: 50 << 30), now: .zero)
    }
    #expect(Self.start(&scheduler).count == 4, "as many as one origin may have")
    scheduler.enqueue(SchedulerTests.entry(99, transferClass, remaining: 1 << 20), now: .zero)
    guard case .yield(let victim)? = Self.next(&scheduler) else {
      Issue.record("it waits behind fifty gigabytes")
      return
    }
    #expect(Self.next(&scheduler) == nil, "one of them is enough")
    scheduler.remove(victim)
    scheduler.enqueue(SchedulerTests.entry(victim.number, .prefetch, remaining: 50 << 30), now: .zero)
    #expect(Self.start(&scheduler) == [99])
    // An origin that is to be left alone needs no room.
    scheduler.enqueue(SchedulerTests.entry(100, .foreground, remaining: 1 << 20), now: .zero)
    scheduler.enqueue(SchedulerTests.entry(101, .foreground, remaining: 1 << 20), now: .zero)
    scheduler.enqueue(SchedulerTests.entry(102, .foreground, remaining: 1 << 20), now: .zero)
    #expect(SchedulerTests.next(&scheduler, blocked: [0]) == nil)
  }

  @Test("F-63 large prefetches on every slot but the one for small ones make room for a large background file")
  func fullSlots() {
    var scheduler = Scheduler()
    for number in 1...8 {
      scheduler.enqueue(SchedulerTests.entry(Int64(number), origin: UInt32(number), .prefetch), now: .zero)
    }
    #expect(Self.start(&scheduler).count == 7)
    scheduler.enqueue(SchedulerTests.entry(99, origin: 99, .background), now: .zero)
    guard case .yield? = Self.next(&scheduler) else {
      Issue.record("it waits for a prefetch to end")
      return
    }
  }

  @Test("F-63 what was added together starts in the order in which it was named") func order() {
    let clock = SystemClock()
    let moment = clock.now
    let times = (0..<1000).map { _ in TransferEngine.sinceBoot(moment, clock) }
    #expect(Set(times).count == 1, "whenever each is looked at")
    var scheduler = Scheduler(limits: Scheduler.Limits())
    for number in 1...40 {
      let record = JobRecord(
        id: JobID(Int64(number)),
        specification: DownloadSpecification(
          app: "app", identifier: "\(number)", url: "https://a.example/f", transferClass: .background,
          directory: "/tmp",
          fileName: "f"), enqueued: moment)
      scheduler.enqueue(
        Scheduler.Entry(
          id: record.id, app: 1, origin: 0, transferClass: .background, priority: 0, remaining: nil,
          since: TransferEngine.sinceBoot(record.enqueued, clock)), now: clock.boot)
    }
    let first = Self.start(&scheduler)
    #expect(!first.isEmpty && first == (1...Int64(first.count)).map { $0 })
  }

  @Test("F-63 between apps of a class a turn ends; within one no job yields for nothing") func turns() {
    var scheduler = Scheduler()
    for number in 1...8 {
      scheduler.enqueue(SchedulerTests.entry(Int64(number), app: 1, origin: UInt32(number)), now: .zero)
    }
    #expect(Self.start(&scheduler).count == 7)
    for number in 1...8 { scheduler.received(65 << 20, by: JobID(Int64(number))) }
    #expect(Self.next(&scheduler, now: .seconds(100)) == nil, "the slot would come back to it")
    scheduler.enqueue(SchedulerTests.entry(99, app: 2, origin: 99), now: .seconds(100))
    // It has no claim to what it didn't ask for before; from now on the others receive more than it does.
    for number in 1...8 { scheduler.received(2 << 20, by: JobID(Int64(number))) }
    guard case .yield(let victim)? = Self.next(&scheduler, now: .seconds(100)) else {
      Issue.record("another app waits for ever")
      return
    }
    scheduler.remove(victim)
    #expect(Self.start(&scheduler, now: .seconds(100)) == [99])
  }

  @Test("F-63 prefetches before a small essential file: it comes first, and they go on where they were")
  func preempted() async throws {
    let count = (32 << 20) + 1
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.resources["/large"] = Resource(.pseudoRandom(seed: 5, count: count))
      // The first four bring a little and then nothing more: only who yields makes room.
      $0.handler = { request, nth in
        request.path == "/large" && nth <= 4 ? .cut(after: .byte(2 << 20), .silence) : nil
      }
    }
    defer { origin.stop() }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false))
    let events = harness.engine.events
    let large = try await harness.engine.add(
      (0..<4).map { harness.specification(origin.url("/large"), name: "large\($0)", .prefetch) }
    ).compactMap(\.job)
    for id in large {
      try await harness.engine.received(id, 2 << 20)
    }
    let essential = try #require(
      try await harness.engine.add([
        harness.specification(
          origin.url(Trial.path), .essential, size: Int64(Trial.size), digest: Trial.digest, essential: true)
      ])[0].job)
    #expect(try await harness.end(of: essential, in: events).isFinished)
    // A job gave way, with everything that it had, and comes back for the rest.
    let ranged = await origin.requests(count: 6, within: .seconds(60)).filter { $0.header("Range") != nil }
    #expect(ranged.map { $0.header("Range") } == ["bytes=\(2 << 20)-"])
    let finished = try await events.first { if case .finished = $0 { true } else { false } }
    guard case .finished(let id, _) = finished else { throw Unexpected("\(String(describing: finished))") }
    #expect(large.contains(id))
    let record = try #require(try harness.journal.job(id))
    #expect(record.history.fruitlessAttempts == 0 && record.generation == 1, "no attempt failed, nothing was lost")
    await harness.engine.close()
  }

  private static let silentAtHalf: @Sendable (RecordedRequest, Int) -> Reply? = { _, nth in
    nth == 1 ? .cut(after: .byte(2 << 20), .silence) : nil
  }

  @Test(
    "F-64 in the foreground on a metered line or in power saving, then demoted: kept, not cancelled",
    arguments: [
      (true, false), (false, true),
    ])
  func demoted(isMetered: Bool, isSavingPower: Bool) async throws {
    var conditions = MachineConditions()
    conditions.isMetered = isMetered
    conditions.isSavingPower = isSavingPower
    let isSilent = Mutex(true)
    // Held from the start: a request that was out already would have some of the bytes.
    let scene = try await Scene(.background, clock: TestClock(jumpsWhenIdle: false), conditions: conditions) {
      request, _ in
      isSilent.withLock { $0 } ? .cut(after: .byte(request.header("Range") == nil ? 2 << 20 : 0), .silence) : nil
    }
    let gate: Explanation.Code = isMetered ? .metered : .powerSaver
    try await scene.engine.isHeld(scene.id, by: gate)
    // The app comes to the foreground: it starts regardless.
    scene.engine.setClass(.foreground, of: scene.id)
    try await scene.engine.received(scene.id, 2 << 20)
    scene.engine.setClass(.background, of: scene.id)
    try await scene.engine.isHeld(scene.id, by: gate)
    let record = try #require(try scene.harness.journal.job(scene.id))
    #expect(record.state == .open && record.transferClass == .background)
    #expect(record.partial?.durableOffset ?? 0 >= 2 << 20, "every byte was kept")
    #expect(record.history.fruitlessAttempts == 0)
    let requests = scene.origin.requests.count
    isSilent.withLock { $0 = false }
    scene.engine.setConditions(MachineConditions())
    #expect(try await scene.end().isFinished)
    #expect(scene.isWhole)
    #expect(scene.origin.requests.count == requests + 1)
    #expect(scene.origin.requests.last?.header("Range") == "bytes=\(record.partial?.durableOffset ?? 0)-")
    _ = try await scene.close()
  }

  enum Gate: CaseIterable, Sendable { case offline, metered, powerSaver, window }

  private static func conditions(_ gate: Gate, _ clock: TestClock) -> (MachineConditions, Explanation.Code) {
    var conditions = MachineConditions()
    switch gate {
    case .offline:
      conditions.isOnline = false
      return (conditions, .offline)
    case .metered:
      conditions.isMetered = true
      return (conditions, .metered)
    case .powerSaver:
      conditions.isSavingPower = true
      return (conditions, .powerSaver)
    case .window:
      conditions.windowOpensAt = clock.boot + .seconds(3600)
      return (conditions, .window)
    }
  }

  @Test("F-65 a gate closes in mid-transfer, and opens again", arguments: Gate.allCases)
  func closesAndOpens(gate: Gate) async throws {
    let scene = try await Scene(.background, clock: TestClock(jumpsWhenIdle: false), reply: Self.silentAtHalf)
    try await scene.engine.received(scene.id, 2 << 20)
    let (conditions, code) = Self.conditions(gate, scene.clock)
    scene.engine.setConditions(conditions)
    try await scene.engine.isHeld(scene.id, by: code)
    #expect(try scene.harness.journal.job(scene.id)?.partial?.durableOffset == 2 << 20)
    #expect(scene.origin.requests.count == 1, "not a byte more")
    if gate == .window {
      let explanation = try #require(await scene.engine.explain(scene.id))
      #expect(explanation.endsIn.map { $0 > 3590 && $0 <= 3600 } ?? false)
      await scene.advance(by: .seconds(3601))
    } else {
      scene.engine.setConditions(MachineConditions())
    }
    #expect(try await scene.end().isFinished)
    let record = try await scene.close()
    #expect(scene.isWhole && record.history.fruitlessAttempts == 0)
    #expect(scene.origin.requests.map { $0.header("Range") } == [nil, "bytes=\(2 << 20)-"])
  }

  @Test("F-65 a gate closes while the service is away: what waits goes on when it opens", arguments: Gate.allCases)
  func closedAtStart(gate: Gate) async throws {
    let scene = try await Scene(.background, clock: TestClock(jumpsWhenIdle: false), reply: Self.silentAtHalf)
    try await scene.engine.received(scene.id, 2 << 20)
    await scene.engine.close()
    let second = try Harness(
      folder: scene.harness.folder, journal: MemoryJournal(after: scene.harness.journal),
      clock: TestClock(jumpsWhenIdle: false)
    ) { $0.takesUpOpenJobs = false }
    let (conditions, code) = Self.conditions(gate, second.clock)
    second.engine.setConditions(conditions)
    let events = second.engine.events
    second.engine.resume(scene.id)
    try await second.engine.isHeld(scene.id, by: code)
    #expect(scene.origin.requests.count == 1)
    second.engine.setConditions(MachineConditions())
    #expect(try await second.end(of: scene.id, in: events).isFinished)
    await second.engine.close()
    #expect(scene.origin.requests.map { $0.header("Range") } == [nil, "bytes=\(2 << 20)-"])
    #expect(second.contents() == Trial.bytes)
    scene.origin.stop()
  }

  @Test("F-65 the line becomes metered while the partial file is looked at: nothing is asked on it")
  func closesWhileOpening() async throws {
    let folder = try Harness.folderWithStaging()
    try Trial.bytes.prefix(1 << 20).write(to: URL(fileURLWithPath: Harness.staging(folder)))
    let gate = Latch()
    // The third file that is opened is the staging file, in the job's own lane.
    let files = FaultyFiles { kind, nth in
      if kind == .open, nth == 3 { gate.wait() }
      return nil
    }
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let harness = try Harness(folder: folder, clock: TestClock(jumpsWhenIdle: false), files: files)
    let events = harness.engine.events
    let id = try #require(
      try await harness.engine.add([harness.specification(origin.url(Trial.path), .background, chunks: Trial.chunks)])[
        0
      ]
      .job)
    try await until { files.count(.open) >= 3 }
    var conditions = MachineConditions()
    conditions.isMetered = true
    harness.engine.setConditions(conditions)
    #expect(await harness.engine.explain(id)?.code == .transferring)
    gate.open()
    try await harness.engine.isHeld(id, by: .metered)
    #expect(origin.requests.isEmpty)
    harness.engine.setConditions(MachineConditions())
    #expect(try await harness.end(of: id, in: events).isFinished)
    #expect(harness.contents() == Trial.bytes)
    await harness.engine.close()
  }

  @Test("a job is paused while its partial file is looked at: nothing is asked for while the journal takes its time")
  func pausedWhileOpening() async throws {
    let scene = try await Scene(.background, clock: TestClock(jumpsWhenIdle: false), reply: Self.silentAtHalf)
    try await scene.engine.received(scene.id, 2 << 20)
    await scene.engine.close()
    let (disk, commit) = (Latch(), Latch())
    // The third file that is opened is the staging file, in the job's own lane.
    let files = FaultyFiles { kind, nth in
      if kind == .open, nth == 3 { disk.wait() }
      return nil
    }
    let journal = MemoryJournal { _ in commit.wait() }
    let known = scene.harness.journal.state.withLock { $0.jobs }
    journal.state.withLock { $0.jobs = known }
    let second = try Harness(
      folder: scene.harness.folder, journal: journal, clock: TestClock(jumpsWhenIdle: false), files: files
    ) { $0.takesUpOpenJobs = false }
    let events = second.engine.events
    second.engine.resume(scene.id)
    commit.open()
    try await until { files.count(.open) >= 3 }
    commit.close()
    second.engine.pause(scene.id)
    // The command has arrived when this is answered.
    _ = await second.engine.explain(scene.id)
    disk.open()
    try await Task.sleep(for: .milliseconds(300))
    #expect(scene.origin.requests.count == 1)
    commit.open()
    let end = try await events.first { if case .waiting = $0 { false } else { true } }
    #expect(end == .paused(scene.id))
    await second.engine.close()
    scene.origin.stop()
  }
}
