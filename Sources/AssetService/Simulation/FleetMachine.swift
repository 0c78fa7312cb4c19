internal import AssetModel
internal import Basics
internal import Downloads
internal import ServiceMachines

/// One machine of a fleet, with one app: the service's own machines, and what its executors would do.
struct FleetMachine {
  static let app = "app"

  enum Event {
    case tick
    case launch
    case exit
    case update
    /// A request reaches the origin.
    case manifest(generation: Int, attempt: Int)
    case file(attempt: Int)
    /// The extension has answered.
    case answered(run: Int64)
  }

  /// What happens next, and when.
  typealias Plan = (event: Event, moment: Instant)

  private var planner: WakePlanner
  private var lifecycle: AppLifecycle
  private var random: SeededGenerator
  private let isSpread: Bool
  /// Launches a day.
  private let launches: Double
  private var version = 1
  /// The tick that is planned.
  private var nextTick: Instant?
  private(set) var wakes = 0
  private(set) var manifestRequests = 0
  private(set) var fileRequests = 0
  private(set) var retries = 0
  /// The first request that failed for want of the origin, until one succeeds.
  private(set) var isUnserved = false
  private(set) var wasConcerned = false

  static let day: Duration = .days(1)

  init(seed: UInt64, isSpread: Bool) {
    random = SeededGenerator(seed: seed)
    self.isSpread = isSpread
    planner = WakePlanner(seed: random.next())
    planner.isSpread = isSpread
    lifecycle = AppLifecycle(app: Self.app, now: .start)
    // Some apps are used every day, some now and then, some hardly ever.
    launches = [2, 2, 0.4, 0.4, 0.05][Int(random.next() % 5)]
  }

  /// Installs the app before the time begins that counts.
  mutating func begin() -> [Plan] {
    _ = planner.handle(.installed(app: Self.app, version: "1"), now: .start)
    _ = lifecycle.handle(.placed(version: "1", kind: .install), now: .start)
    _ = lifecycle.handle(
      .manifestFailed(generation: 1, failure: .framework(0, "installed before")), now: .start)
    _ = lifecycle.handle(.versionPlaced(version: "1"), now: .start)
    var plans = planTick()
    plans.append((.launch, Instant.start + Self.day * random.fraction()))
    plans.append((.update, Instant.start + Self.day * (14 * random.fraction())))
    return plans
  }

  /// `isOriginUp`: at this moment.
  mutating func handle(_ event: Event, _ now: Instant, isOriginUp: Bool) -> [Plan] {
    var plans: [Plan] = []
    switch event {
    case .tick:
      nextTick = nil
      plans = plan(planner.handle(.tick, now: now), now) + run(lifecycle.handle(.tick, now: now), now)
    case .launch:
      plans =
        plan(planner.handle(.launched(app: Self.app), now: now), now) + run(lifecycle.handle(.launched, now: now), now)
      plans.append((.exit, now + .minutes(1) * (40 * random.fraction())))
      // Exponential waits would need a logarithm; these have the same mean.
      plans.append((.launch, now + Self.day * (2 * random.fraction() / launches)))
    case .exit:
      plans =
        plan(planner.handle(.exited(app: Self.app), now: now), now) + run(lifecycle.handle(.exited, now: now), now)
    case .update:
      version += 1
      _ = planner.handle(.installed(app: Self.app, version: "\(version)"), now: now)
      plans = run(lifecycle.handle(.placed(version: "\(version)", kind: .update), now: now), now)
      plans.append((.update, now + Self.day * (28 * random.fraction())))
    case .manifest(let generation, let attempt): plans = manifest(generation, attempt, now, isOriginUp)
    case .file(let attempt):
      fileRequests += 1
      if attempt > 0 { retries += 1 }
      if !isOriginUp { plans = [(.file(attempt: attempt + 1), now + delay(.prefetch, attempt))] }
      note(isOriginUp)
    case .answered(let run): plans = answered(run, now)
    }
    return plans + planTick()
  }

  private mutating func manifest(_ generation: Int, _ attempt: Int, _ now: Instant, _ isOriginUp: Bool) -> [Plan] {
    guard let active = lifecycle.active, active.generation == generation, active.stage == .manifest else { return [] }
    manifestRequests += 1
    if attempt > 0 { retries += 1 }
    note(isOriginUp)
    if isOriginUp {
      return run(lifecycle.handle(.manifestFetched(generation: generation, digest: "d", size: 1), now: now), now)
    }
    // Behind a gate the engine tries again; otherwise the planner does.
    let policy = RetryPolicy(transferClass: .essential, appIdleForWeek: false)
    if active.isGated, attempt + 1 < policy.attemptLimit ?? .max {
      return [(.manifest(generation: generation, attempt: attempt + 1), now + delay(.essential, attempt))]
    }
    let failure = Failure(domain: Failure.networkDomain, code: -1004, message: "the origin is away")
    return run(lifecycle.handle(.manifestFailed(generation: generation, failure: failure), now: now), now)
  }

  private mutating func note(_ isOriginUp: Bool) {
    isUnserved = !isOriginUp
    wasConcerned = wasConcerned || !isOriginUp
  }

  /// Of the engine's own policy.
  private mutating func delay(_ transferClass: TransferClass, _ attempt: Int) -> Duration {
    RetryPolicy(transferClass: transferClass, appIdleForWeek: false)
      .delay(fruitless: attempt, random: isSpread ? random.fraction() : 0.5)
  }

  private mutating func answered(_ number: Int64, _ now: Instant) -> [Plan] {
    var plans = plan(planner.handle(.ended(run: number, runtime: .seconds(1), end: .returned), now: now), now)
    plans += run(lifecycle.handle(.answered(run: number, accepted: [], rejected: []), now: now), now)
    // Now and then there is something new to fetch.
    if random.fraction() < 0.3 { plans.append((.file(attempt: 0), now + .seconds(2))) }
    return plans
  }

  private mutating func run(_ effects: [AppLifecycle.Effect], _ now: Instant) -> [Plan] {
    effects.flatMap { effect -> [Plan] in
      switch effect {
      case .fetchManifest(let generation, _, _):
        return [(.manifest(generation: generation, attempt: 0), now + .milliseconds(100))]
      case .askForWake(let generation, let kind, let digest, _, let isSimulated):
        let request = WakeRequest(
          app: Self.app, token: generation, reason: .content(kind), manifestDigest: digest,
          isGateClosed: lifecycle.gate.isClosed, isSimulated: isSimulated)
        return plan(planner.handle(.requested(request), now: now), now)
      case .startExtension(let run, _, _, _):
        wakes += 1
        return [(.answered(run: run), now + .seconds(1))]
      case .placeVersion(let version): return run(lifecycle.handle(.versionPlaced(version: version), now: now), now)
      case .retryPeriodicLater: return plan(planner.handle(.periodicFailed(app: Self.app), now: now), now)
      default: return []
      }
    }
  }

  private mutating func plan(_ effects: [WakePlanner.Effect], _ now: Instant) -> [Plan] {
    effects.flatMap { effect -> [Plan] in
      switch effect {
      case .wake(let grant):
        run(lifecycle.handle(.wakeGranted(generation: grant.request.token, run: grant.run), now: now), now)
      case .refuse(let request, let refusal):
        run(lifecycle.handle(.wakeRefused(generation: request.token, refusal: refusal), now: now), now)
      case .periodicDue: run(lifecycle.handle(.requested(.periodic, isSimulated: false), now: now), now)
      case .reconsider: run(lifecycle.handle(.conditionsChanged, now: now), now)
      case .extended, .exhausted, .end: []
      }
    }
  }

  private mutating func planTick() -> [Plan] {
    guard let next = [planner.nextDeadline, lifecycle.nextDeadline].compactMap(\.self).min(),
      next < nextTick ?? Instant(nanoseconds: .max)
    else { return [] }
    nextTick = next
    return [(.tick, next)]
  }
}
