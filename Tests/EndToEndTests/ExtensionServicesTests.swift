import AssetModel
import Foundation
import LinuxSystem
import PluginHost
import Sandbox
import TestSupport
import Testing

/// What an extension asks while it runs is answered by the program that embeds the host, in its own time.
@Suite(.ownThreads, .timeLimit(.minutes(3))) struct ExtensionServicesTests {
  private func report(_ behaviour: String, _ desk: ExtensionDesk) async throws -> RunReport {
    let scene = try ExtensionScene(desk)
    defer { scene.remove() }
    let ended = desk.events.count { $0 == "ended" }
    let report = try await scene.run(behaviour)
    await desk.until("ended", count: ended + 1)
    return report
  }

  @Test("the client decides what an extension may schedule", arguments: [0, 112] as [Int32])
  func schedules(status: Int32) async throws {
    let desk = ExtensionDesk(schedule: { status })
    let report = try await report("schedule", desk)
    #expect(report.messages == ["scheduled \(status)"])
    #expect(report.scheduled.map(\.identifier) == (status == 0 ? ["later"] : []))
    #expect(desk.events == ["schedule later named", "ended"])
  }

  @Test("the rules are checked before the client is asked") func checksTheRules() async throws {
    let desk = ExtensionDesk()
    #expect(try await report("essential", desk).messages == ["scheduled 109", "scheduled 55"])
    #expect(desk.events == ["ended"])
  }

  @Test("cancelling and the list of current downloads are the client's") func cancelsAndLists() async throws {
    let desk = ExtensionDesk(downloads: [ExtensionScene.download("x"), ExtensionScene.download("y")])
    #expect(try await report("cancel", desk).messages == ["cancelled 101"])
    #expect(try await report("current", desk).messages == ["visited x", "visited y", "current 0"])
  }

  @Test("B27: nothing is scheduled during a content request, and the client isn't asked") func refusesInARequest()
    async throws
  {
    let desk = ExtensionDesk()
    let scene = try ExtensionScene(desk)
    defer { scene.remove() }
    let plugin = try await scene.load()
    _ = try await plugin.contentRequest(.install)
    #expect(await plugin.end().messages.contains("scheduled 50"))
    await desk.until("ended")
    #expect(desk.events == ["ended"])
  }

  @Test("a client that never answers costs the extension its time, and no other") func outlastsASilentClient()
    async throws
  {
    let desk = ExtensionDesk(schedule: {
      await withTaskCancellationHandler {
        try? await Task.sleep(for: .seconds(3600))
      } onCancel: {
      }
      return 0
    })
    var scene = try ExtensionScene(desk)
    defer { scene.remove() }
    scene.limits.wallTime = .seconds(2)
    let (patient, other) = (scene, try await scene.load())
    async let ended = patient.run("schedule")
    await desk.until("schedule later named")
    try await other.downloadFailed(ExtensionScene.download("nothing"), error: ExtensionScene.error)
    #expect(try await ended.outcome.kind == .wallTimeExceeded)
    await desk.until("ended")
    _ = await other.end()
  }

  @Test("an answer after the run's end is dropped, and control that comes too late goes back once")
  func dropsLateAnswers() async throws {
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    // Heeds no cancellation.
    let desk = ExtensionDesk(acquire: { _ in
      await Task { for await _ in gate { break } }.value
      return 0
    })
    let scene = try ExtensionScene(desk)
    defer { scene.remove() }
    let run = Task { try await scene.run("acquire") }
    await desk.until("acquire forever")
    run.cancel()
    #expect(try await run.value.outcome.kind != .returned)
    await desk.until("ended")
    #expect(desk.events == ["acquire forever", "ended"])
    open.yield()
    await desk.until("release")
    #expect(desk.events == ["acquire forever", "ended", "acquired 0", "release"])
  }

  @Test(
    "B68: control that a crashed or ended extension holds is released once",
    arguments: ["keep", "keep-crash", "acquire"])
  func releasesOnce(behaviour: String) async throws {
    let desk = ExtensionDesk()
    let report = try await report(behaviour, desk)
    #expect(report.outcome.kind == (behaviour == "keep-crash" ? .crashed : .returned))
    #expect(desk.events == ["acquire forever", "acquired 0", "release", "ended"])
  }

  @Test("releases without control reach no client, and a refusal is no control") func countsWhatIsHeld() async throws {
    let desk = ExtensionDesk(acquire: { _ in -1 })
    #expect(try await report("release", desk).outcome.kind == .returned)
    #expect(desk.events == ["ended"])
    #expect(try await report("try", desk).messages == ["acquired -1"])
    #expect(desk.events == ["ended", "acquire 0.0 seconds", "acquired -1", "ended"])
  }

  @Test("while one thread waits for control, the others are answered") func answersOtherThreads() async throws {
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let desk = ExtensionDesk(
      downloads: [ExtensionScene.download("x")],
      acquire: { _ in
        for await _ in gate { break }
        return 0
      })
    let scene = try ExtensionScene(desk)
    defer { scene.remove() }
    async let report = scene.run("threads")
    await desk.until("schedule later named")
    open.yield()
    let messages = try await report.messages
    #expect(Set(messages.suffix(2)) == ["scheduled 0", "acquired 0"] && messages.count == 202, "\(messages)")
  }

  @Test("control that one thread gives back goes to another of the same extension") func passesControlOn()
    async throws
  {
    let lock = TestLock()
    let desk = ExtensionDesk(acquire: { _ in await lock.acquire() })
    let scene = try ExtensionScene(LockingDesk(desk: desk, lock: lock))
    defer { scene.remove() }
    #expect(try await scene.run("two").messages == ["scheduled 0", "acquired 0"])
    await desk.until("release", count: 2)
  }

  @Test("B21: an asynchronous request outlasts the wall clock of its call") func outlastsTheWallClock() async throws {
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let desk = ExtensionDesk(acquire: { _ in
      for await _ in gate { break }
      return 0
    })
    var scene = try ExtensionScene(desk)
    defer { scene.remove() }
    scene.limits.wallTime = .milliseconds(300)
    let waiting = scene
    async let report = waiting.run("activity")
    await desk.until("acquire forever")
    let begun = BootClock.now
    while BootClock.now - begun < .milliseconds(900) { try await Task.sleep(for: .milliseconds(50)) }
    #expect(!desk.events.contains("ended"))
    open.yield()
    let end = try await report
    #expect(end.outcome.kind == .returned && end.messages == ["acquired 0"], "\(end.outcome)")
    // The plugin stands still where its host gets no processor, which isn't the plugin's time, and told as well.
    #expect(end.usage.wallSeconds + end.usage.stoodSeconds > 0.9, "the wait is told: \(end.usage)")
  }

  @Test("an extension that waits for control between its calls isn't frozen [B70]") func runsBetweenCalls() async throws
  {
    let (gate, open) = AsyncStream.makeStream(of: Void.self)
    let (asked, ask) = AsyncStream.makeStream(of: Void.self)
    let desk = ExtensionDesk(
      schedule: {
        for await _ in asked { break }
        return 0
      },
      acquire: { _ in
        ask.yield()
        for await _ in gate { break }
        return 0
      })
    let scene = try ExtensionScene(desk)
    defer { scene.remove() }
    let plugin = try await scene.load()
    try await plugin.downloadFailed(ExtensionScene.download("between"), error: ExtensionScene.error)
    await desk.until("acquire forever")
    open.yield()
    // Frozen, it couldn't give it back.
    await desk.until("release")
    _ = await plugin.end()
  }

  @Test("an extension that keeps control between its calls is ended by the clock of its last one") func endsAKeeper()
    async throws
  {
    let desk = ExtensionDesk()
    var scene = try ExtensionScene(desk)
    defer { scene.remove() }
    scene.limits.wallTime = .milliseconds(300)
    let plugin = try await scene.load()
    try await plugin.downloadFailed(ExtensionScene.download("keep"), error: ExtensionScene.error)
    await desk.until("ended")
    #expect(desk.events.count { $0 == "release" } == 1)
    #expect(await plugin.end().outcome.kind == .wallTimeExceeded)
  }

  @Test("a plugin that asks again before it has its answer is none of our clients") func refusesForgedQuestions()
    async throws
  {
    let desk = ExtensionDesk()
    #expect(try await report("forge", desk).outcome.kind == .protocolViolation)
  }
}

/// The lock between an app and its extension, in its simplest form.
private actor TestLock {
  private var isHeld = false
  private var waiting: [CheckedContinuation<Void, Never>] = []

  func acquire() async -> Int32 {
    if isHeld { await withCheckedContinuation { waiting.append($0) } }
    isHeld = true
    return 0
  }

  func release() {
    if waiting.isEmpty { isHeld = false } else { waiting.removeFirst().resume() }
  }
}

private struct LockingDesk: ExtensionServices {
  let desk: ExtensionDesk
  let lock: TestLock

  func schedule(_ download: Download) async -> Int32 { await desk.schedule(download) }
  func cancel(_ identifier: String) async -> Int32 { await desk.cancel(identifier) }
  func currentDownloads() async -> [Download] { await desk.currentDownloads() }
  func acquireExclusiveControl(timeout: Duration?) async -> Int32 {
    await desk.acquireExclusiveControl(timeout: timeout)
  }
  func releaseExclusiveControl() async {
    await lock.release()
    await desk.releaseExclusiveControl()
  }
}
