import AssetModel
import Basics
import TestSupport
import Testing

@testable import ServiceMachines

/// An environment that answers, fails to answer, answers twice, and dies.
private struct LifecycleWorld {
  var app = AppLifecycle(app: "a", now: .start)
  var now = Instant.start
  var random: SeededGenerator
  /// Effects that wait for an answer.
  var inFlight: [AppLifecycle.Effect] = []
  var version = 0
  var lastRun: Int64 = 0
  var scheduled: [String] = []

  init(_ seed: Seed) { random = seed.generator }

  /// One random event.
  mutating func next() -> AppLifecycle.Event {
    if !inFlight.isEmpty, !random.chance(3) { return answer(inFlight.remove(at: random.below(inFlight.count))) }
    switch random.below(16) {
    case 0, 1:
      version += 1
      return .placed(version: "\(version)", kind: app.version == nil ? .install : .update)
    case 2, 3, 4: return .tick
    case 5: return .restarted
    case 6: return .paused
    case 7: return .resumed
    case 8: return random.chance(4) ? .installationCancelled : .essentialProgressed
    case 9: return .launched
    case 10: return .exited
    case 11, 12:
      return .requested(ContentRequestKind.allCases[random.below(4)], isSimulated: random.chance(4))
    case 13: return random.chance(2) ? .conditionsChanged : .accessExpired
    case 14: return random.chance(20) ? .removalRequested : .tick
    default: return scheduled.popLast().map { settled($0) } ?? .tick
    }
  }

  mutating func settled(_ unique: String) -> AppLifecycle.Event {
    let settlements: [Settlement] = [.finished(size: 1), .failed(AppLifecycleTests.failure), .cancelled]
    return .settled(uniqueIdentifier: unique, settlement: settlements[random.below(3)])
  }

  mutating func answer(_ effect: AppLifecycle.Effect) -> AppLifecycle.Event {
    switch effect {
    case .fetchManifest(let generation, _, _):
      random.chance(4)
        ? .manifestFailed(generation: generation, failure: AppLifecycleTests.failure)
        : .manifestFetched(generation: generation, digest: "\(random.below(3))", size: 5)
    case .askForWake(let generation, _, _, _, _): wakeAnswer(generation)
    case .startExtension(let run, _, let request, _):
      random.chance(4)
        ? .extensionEnded(run: run, end: RunEnd.allCases[random.below(RunEnd.allCases.count)])
        : extensionAnswer(run, request)
    case .placeVersion(let version):
      random.chance(5) ? .versionFailed(version: version, reason: "full") : .versionPlaced(version: version)
    case .removeApp: .removed
    default: .tick
    }
  }

  private mutating func wakeAnswer(_ generation: Int) -> AppLifecycle.Event {
    if random.chance(3) {
      let reasons = WakeRefusal.Reason.allCases
      let until = random.chance(2) ? nil : now + .seconds(random.below(9000))
      return .wakeRefused(
        generation: generation, refusal: WakeRefusal(reason: reasons[random.below(reasons.count)], until: until))
    }
    lastRun += 1
    return .wakeGranted(generation: generation, run: lastRun)
  }

  private mutating func extensionAnswer(_ run: Int64, _ request: ContentRequestKind) -> AppLifecycle.Event {
    let downloads = (0..<random.below(4)).map { number in
      planned("\(run)-\(number)", essential: request.permitsEssential && !random.chance(3))
    }
    scheduled += downloads.map(\.uniqueIdentifier)
    return .answered(run: run, accepted: downloads, rejected: [])
  }

  mutating func take(_ effects: [AppLifecycle.Effect]) {
    for effect in effects {
      switch effect {
      case .fetchManifest, .askForWake, .startExtension, .placeVersion, .removeApp:
        // Not every effect is ever answered: extensions hang, and executors have bugs.
        if !random.chance(8) { inFlight.append(effect) }
      default: break
      }
    }
  }
}

@Suite(.timeLimit(.minutes(2))) struct AppLifecyclePropertyTests {
  @Test("No gate is ever stuck, whatever happens in whatever order [B8, B14, B54]", arguments: [Seed.current])
  func random(seed: Seed) throws {
    var world = LifecycleWorld(seed)
    for step in 0..<12_000 {
      world.now = world.now + .seconds(world.random.below(400))
      let before = world.app
      let event = world.next()
      let effects = try world.app.handleAsTwins(event, now: world.now)
      Self.check(world.app, before, event, effects)
      if event == .restarted {
        // The service's own work died with it; what is pending was asked again.
        world.inFlight.removeAll()
        #expect(world.app.pending.allSatisfy(effects.contains), "step \(step)")
        var again = world.app
        #expect(again.handle(.restarted, now: world.now).suffix(again.pending.count) == again.pending[...])
      }
      world.take(effects)
      if step % 8 == 0 { Self.opens(world.app, world.now) }
      if effects.contains(.forget) {
        world.app = AppLifecycle(app: "a", now: world.now)
        world.inFlight.removeAll()
        world.version += 1
        world.take(
          world.app.handle(.placed(version: "\(world.version)", kind: .install), now: world.now))
      }
      Self.checkRepeated(event, world)
    }
  }

  private static func check(
    _ app: AppLifecycle, _ before: AppLifecycle, _ event: AppLifecycle.Event, _ effects: [AppLifecycle.Effect]
  ) {
    let isInstalling = app.phase == .installing || app.phase == .updating
    if app.generation > 0 { #expect(app.gate.isClosed == (isInstalling || app.phase == .removing), "\(event)") }
    if isInstalling, app.generation > 0 {
      #expect(app.active?.isGated == true && app.incoming != nil, "\(event)")
      #expect(app.isPaused || app.active?.deadline != nil, "\(event)")
    }
    if app.phase == .launchable { #expect(app.version != nil && app.incoming == nil && !app.isPaused) }
    #expect(app.queue.count <= ContentRequestKind.allCases.count && app.deferred.count <= 4)
    for (index, effect) in effects.enumerated() {
      switch effect {
      case .openGate:
        #expect(before.gate.isClosed && !app.gate.isClosed)
        #expect(effects[(index + 1)...].first == .deliverBatch, "the batch follows the gate [B14]")
      case .startExtension(_, let generation, _, _): #expect(app.active?.generation == generation)
      default: break
      }
    }
    // An extension that was started is ended, or was answered by its own end, before the next one.
    if let old = before.active?.run, app.active?.run != old, event != .restarted {
      let isOver = event == .extensionEnded(run: old, end: .returned) || event.ends(old)
      let answered = !(before.active?.isGated ?? false)
      #expect(isOver || answered || effects.contains(.endExtension(run: old)), "\(event)")
    }
  }

  /// Time alone, and a user who doesn't pause for ever, open the gate or end the app.
  private static func opens(_ state: AppLifecycle, _ moment: Instant) {
    guard state.generation > 0 else { return }
    var (app, now) = (state, moment)
    for _ in 0..<20 where app.gate.isClosed && app.phase != .removing {
      if app.isPaused { _ = app.handle(.resumed, now: now) }
      if case .placeVersion(let version)? = app.pending.last {
        _ = app.handle(.versionPlaced(version: version), now: now)
      }
      guard let next = app.nextDeadline else { continue }
      now = max(now, next)
      _ = app.handle(.tick, now: now)
    }
    #expect(!app.gate.isClosed || app.phase == .removing, "stuck: \(state)")
  }

  /// Answers may come twice, because an effect was done again.
  private static func checkRepeated(_ event: AppLifecycle.Event, _ world: LifecycleWorld) {
    var app = world.app
    switch event {
    case .manifestFetched, .manifestFailed, .wakeRefused, .answered, .versionPlaced, .extensionEnded, .settled:
      #expect(app.handle(event, now: world.now).isEmpty)
      #expect(app == world.app)
    case .wakeGranted(_, let run):
      let effects = app.handle(event, now: world.now)
      #expect(effects.isEmpty || effects == [.endExtension(run: run)])
      #expect(app == world.app)
    default: break
    }
  }
}

extension AppLifecycle.Event {
  fileprivate func ends(_ run: Int64) -> Bool {
    if case .extensionEnded(run, _) = self { true } else { false }
  }
}
