import AssetModel
import DevelopmentOrigin
import Foundation
import Synchronization
import Testing

@testable import Downloads

/// Every wait and every end says why.
@Suite(.timeLimit(.minutes(2))) struct ExplainingTests {
  @Test(arguments: TransferFailure.Reason.allCases) func terminal(reason: TransferFailure.Reason) {
    let failure = TransferFailure(reason, status: 418, errno: 5, detail: "so it was")
    let explanation = Explanation(.failed(failure))
    #expect(explanation.code.rawValue == reason.rawValue)
    #expect(explanation.data == ["detail": "so it was", "status": "418", "errno": "5"])
    #expect(!explanation.remedy.isEmpty && explanation.endsIn == nil)
  }

  @Test func publication() async throws {
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false))
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([harness.specification(origin.url("/none"))])[0].job)
    let explanation = try await events.waiting(id)
    #expect(explanation.code == .publication && explanation.data["retest"] == "1 of 2" && explanation.endsIn != nil)
    try await until { await harness.engine.explain(id)?.since != nil }
    // Of the journal alone, as after a kill.
    let record = try #require(try harness.journal.job(id))
    let stored = Explanation(
      of: record, now: StoredMoment(bootIdentifier: "test-boot", boot: record.wait?.since.boot ?? 0, wall: 0))
    #expect(stored.code == .publication && stored.data["retest"] == "1 of 2" && stored.since == 0)
    #expect(stored.endsIn == explanation.endsIn)
    await harness.engine.close()
  }

  @Test("a row without what its last error was about says that it is tried again, and what went wrong")
  func rowOfBefore() {
    let moment = StoredMoment(bootIdentifier: "boot", boot: 0, wall: 0)
    let specification = DownloadSpecification(
      app: "app", identifier: "a", url: "https://a/b", transferClass: .background, directory: "/", fileName: "b")
    func explanation(_ cause: FailureCause?) -> Explanation {
      var job = JobRecord(
        id: JobID(1), specification: specification, enqueued: moment, wait: StoredWait(since: moment, length: 5),
        lastError: "the server answered 404", lastCause: cause)
      job.history.publicationRetests = 1
      return Explanation(of: job, now: moment)
    }
    #expect(explanation(nil).code == .retrying && explanation(nil).data["lastError"] == "the server answered 404")
    #expect(explanation(.httpStatus(503)).code == .retrying && explanation(.httpStatus(404)).code == .publication)
  }

  @Test("how long it has been so, and which attempt it was") func since() async throws {
    let scene = try await Scene(clock: TestClock(jumpsWhenIdle: false)) { _, nth in nth == 1 ? .status(500) : nil }
    #expect(try await scene.isWaiting().code == .retrying)
    try await until { await scene.engine.explain(scene.id)?.code == .retrying }
    await scene.advance(by: .milliseconds(250))
    let explanation = try #require(await scene.engine.explain(scene.id))
    #expect(explanation.data["attempt"] == "1 of 6" && explanation.since.map { abs($0 - 0.25) < 0.01 } == true)
    scene.engine.resume(scene.id)
    #expect(try await scene.end().isFinished)
    _ = try await scene.close()
  }

  @Test("gates say what they are made of") func gates() async throws {
    var conditions = MachineConditions()
    conditions.isOnline = false
    conditions.interface = "wlan0\u{1b}[2J"
    let scene = try await Scene(.background, size: 7, clock: TestClock(jumpsWhenIdle: false), conditions: conditions) {
      _, _ in nil
    }
    try await scene.engine.isHeld(scene.id, by: .offline)
    let offline = try #require(await scene.engine.explain(scene.id))
    #expect(offline.data["interface"] == "wlan0\\u{1b}[2J" && offline.since == 0, "\(offline)")
    conditions.isOnline = true
    conditions.isMetered = true
    scene.engine.setConditions(conditions)
    try await scene.engine.isHeld(scene.id, by: .metered)
    #expect(await scene.engine.explain(scene.id)?.data["bytes"] == "7")
    scene.engine.setConditions(MachineConditions())
    #expect(try await scene.end().isFinished)
    _ = try await scene.close()
  }

  @Test("a question that isn't answered yet, and whom it is for") func challenge() async throws {
    let (wait, answer) = AsyncStream.makeStream(of: Never.self)
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.authentication = .basic(user: "user", password: "pass")
    }
    defer { origin.stop() }
    let harness = try Harness {
      $0.challengeTimeout = .seconds(600)
      $0.answerChallenge = { _ in
        for await _ in wait {}
        return .credential(user: "user", password: "pass")
      }
    }
    let events = harness.engine.events
    let id = try #require(try await harness.engine.add([harness.specification(origin.url(Trial.path))])[0].job)
    try await until { await harness.engine.explain(id)?.code == .challenge }
    let explanation = await harness.engine.explain(id)
    #expect(explanation?.data["kind"] == "basic" && explanation?.endsIn.map { (0...600).contains($0) } == true)
    answer.finish()
    #expect(try await harness.end(of: id, in: events).isFinished)
    await harness.engine.close()
  }

  @Test("F-23 a closed road is named, and a change of network opens it for one") func originBackoff() async throws {
    let fails = Mutex(true)
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, _ in
        fails.withLock { $0 } ? .status(500) : .with { $0.body = .resource(Trial.path) }
      }
    }
    defer { origin.stop() }
    let harness = try Harness(clock: TestClock(jumpsWhenIdle: false))
    let events = harness.engine.events
    let names = (0..<5).map { "file \($0)" }
    let ids = try await harness.engine.add(
      names.map { harness.specification(origin.url("/\($0.last ?? "0")"), name: $0, .prefetch) }
    ).compactMap(\.job)
    for id in ids { try await until { await harness.engine.explain(id)?.code == .retrying } }
    let late = try #require(
      try await harness.engine.add([harness.specification(origin.url("/late"), name: "late", .prefetch)])[0].job)
    try await until { await harness.engine.explain(late)?.code == .originBackoff }
    let explanation = await harness.engine.explain(late)
    #expect(explanation?.data["failures"] == "5" && (explanation?.endsIn ?? 0) > 0)
    fails.withLock { $0 = false }
    harness.engine.networkChanged()
    #expect(try await harness.end(of: late, in: events).isFinished)
    await harness.engine.close()
  }
}
