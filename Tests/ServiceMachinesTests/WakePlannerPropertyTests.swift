import AssetModel
import Basics
import TestSupport
import Testing

@testable import ServiceMachines

@Suite(.timeLimit(.minutes(2))) struct WakePlannerPropertyTests {
  struct World {
    var planner = WakePlanner(seed: 5)
    var now = Instant.start
    var random: SeededGenerator
    var token = 0
    /// Requests without an answer, as app and token.
    var open: Set<String> = []
    var running: [Int64] = []

    mutating func next() -> WakePlanner.Event {
      let app = "a\(random.below(6))"
      switch random.below(20) {
      case 0: return .installed(app: app, version: "\(random.below(3))")
      case 1: return random.chance(4) ? .removed(app: app) : .tick
      case 2: return .launched(app: app)
      case 3: return .exited(app: app)
      case 4...9:
        token += 1
        let reasons: [WakeReason] = [.callbacks] + ContentRequestKind.allCases.map { .content($0) }
        return .requested(
          WakeRequest(
            app: app, token: token, reason: reasons[random.below(5)], manifestDigest: ["", "d", "e"][random.below(3)],
            isGateClosed: random.chance(4), isSimulated: random.chance(9)))
      case 10: return .withdrawn(app: app, token: token)
      case 11: return .moreRequested(run: running.randomElement(using: &random) ?? 0)
      case 12...15:
        guard !running.isEmpty else { return .tick }
        let run = running[random.below(running.count)]
        // It may use all that it was granted, and no more.
        let granted = planner.runs.first { $0.number == run }?.granted ?? .zero
        return .ended(
          run: run, runtime: granted * Double(random.below(101)) / 100,
          end: random.chance(3) ? RunEnd.allCases[random.below(RunEnd.allCases.count)] : .returned)
      case 16: return random.chance(5) ? .restarted : .tick
      case 17:
        var settings = ServiceSettings()
        settings.isBackgroundActivityAllowed = !random.chance(4)
        settings.isContentBeforeLaunchAllowed = !random.chance(4)
        settings.maxWakes = 1 + random.below(3)
        if random.chance(3) { settings.apps[app] = .init(dailyRuntime: .seconds(random.below(400))) }
        return .settingsChanged(settings)
      case 18: return .conditionsChanged(.init(isLowPower: random.chance(4), isOnline: !random.chance(4)))
      default: return random.chance(8) ? .runtimeReset(app: app) : .tick
      }
    }

    mutating func take(_ event: WakePlanner.Event, _ effects: [WakePlanner.Effect]) {
      switch event {
      case .requested(let request): open.insert("\(request.app) \(request.token)")
      case .withdrawn(let app, let token): open.remove("\(app) \(token)")
      case .removed(let app): open = open.filter { !$0.hasPrefix("\(app) ") }
      case .ended(let run, _, _): running.removeAll { $0 == run }
      case .restarted:
        open.removeAll()
        running.removeAll()
      default: break
      }
      for effect in effects {
        switch effect {
        case .wake(let grant):
          running.append(grant.run)
          #expect(open.remove("\(grant.request.app) \(grant.request.token)") != nil, "answered twice")
        case .refuse(let request, _):
          #expect(open.remove("\(request.app) \(request.token)") != nil, "answered twice")
        default: break
        }
      }
    }
  }

  @Test(
    "Budgets are never exceeded or negative, wakes are bounded, and every request is answered once [B10, B18, B19]",
    arguments: [Seed.current])
  func random(seed: Seed) throws {
    var world = World(random: seed.generator)
    for step in 0..<10_000 {
      world.now = world.now + .seconds(world.random.below(900))
      let before = world.planner
      let event = world.next()
      let effects = try world.planner.handleAsTwins(event, now: world.now)
      world.take(event, effects)
      Self.check(world, before, event, effects)
      guard step % 50 == 0 else { continue }
      Self.drain(world)
    }
  }

  private static func check(
    _ world: World, _ before: WakePlanner, _ event: WakePlanner.Event, _ effects: [WakePlanner.Effect]
  ) {
    let planner = world.planner
    for (app, record) in planner.apps {
      let granted = planner.runs.lazy.filter { $0.request.app == app }.map(\.granted).reduce(.zero, +)
      #expect(record.runtime.reserved >= granted && record.runtime.charged >= .zero && record.running >= 0)
      if event == .restarted, let old = before.apps[app], old.runtime.renewsAt.map({ $0 > world.now }) ?? true {
        #expect(record.runtime.used == old.runtime.used, "a crash changes no account")
      }
    }
    for effect in effects {
      guard case .wake(let grant) = effect, let record = planner.apps[grant.request.app] else { continue }
      let app = grant.request.app
      #expect(record.runtime.used <= planner.dailyRuntime(of: app, now: world.now))
      #expect(grant.runtime > .zero && planner.runs.count <= planner.settings.maxWakes)
      #expect(planner.runs.lazy.filter { $0.request.app == app }.count == 1, "one run of an app at a time")
      #expect(!planner.conditions.isLowPower && planner.settings[app].isBackgroundActivityAllowed == true)
    }
  }

  /// When the runs end, everything in the queue is answered.
  private static func drain(_ state: World) {
    var world = state
    for _ in 0..<200 where !world.planner.runs.isEmpty {
      let event = WakePlanner.Event.ended(
        run: world.planner.runs[0].number, runtime: .zero, end: .returned)
      world.take(event, world.planner.handle(event, now: world.now))
    }
    #expect(world.open.isEmpty && world.planner.queue.isEmpty)
  }

  @Test("Apps that all ask all the time get the same number of wakes")
  func fair() {
    let apps = (0..<7).map { "a\($0)" }
    var planner = WakePlannerTests.planner(apps)
    var counts: [String: Int] = [:]
    var token = 0
    var pending: [WakePlanner.Effect] = []
    for step in 0..<700 {
      let now = Instant(seconds: Double(step * 700))
      for app in apps {
        token += 1
        pending += planner.handle(.requested(WakePlannerTests.request(app, token: token, digest: "")), now: now)
      }
      for run in planner.runs {
        pending += planner.handle(.ended(run: run.number, runtime: .seconds(1), end: .returned), now: now)
      }
    }
    for case .wake(let grant) in pending { counts[grant.request.app, default: 0] += 1 }
    #expect((counts.values.max() ?? 0) - (counts.values.min() ?? 0) <= 1, "\(counts)")
  }
}
