internal import AssetModel
internal import Basics
internal import ServiceMachines

/// One machine with apps, people and bad luck, by a script that follows from a seed. The service in it is `ServiceCore`,
/// the one that `outriderd` runs: only its executors are others.
struct DaysWorld {
  enum Event {
    case tick
    case install(Int)
    case launch(Int)
    case exit(Int)
    case update(Int)
    case network(isOnline: Bool)
    case sleep(hours: Double)
    case power(isLow: Bool)
    case disk(isFull: Bool)
    case kill
    case attempt(SimulatedTransfers.Key, number: Int)
    case arrived(SimulatedTransfers.Key, number: Int)
    case contentRun(app: String, run: Int64)
    case callbackDone(app: String, run: Int64, number: Int64)
    case delegateDone(app: String, connection: Int64, number: Int64)
  }

  struct Run {
    var app: String
    var began: Instant
    var isCallback: Bool
    /// Occurrences that it was called for and hasn't answered.
    var calls: Set<Int64> = []
  }

  struct Deliveries {
    /// Scheduled and not told yet.
    var untold: [SimulatedTransfers.Key: Instant] = [:]
    var told: Set<SimulatedTransfers.Key> = []
    /// Files that their recipient has moved away.
    var moved: Set<SimulatedTransfers.Key> = []
  }

  struct Machine {
    var asleepUntil = Instant.start
    var isOnline = true
    var isDiskFull = false
    var isLowPower = false
    var offlineSince: Instant?
    var fullSince: Instant?
  }

  struct Gate {
    let since: Instant
    /// Of the progress that was shown last.
    var fraction = 0.0
  }

  var core: ServiceCore
  var queue = EventQueue<Event>()
  var now = Instant.start
  var random: SeededGenerator
  var report: DaysReport
  var transfers = SimulatedTransfers()
  var runs: [Int64: Run] = [:]
  var connections: [String: Int64] = [:]
  var lastConnection: Int64 = 0
  var deliveries = Deliveries()
  var machine = Machine()
  var nextTick: Instant?
  /// Gates that are closed, by app.
  var gates: [String: Gate] = [:]
  let end: Instant

  init(days: Int, apps: Int, seed: UInt64) {
    random = SeededGenerator(seed: seed)
    end = .start + .days(days)
    report = DaysReport(days: days, seed: seed)
    core = ServiceCore(
      planner: WakePlanner(seed: random.next()), settings: ServiceSettings(), conditions: Conditions())
    for index in 0..<apps {
      // As on a real machine: a few much-used apps, many that are hardly opened.
      let launches = [4, 1, 1, 0.2, 0][index % 5]
      report.apps.append(.init(identifier: "app\(index)", launchesPerDay: launches, version: 0))
      queue.add(.install(index), at: .start + .hours(48) * random.fraction())
    }
    queue.add(.network(isOnline: false), at: .start + .hours(20) * random.fraction())
    queue.add(.sleep(hours: 8), at: .start + .hours(16))
    queue.add(.power(isLow: true), at: .start + .days(3) * random.fraction())
    queue.add(.disk(isFull: true), at: .start + .days(10) * random.fraction())
    queue.add(.kill, at: .start + .days(2) * random.fraction())
  }

  mutating func run() -> DaysReport {
    while let next = queue.next(until: end) {
      // A machine that sleeps does nothing; what was due is due when it wakes.
      if next.moment < machine.asleepUntil {
        queue.add(next.event, at: machine.asleepUntil)
        continue
      }
      now = max(now, next.moment)
      report.events += 1
      handle(next.event)
      planTick()
    }
    finish()
    return report
  }

  private mutating func handle(_ event: Event) {
    switch event {
    case .tick:
      nextTick = nil
      tell(.tick)
    case .install(let index): install(index)
    case .launch(let index): launch(index)
    case .exit(let index): exit(index)
    case .update(let index): update(index)
    case .network(let isOnline): setNetwork(isOnline)
    case .sleep(let hours): sleep(hours)
    case .power(let isLow): setPower(isLow)
    case .disk(let isFull): setDisk(isFull)
    case .kill: kill()
    case .attempt(let key, let number): attempt(key, number)
    case .arrived(let key, let number): arrived(key, number)
    case .contentRun(let app, let run): answerContent(app, run)
    case .callbackDone(let app, let run, let number): answerCallback(app, run, number)
    case .delegateDone(let app, let connection, let number): answerDelegate(app, connection, number)
    }
  }

  mutating func tell(_ event: CoreEvent) {
    let actions = core.handle(event, now: now)
    _ = core.takeChanges()
    checkGates()
    for action in actions { carryOut(action) }
  }

  mutating func tell(_ app: String, _ event: AppEvent) { tell(.app(app, event)) }

  private mutating func planTick() {
    guard let next = core.nextDeadline, next < nextTick ?? Instant(nanoseconds: .max) else { return }
    nextTick = next
    queue.add(.tick, at: max(next, now))
  }

  func index(of app: String) -> Int? { Int(app.dropFirst(3)) }

  mutating func note(_ app: String?, _ event: String, _ detail: String = "") {
    guard report.timeline.count < DaysReport.maxTimeline else { return }
    report.timeline.append(
      .init(at: DaysReport.text(of: now.seconds), app: app, event: event, detail: detail))
  }

  mutating func violated(_ text: String) {
    guard report.violations.count < DaysReport.maxViolations else { return }
    report.violations.append("\(DaysReport.text(of: now.seconds)) \(text)")
  }
}
