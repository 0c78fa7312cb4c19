internal import AssetModel
internal import ServiceMachines

/// Everything that the service decides: its machines, joined. What one of them wants of another is an event for that one;
/// what is left are actions for executors.
///
/// A value without I/O, clock or randomness of its own: the same events at the same moments give the same actions.
struct ServiceCore: Sendable, Equatable {
  private(set) var planner: WakePlanner
  private(set) var settings: ServiceSettings
  private(set) var conditions: Conditions
  private(set) var apps: [String: AppMachines] = [:]
  private(set) var lastOccurrence: Int64
  /// Since the last `takeChanges`.
  private var changed: Set<String> = []

  /// Why the last download wasn't admitted.
  var lastRefusal: Failure?
  private var queue: [CoreEvent] = []
  private var actions: [Action] = []

  init(
    planner: WakePlanner, settings: ServiceSettings, conditions: Conditions, apps: [String: AppMachines] = [:],
    lastOccurrence: Int64 = 0
  ) {
    self.planner = planner
    self.settings = settings
    self.conditions = conditions
    self.apps = apps
    self.lastOccurrence = lastOccurrence
  }

  /// The apps whose machines may have changed since the last call; "" for what is the service's own.
  mutating func takeChanges() -> Set<String> {
    defer { changed = [] }
    return changed
  }

  mutating func handle(_ event: CoreEvent, now: Instant) -> [Action] {
    queue.append(event)
    var next = 0
    while next < queue.count {
      let event = queue[next]
      next += 1
      dispatch(event, now)
    }
    queue.removeAll(keepingCapacity: true)
    defer { actions = [] }
    return actions
  }

  private mutating func dispatch(_ event: CoreEvent, _ now: Instant) {
    switch event {
    case .app(let app, let event):
      changed.insert(app)
      if case .placed(let version, let kind, let facts) = event { return placed(app, version, kind, facts, now) }
      guard apps[app] != nil else { return orphaned(app, event) }
      handle(event, of: app, now)
    case .planner(let event):
      changed.insert("")
      for effect in planner.handle(event, now: now) { route(effect) }
    case .settings(let settings):
      set(settings)
      conditionsChanged()
    case .conditions(let conditions):
      changed.insert("")
      let language = self.conditions.language
      self.conditions = conditions
      queue.append(.planner(.conditionsChanged(conditions)))
      conditionsChanged()
      // What isn't known yet hasn't changed (B1).
      if let language, let now = conditions.language, language != now {
        for app in apps.keys.sorted() { tell(app, .lifecycle(.requested(.languageChange, isSimulated: false))) }
      }
    case .tick:
      queue.append(.planner(.tick))
      for app in apps.keys.sorted() {
        // Not `.app`, which would count as a change of every app every time.
        guard let machines = apps[app] else { continue }
        tick(app, now)
        if apps[app] != machines { changed.insert(app) }
      }
    case .restarted:
      queue.append(.planner(.restarted))
      for (app, machines) in apps.sorted(by: { $0.key < $1.key }) {
        let router = EventRouter.Event.restarted(isAppRunning: machines.lifecycle.running > 0)
        queue += [
          .app(app, .control(.restarted)), .app(app, .router(router)), .app(app, .ledger(.restarted)),
          .app(app, .restrictions(.restarted)), .app(app, .registry(.restarted)), .app(app, .lifecycle(.restarted)),
        ]
      }
    }
  }

  private mutating func set(_ settings: ServiceSettings) {
    changed.insert("")
    self.settings = settings
    queue.append(.planner(.settingsChanged(settings)))
  }

  /// The app is gone, and one that is installed under its name begins with none.
  mutating func forgetSettings(of app: String) {
    guard settings.apps[app] != nil else { return }
    var others = settings
    others.apps[app] = nil
    set(others)
  }

  private mutating func conditionsChanged() {
    for app in apps.keys.sorted() {
      let isAllowed = settings[app].isBackgroundActivityAllowed ?? true
      let isContentAllowed = settings[app].isContentBeforeLaunchAllowed ?? true
      queue.append(.app(app, .restrictions(.contentBeforeLaunch(isAllowed: isContentAllowed))))
      queue.append(.app(app, .registry(.conditions(isBackgroundActivityAllowed: isAllowed && !conditions.isLowPower))))
      queue.append(.app(app, .lifecycle(.conditionsChanged)))
    }
  }

  private mutating func tick(_ app: String, _ now: Instant) {
    for effect in apps[app]?.lifecycle.handle(.tick, now: now) ?? [] { route(.lifecycle(effect), of: app) }
    for effect in apps[app]?.router.handle(.tick, now: now) ?? [] { route(.router(effect), of: app) }
    for effect in apps[app]?.control.handle(.tick, now: now) ?? [] { route(.control(effect), of: app) }
    pace(app, .tick, now)
  }

  private mutating func placed(
    _ app: String, _ version: String, _ kind: AppLifecycle.PlacementKind, _ facts: AppMachines.Facts, _ now: Instant
  ) {
    if apps[app] == nil {
      apps[app] = AppMachines(
        facts: facts, lifecycle: AppLifecycle(app: app, now: now), registry: DownloadRegistry(), router: EventRouter(),
        ledger: DeliveryLedger(),
        control: ExclusiveControl(), restrictions: Restrictions(limits: facts.limits), progress: InstallProgress())
      // Says which budgets there are.
      queue.append(.app(app, .restrictions(.limitsChanged(facts.limits))))
    } else if let former = apps[app]?.facts, former != facts {
      if apps[app]?.lifecycle.version != nil, apps[app]?.formerFacts == nil { apps[app]?.formerFacts = former }
      apps[app]?.facts = facts
      queue.append(.app(app, .restrictions(.limitsChanged(facts.limits))))
    }
    queue += [
      .planner(.installed(app: app, version: version)),
      .app(app, .progress(.began(estimate: facts.limits.essentialAllowance))),
      .app(app, .progress(.base(1))), .app(app, .lifecycle(.placed(version: version, kind: kind))),
    ]
    conditionsChanged()
  }

  /// For an app that is gone: pending calls get an answer, and a run that was granted before gives its turn back.
  private mutating func orphaned(_ app: String, _ event: AppEvent) {
    switch event {
    case .schedule(let call, _, _), .startForeground(let call, _, _, _), .registry(.schedule(let call, _, _)),
      .registry(.cancel(let call, _, _, _, _)), .registry(.pause(let call, _)), .registry(.resume(let call, _)):
      act(.reply(call: call, result: .failure(.framework(55, "the app \(app) isn't installed"))))
    case .control(.requested(let claim, _)): act(.controlRefused(app: app, claim: claim, refusal: .appRemoved))
    case .runEnded(let run, let end): tellPlanner(.ended(run: run, runtime: .zero, end: end))
    default: break
    }
  }

  /// When `tick` has something to do. Asked after every event: nothing is allocated.
  var nextDeadline: Instant? {
    var next = planner.nextDeadline
    func consider(_ deadline: Instant?) {
      guard let deadline else { return }
      next = min(next ?? deadline, deadline)
    }
    for machines in apps.values {
      consider(machines.lifecycle.nextDeadline)
      consider(machines.router.nextDeadline)
      consider(machines.control.nextDeadline)
      consider(machines.pace.nextDeadline)
    }
    return next
  }

  // MARK: For the routing

  mutating func act(_ action: Action) { actions.append(action) }
  mutating func tell(_ app: String, _ event: AppEvent) { queue.append(.app(app, event)) }
  mutating func tellPlanner(_ event: WakePlanner.Event) { queue.append(.planner(event)) }
  mutating func change(_ app: String, _ body: (inout AppMachines) -> Void) {
    guard var machines = apps[app] else { return }
    // Taken out while it changes, so that nothing is copied.
    apps[app] = nil
    body(&machines)
    apps[app] = machines
  }
  mutating func remove(_ app: String) { apps[app] = nil }
  mutating func newOccurrence() -> Int64 {
    lastOccurrence += 1
    changed.insert("")
    return lastOccurrence
  }
}
