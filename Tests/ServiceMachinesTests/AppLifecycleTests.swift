import AssetModel
import Testing

@testable import ServiceMachines

/// The transitions of an app's life, one by one.
@Suite(.timeLimit(.minutes(2))) struct AppLifecycleTests {
  static let failure = Failure(domain: Failure.networkDomain, code: -1004, message: "no connection")
  static let refusal = WakeRefusal(reason: .lowPower)

  /// Brings a new app to one stage of its installation.
  static func installing(to stage: AppLifecycle.GateReason.Stage) -> AppLifecycle {
    var app = AppLifecycle(app: "a", now: .start)
    let events: [AppLifecycle.Event] = [
      .placed(version: "1", kind: .install), .manifestFetched(generation: 1, digest: "d", size: 9),
      .wakeGranted(generation: 1, run: 7),
      .answered(
        run: 7, accepted: [planned("e", essential: true), planned("f", essential: true), planned("g")], rejected: []),
      .settled(uniqueIdentifier: "u-e", settlement: .finished(size: 100)),
      .settled(uniqueIdentifier: "u-f", settlement: .finished(size: 100)),
    ]
    let count = [
      AppLifecycle.GateReason.Stage.manifest: 1, .wake: 2, .answer: 3, .essentials: 4, .placing: 6,
    ]
    for event in events.prefix(count[stage] ?? 0) { _ = app.handle(event, at: 1) }
    return app
  }

  static func launchable() -> AppLifecycle {
    var app = installing(to: .placing)
    _ = app.handle(.versionPlaced(version: "1"), at: 2)
    return app
  }

  @Test("An installation closes the gate and fetches the manifest before anything else [B2, B4]")
  func placedFetchesManifest() {
    var app = AppLifecycle(app: "a", now: .start)
    let effects = app.handle(.placed(version: "1", kind: .install), at: 0)
    #expect(effects.contains(.closeGate(.installing)))
    #expect(effects.last == .fetchManifest(generation: 1, request: .install, version: "1"))
    #expect(!effects.contains { if case .askForWake = $0 { true } else { false } })
  }

  @Test("The extension is asked with the manifest, which is discarded when it has answered [B2, B5]")
  func answeredDiscardsManifest() {
    var app = Self.installing(to: .manifest)
    #expect(
      app.handle(.manifestFetched(generation: 1, digest: "d", size: 9), at: 1) == [
        .askForWake(generation: 1, request: .install, manifestDigest: "d", version: "1", isSimulated: false)
      ])
    #expect(
      app.handle(.wakeGranted(generation: 1, run: 7), at: 1) == [
        .startExtension(run: 7, generation: 1, request: .install, version: "1")
      ])
    let effects = app.handle(.answered(run: 7, accepted: [planned("e", essential: true)], rejected: []), at: 1)
    #expect(effects.contains(.discardManifest(upTo: 1)))
    #expect(
      effects.contains(.schedule(downloads: [planned("e", essential: true)], generation: 1, request: .install)))
    #expect(app.gate.isClosed)
  }

  @Test(
    "When the last essential download has settled the extension ends, the gate opens, and then the batch goes out [B14]"
  )
  func essentialsOpenGate() {
    var app = Self.installing(to: .essentials)
    #expect(app.handle(.settled(uniqueIdentifier: "u-e", settlement: .finished(size: 1)), at: 2).isEmpty)
    #expect(app.gate.isClosed)
    #expect(
      app.handle(.settled(uniqueIdentifier: "u-f", settlement: .finished(size: 1)), at: 3) == [
        .endExtension(run: 7), .placeVersion(version: "1"),
      ])
    #expect(
      app.handle(.versionPlaced(version: "1"), at: 3) == [
        .keepVersions(["1"]), .openGate(.essentialsSettled(failed: 0)), .deliverBatch,
      ])
    #expect(app.phase == .launchable)
  }

  @Test("Access that expires behind the gate asks again, and essentials settle meanwhile [B14, F-38]")
  func asksAgain() {
    var app = Self.installing(to: .essentials)
    #expect(
      app.handle(.accessExpired, at: 2) == [
        .endExtension(run: 7), .fetchManifest(generation: 2, request: .install, version: "1"),
      ])
    // On its way already, and what the first run does is over.
    #expect(app.handle(.accessExpired, at: 2).isEmpty)
    #expect(app.handle(.extensionEnded(run: 7, end: .crashed), at: 2).isEmpty)
    #expect(app.handle(.settled(uniqueIdentifier: "u-e", settlement: .finished(size: 1)), at: 2).isEmpty)
    #expect(app.handle(.paused, at: 2) == [.pauseDownloads(generation: 1)])
    #expect(app.handle(.resumed, at: 2) == [.resumeDownloads(generation: 1)])
    _ = app.handle(.manifestFetched(generation: 2, digest: "d", size: 1), at: 3)
    _ = app.handle(.wakeGranted(generation: 2, run: 8), at: 3)
    let effects = app.handle(.answered(run: 8, accepted: [planned("g", essential: true)], rejected: []), at: 4)
    #expect(effects.contains(.schedule(downloads: [planned("g", essential: true)], generation: 1, request: .install)))
    #expect(app.handle(.settled(uniqueIdentifier: "u-f", settlement: .finished(size: 1)), at: 5).isEmpty)
    #expect(
      app.handle(.settled(uniqueIdentifier: "u-g", settlement: .finished(size: 1)), at: 5) == [
        .endExtension(run: 8), .placeVersion(version: "1"),
      ])
    #expect(app.handle(.versionPlaced(version: "1"), at: 6).contains(.openGate(.essentialsSettled(failed: 0))))
  }

  @Test("An extension that gives no second answer leaves the first one, and isn't asked for the installation later")
  func asksAgainInVain() {
    let ends: [AppLifecycle.Event] = [
      .manifestFailed(generation: 2, failure: Self.failure), .wakeRefused(generation: 2, refusal: Self.refusal),
      .extensionEnded(run: 8, end: .crashed), .answered(run: 8, accepted: [], rejected: []),
    ]
    for end in ends {
      var app = Self.installing(to: .essentials)
      _ = app.handle(.accessExpired, at: 2)
      if case .manifestFailed = end {
      } else {
        _ = app.handle(.manifestFetched(generation: 2, digest: "d", size: 1), at: 3)
      }
      switch end {
      case .extensionEnded, .answered: _ = app.handle(.wakeGranted(generation: 2, run: 8), at: 3)
      default: break
      }
      _ = app.handle(end, at: 4)
      #expect(app.gate.isClosed && app.active?.stage == .essentials && app.deferred.isEmpty, "\(end)")
      _ = app.handle(.settled(uniqueIdentifier: "u-e", settlement: .finished(size: 1)), at: 5)
      _ = app.handle(.settled(uniqueIdentifier: "u-f", settlement: .failed(Self.failure)), at: 5)
      #expect(
        app.handle(.versionPlaced(version: "1"), at: 6).contains(.openGate(.essentialsSettled(failed: 1))), "\(end)")
    }
  }

  @Test("Without a gate, expired access asks as a periodic request does")
  func asksAgainWithoutGate() {
    var app = Self.launchable()
    #expect(
      app.handle(.accessExpired, at: 3).last == .fetchManifest(generation: 2, request: .periodic, version: "1"))
  }

  @Test("Failed and cancelled essential downloads open the gate all the same [B54]")
  func failedEssentialsOpenGate() {
    var app = Self.installing(to: .essentials)
    _ = app.handle(.settled(uniqueIdentifier: "u-e", settlement: .failed(Self.failure)), at: 2)
    _ = app.handle(.settled(uniqueIdentifier: "u-f", settlement: .cancelled), at: 2)
    #expect(
      app.handle(.versionPlaced(version: "1"), at: 3).contains(.openGate(.essentialsSettled(failed: 2))))
  }

  @Test(
    "An extension that ends without an answer in an installation makes the app launchable at once [B8]",
    arguments: RunEnd.allCases)
  func crashOpensGate(end: RunEnd) {
    var app = Self.installing(to: .answer)
    #expect(app.handle(.extensionEnded(run: 7, end: end), at: 2).contains(.placeVersion(version: "1")))
    #expect(app.handle(.versionPlaced(version: "1"), at: 2).contains(.openGate(.extensionFailed(end))))
  }

  @Test("A manifest that fails or is refused is reported to the extension, and the gate opens [B33, B62]")
  func manifestFailureOpensGate() {
    for event in [
      AppLifecycle.Event.manifestFailed(generation: 1, failure: Self.failure),
      .manifestRefused(generation: 1, failure: Self.failure),
    ] {
      var app = Self.installing(to: .manifest)
      let effects = app.handle(event, at: 2)
      #expect(effects.first == .reportManifestFailure(generation: 1, failure: Self.failure))
      #expect(app.handle(.versionPlaced(version: "1"), at: 2).contains(.openGate(.manifestFailed(Self.failure))))
    }
  }

  @Test("A request that got no manifest isn't lost: it is asked for at the next periodic moment, without the gate [B4]")
  func withoutManifest() {
    var app = Self.installing(to: .manifest)
    let effects = app.handle(.manifestFailed(generation: 1, failure: Self.failure), at: 2)
    #expect(effects.contains(.retryPeriodicLater))
    _ = app.handle(.versionPlaced(version: "1"), at: 2)
    #expect(app.handle(.conditionsChanged, at: 3).isEmpty, "the planner says when")
    #expect(
      app.handle(.requested(.periodic, isSimulated: false), at: 4)
        == [.fetchManifest(generation: 2, request: .install, version: "1")])
    #expect(!app.gate.isClosed)
  }

  @Test("Content before the first launch switched off opens the gate, and the extension is asked after the launch [B9]")
  func contentBeforeLaunchOff() {
    var app = Self.installing(to: .wake)
    _ = app.handle(
      .wakeRefused(generation: 1, refusal: WakeRefusal(reason: .contentBeforeLaunchOff)), at: 2)
    #expect(app.handle(.versionPlaced(version: "1"), at: 2).contains(.openGate(.contentBeforeLaunchOff)))
    #expect(app.active == nil)
    let effects = app.handle(.launched, at: 3)
    #expect(effects == [.liftRestrictions, .fetchManifest(generation: 2, request: .install, version: "1")])
    #expect(!app.gate.isClosed)
  }

  @Test("A request that low power refused is asked again, without the gate, when that is over [B10]")
  func refusedIsAskedAgain() {
    var app = Self.installing(to: .wake)
    _ = app.handle(.wakeRefused(generation: 1, refusal: Self.refusal), at: 2)
    #expect(app.handle(.versionPlaced(version: "1"), at: 2).contains(.openGate(.wakeRefused(Self.refusal))))
    #expect(
      app.handle(.conditionsChanged, at: 9) == [.fetchManifest(generation: 2, request: .install, version: "1")])
    #expect(!app.gate.isClosed)
  }

  @Test("A refusal that ends by itself is asked again at its time")
  func refusedUntil() {
    var app = Self.installing(to: .wake)
    let until = Instant(seconds: 500)
    _ = app.handle(.wakeRefused(generation: 1, refusal: WakeRefusal(reason: .quarantined, until: until)), at: 2)
    _ = app.handle(.versionPlaced(version: "1"), at: 2)
    #expect(app.nextDeadline == until)
    #expect(app.handle(.tick, at: 499).isEmpty)
    #expect(app.handle(.tick, at: 500) == [.fetchManifest(generation: 2, request: .install, version: "1")])
  }

  @Test("A cancelled installation removes the app; a cancelled update keeps the old version [B49]")
  func cancelling() {
    var fresh = Self.installing(to: .essentials)
    let removal = fresh.handle(.installationCancelled, at: 2)
    #expect(removal.contains(.cancelDownloads(generation: 1)))
    #expect(removal.suffix(2) == [.cancelDownloads(generation: nil), .removeApp])
    #expect(fresh.handle(.removed, at: 3) == [.forget])

    var app = Self.launchable()
    _ = app.handle(.placed(version: "2", kind: .update), at: 3)
    #expect(app.gate.isClosed && app.phase == .updating && app.version == "1")
    let back = app.handle(.installationCancelled, at: 4)
    #expect(back.contains(.keepVersions(["1"])) && back.contains(.openGate(.cancelled)))
    #expect(back.contains(.withdrawUpdate) && back.contains(.placeVersion(version: "1")))
    #expect(app.version == "1" && app.phase == .launchable)
  }

  @Test(
    "A cancelled update is taken back whole at every stage: old version in place, downloads withdrawn, then the gate [B49]",
    arguments: [AppLifecycle.GateReason.Stage.manifest, .wake, .answer, .essentials, .placing])
  func cancelledUpdate(stage: AppLifecycle.GateReason.Stage) throws {
    var app = Self.launchable()
    let events: [AppLifecycle.Event] = [
      .placed(version: "2", kind: .update), .manifestFetched(generation: 2, digest: "d", size: 9),
      .wakeGranted(generation: 2, run: 8), .answered(run: 8, accepted: [planned("n", essential: true)], rejected: []),
      .settled(uniqueIdentifier: "u-n", settlement: .finished(size: 1)),
    ]
    for event in events where app.active?.stage != stage || event == events[0] { _ = app.handle(event, at: 3) }
    #expect(app.active?.stage == stage)
    let effects = app.handle(.installationCancelled, at: 4)
    let order = [
      AppLifecycle.Effect.withdrawUpdate, .placeVersion(version: "1"), .keepVersions(["1"]), .openGate(.cancelled),
      .deliverBatch,
    ]
    #expect(effects.suffix(5) == order[...])
    #expect(app.deferred.isEmpty && app.active == nil)
    // Late answers concern no activation.
    #expect(app.handle(.versionPlaced(version: "2"), at: 5).isEmpty && app.version == "1")
    // The service died before the old version was in place again.
    #expect(app.handle(.restarted, at: 6).contains(.placeVersion(version: "1")))
  }

  @Test("An update wakes the extension of the new version behind a closed gate [B1, B15, B7]")
  func updateAsksNewVersion() {
    var app = Self.launchable()
    let effects = app.handle(.placed(version: "2", kind: .update), at: 3)
    #expect(effects.contains(.closeGate(.updating)))
    #expect(effects.last == .fetchManifest(generation: 2, request: .update, version: "2"))
  }

  @Test("An update that arrives in an installation supersedes it, and the gate stays closed")
  func updateSupersedes() {
    var app = Self.installing(to: .essentials)
    let effects = app.handle(.placed(version: "2", kind: .update), at: 2)
    #expect(effects.contains(.endExtension(run: 7)) && effects.contains(.cancelDownloads(generation: 1)))
    #expect(effects.last == .fetchManifest(generation: 2, request: .install, version: "2"))
    #expect(!effects.contains { if case .openGate = $0 { true } else { false } })
    // What comes of the first doesn't count any more.
    #expect(app.handle(.settled(uniqueIdentifier: "u-e", settlement: .finished(size: 1)), at: 3).isEmpty)
  }

  @Test("Requests of one app go one at a time, one of each kind waiting")
  func oneAtATime() {
    var app = Self.launchable()
    #expect(app.handle(.requested(.periodic, isSimulated: false), at: 3).count == 1)
    #expect(app.handle(.requested(.languageChange, isSimulated: false), at: 3).isEmpty)
    #expect(app.handle(.requested(.languageChange, isSimulated: false), at: 3).isEmpty)
    _ = app.handle(.manifestFetched(generation: 2, digest: "d", size: 1), at: 4)
    _ = app.handle(.wakeGranted(generation: 2, run: 8), at: 4)
    let effects = app.handle(.answered(run: 8, accepted: [planned("p")], rejected: []), at: 5)
    #expect(effects.last == .fetchManifest(generation: 3, request: .languageChange, version: "1"))
    #expect(!app.gate.isClosed)
  }

  @Test("A simulated event resets the runtime and doesn't wait behind one that has no gate [B26]")
  func simulated() {
    var app = Self.launchable()
    _ = app.handle(.requested(.periodic, isSimulated: false), at: 3)
    let effects = app.handle(.requested(.update, isSimulated: true), at: 3)
    #expect(effects.first == .resetRuntime)
    #expect(effects.contains(.cancelManifest(generation: 2)))
    #expect(effects.last == .fetchManifest(generation: 3, request: .update, version: "1"))
  }

  @Test("The first launch lifts the restrictions, once [B60]")
  func firstLaunch() {
    var app = Self.launchable()
    #expect(app.handle(.launched, at: 3) == [.liftRestrictions])
    _ = app.handle(.exited, at: 4)
    #expect(app.handle(.launched, at: 5).isEmpty)
  }

  @Test("A paused installation has no deadline, and its downloads pause; resumed it has one again [B49]")
  func pausing() {
    var app = Self.installing(to: .essentials)
    #expect(app.handle(.paused, at: 2) == [.pauseDownloads(generation: 1)])
    #expect(app.nextDeadline == nil)
    #expect(app.handle(.tick, at: 1e6).isEmpty && app.gate.isClosed)
    #expect(app.handle(.resumed, at: 1e6) == [.resumeDownloads(generation: 1)])
    #expect(app.nextDeadline != nil)
  }

  @Test(
    "Every stage that goes on for too long opens the gate",
    arguments: [AppLifecycle.GateReason.Stage.manifest, .wake, .answer, .essentials])
  func timeouts(stage: AppLifecycle.GateReason.Stage) throws {
    var app = Self.installing(to: stage)
    let deadline = try #require(app.nextDeadline)
    #expect(app.handle(.tick, now: Instant(nanoseconds: deadline.nanoseconds - 1)).isEmpty)
    #expect(app.handle(.tick, now: deadline).contains(.placeVersion(version: "1")))
    #expect(
      !app.handle(.versionPlaced(version: "1"), now: deadline).filter { if case .openGate = $0 { true } else { false } }
        .isEmpty)
  }

  @Test("After the service died, what was in flight is asked again; a run is interrupted and asked again")
  func restarted() {
    for stage in [AppLifecycle.GateReason.Stage.manifest, .wake, .placing] {
      var app = Self.installing(to: stage)
      let pending = app.pending
      #expect(pending.count == 1)
      #expect(app.handle(.restarted, at: 9).suffix(1) == pending)
    }
    var app = Self.installing(to: .answer)
    let again: AppLifecycle.Effect = .askForWake(
      generation: 1, request: .install, manifestDigest: "d", version: "1", isSimulated: false)
    for run in 1...2 {
      #expect(app.handle(.restarted, at: 9).last == again)
      _ = app.handle(.wakeGranted(generation: 1, run: Int64(run + 10)), at: 9)
    }
    _ = app.handle(.restarted, at: 9)
    _ = app.handle(.wakeGranted(generation: 1, run: 20), at: 9)
    #expect(
      app.handle(.restarted, at: 9).contains(.placeVersion(version: "1")), "the fourth time no wait is left for it")
  }

  @Test("A content request during which the service died four times is asked again, each time after a longer delay")
  func interruptedAgainAndAgain() throws {
    var app = Self.installing(to: .answer)
    for run in 1...3 {
      _ = app.handle(.restarted, at: 9)
      _ = app.handle(.wakeGranted(generation: 1, run: Int64(run + 10)), at: 9)
    }
    _ = app.handle(.restarted, at: 9)
    _ = app.handle(.versionPlaced(version: "1"), at: 9)
    #expect(!app.gate.isClosed)
    var delays: [Duration] = []
    var now = Instant(seconds: 9)
    for attempt in 1...9 {
      let refusal = try #require(app.deferred.first?.refusal)
      #expect(refusal.reason == .interrupted)
      // Neither a setting nor another start of the service makes it come sooner.
      #expect(app.handle(.conditionsChanged, now: now).isEmpty)
      let again: [AppLifecycle.Effect] = [
        .fetchManifest(generation: attempt + 1, request: .install, version: "1")
      ]
      #expect(!app.handle(.restarted, now: now).contains(again[0]))
      let until = try #require(app.nextDeadline)
      #expect(until == refusal.until)
      delays.append(until - now)
      now = until
      #expect(app.handle(.tick, now: now) == again)
      _ = app.handle(.manifestFetched(generation: attempt + 1, digest: "d", size: 9), now: now)
      _ = app.handle(.wakeGranted(generation: attempt + 1, run: Int64(attempt + 50)), now: now)
      _ = app.handle(.restarted, now: now)
    }
    #expect(zip(delays, delays.dropFirst()).allSatisfy { $0 < $1 } && delays[0] >= .minutes(10), "\(delays)")
    // Once it is answered, all is forgotten.
    now = try #require(app.nextDeadline)
    _ = app.handle(.tick, now: now)
    _ = app.handle(.manifestFetched(generation: 11, digest: "d", size: 9), now: now)
    _ = app.handle(.wakeGranted(generation: 11, run: 99), now: now)
    _ = app.handle(.answered(run: 99, accepted: [], rejected: []), now: now)
    #expect(app.interruptions == 0 && app.deferred.isEmpty)
  }
}
