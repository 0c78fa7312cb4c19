internal import AssetModel
internal import Basics

/// When an extension may run: daily runtime, throttling by use, periodic wakes, quarantine, settings and power
/// (B3, B9, B10, B18 to B23, B26, X1). One for the service.
///
/// Runtime is reserved before a run starts and replaced by what was used when it ends, so that an extension gains none by crashing.
package struct WakePlanner: Sendable, Equatable, Codable {
  package internal(set) var settings: ServiceSettings
  package internal(set) var conditions = Conditions()
  package internal(set) var apps: [String: WakeRecord] = [:]
  /// Requests that wait for room, in the order in which they came.
  package internal(set) var queue: [WakeRequest] = []
  package internal(set) var runs: [Run] = []
  var lastRun: Int64 = 0
  var randomness: SeededGenerator
  /// Off only in a simulation that shows what spreading is for.
  package var isSpread = true

  package struct Run: Sendable, Equatable, Codable {
    package var number: Int64
    package var request: WakeRequest
    /// Reserved for it, extensions included.
    package var granted: Duration
    package var since: Instant
  }

  /// Runtime is granted in parts of this size: as much is lost when the service dies.
  package static let slice: Duration = .seconds(60)
  /// Less isn't worth a wake.
  static let minRuntime: Duration = .seconds(1)
  /// Between runs for callbacks that the host couldn't make.
  static let hostFailureDelay: Duration = .seconds(5)
  /// Requests of one app that may wait.
  static let maxQueuePerApp = 8

  package init(settings: ServiceSettings = .init(), seed: UInt64) {
    self.settings = settings
    randomness = SeededGenerator(seed: seed)
  }

  /// In 0..<1.
  mutating func spread() -> Double { isSpread ? randomness.fraction() : 0.5 }

  /// When `tick` has something to do.
  package var nextDeadline: Instant? {
    var next: Instant?
    for (app, record) in apps {
      for case let moment? in [
        isPeriodicHeld(app, record) ? nil : record.nextPeriodic,
        record.isReconsidered ? nil : record.lastRefusal?.until,
      ] where moment < next ?? moment + .nanoseconds(1) { next = moment }
    }
    return next
  }

  package mutating func handle(_ event: Event, now: Instant) -> [Effect] {
    for (app, record) in apps where record.runtime.renewsAt.map({ $0 <= now }) ?? false {
      apps[app]?.runtime.renew(now)
    }
    switch event {
    case .installed(let app, let version): return installed(app, version, now)
    case .removed(let app): return removed(app, now)
    case .launched(let app): return launched(app, now)
    case .exited(let app): return exited(app, now)
    case .requested(let request): return requested(request, now)
    case .withdrawn(let app, let token):
      queue.removeAll { $0.app == app && $0.token == token }
      return []
    case .moreRequested(let run): return moreRequested(run, now)
    case .ended(let run, let runtime, let end): return ended(run, runtime, end, now)
    case .settingsChanged(let settings):
      let former = self.settings
      self.settings = settings
      for app in apps.keys.sorted() where former[app].periodicInterval != settings[app].periodicInterval {
        scheduleNext(app, after: now)
      }
      return situationChanged(now)
    case .conditionsChanged(let conditions):
      self.conditions = conditions
      return situationChanged(now)
    case .periodicFailed(let app): return periodicFailed(app, now)
    case .runtimeReset(let app):
      apps[app]?.runtime.charged = .zero
      return reconsider(app)
    case .tick: return tick(now)
    case .restarted: return restarted(now)
    }
  }

  /// A day's runtime of an app, as it stands now.
  package func dailyRuntime(of app: String, now: Instant) -> Duration {
    guard let record = apps[app] else { return .zero }
    // What the user set for one app isn't adapted.
    if let own = settings.apps[app]?.dailyRuntime { return own }
    return record.dailyRuntime(settings.dailyRuntime, now: now)
  }

  func runtimeLeft(_ app: String, _ now: Instant, isReset: Bool = false) -> Duration {
    guard let record = apps[app] else { return .zero }
    return max(.zero, dailyRuntime(of: app, now: now) - (isReset ? .zero : record.runtime.used))
  }

  /// Why the app's extension can't run for `request` now; nil: it can.
  package func refusal(of request: WakeRequest, now: Instant) -> WakeRefusal? {
    guard let record = apps[request.app] else { return WakeRefusal(reason: .unknownApp) }
    if let situation = situationRefusal(request.app) { return situation }
    if !request.isSimulated, let quarantine = record.quarantine, quarantine.until > now,
      request.manifestDigest.isEmpty || quarantine.manifestDigest == request.manifestDigest
    {
      return WakeRefusal(reason: .quarantined, until: quarantine.until)
    }
    if request.reason == .callbacks, let until = record.hostFailedUntil, until > now {
      return WakeRefusal(reason: .hostFailed, until: until)
    }
    // What a simulated one has reset may be used up again before its turn, or be reserved for what goes on (B26).
    if runtimeLeft(request.app, now, isReset: request.isSimulated) < Self.minRuntime {
      return WakeRefusal(reason: .runtimeSpent, until: record.runtime.renewsAt)
    }
    if request.reason == .content(.periodic), record.running > 0, !request.isSimulated {
      return WakeRefusal(reason: .appInUse)
    }
    return nil
  }

  /// What settings and power say, whatever the request (B9, B10).
  package func situationRefusal(_ app: String) -> WakeRefusal? {
    let own = settings[app]
    if conditions.isLowPower { return WakeRefusal(reason: .lowPower) }
    if own.isBackgroundActivityAllowed == false { return WakeRefusal(reason: .backgroundActivityOff) }
    if own.isContentBeforeLaunchAllowed == false, apps[app]?.use.lastLaunch == nil {
      return WakeRefusal(reason: .contentBeforeLaunchOff)
    }
    return nil
  }

  /// The last refusal, as long as what it was for lasts.
  package func standingRefusal(_ app: String, now: Instant) -> WakeRefusal? {
    guard let record = apps[app], let last = record.lastRefusal, last.until.map({ $0 > now }) ?? true else {
      return nil
    }
    switch last.reason {
    case .lowPower, .backgroundActivityOff, .contentBeforeLaunchOff: return situationRefusal(app)
    case .quarantined: return record.quarantine.map { WakeRefusal(reason: .quarantined, until: $0.until) }
    case .runtimeSpent: return runtimeLeft(app, now) < Self.minRuntime ? last : nil
    case .appInUse: return record.running > 0 ? last : nil
    case .hostFailed, .interrupted, .unknownApp: return last
    }
  }

  private mutating func restarted(_ now: Instant) -> [Effect] {
    queue.removeAll()
    for run in runs { apps[run.request.app]?.runtime.charge(run.granted, ofReserved: run.granted) }
    runs.removeAll()
    for app in apps.keys { apps[app]?.running = 0 }
    return tick(now)
  }
}
