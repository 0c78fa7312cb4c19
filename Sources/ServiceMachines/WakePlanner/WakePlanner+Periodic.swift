internal import AssetModel

// Apps that come, go and are used, and their periodic wakes (B1, B3, B22, B23).
extension WakePlanner {
  mutating func installed(_ app: String, _ version: String, _ now: Instant) -> [Effect] {
    guard apps[app] != nil else {
      var record = WakeRecord(version: version, installedAt: now, phase: spread())
      record.nextPeriodic = record.nextSlot(after: now, settings[app].periodicInterval)
      // A run of the app that was removed may still be on its way out.
      for run in runs where run.request.app == app { record.runtime.reserve(run.granted, now) }
      apps[app] = record
      return []
    }
    apps[app]?.version = version
    apps[app]?.quarantine = nil
    return reconsider(app)
  }

  mutating func removed(_ app: String, _ now: Instant) -> [Effect] {
    apps[app] = nil
    queue.removeAll { $0.app == app }
    let ends = runs.filter { $0.request.app == app }.map {
      Effect.end(run: $0.number, refusal: WakeRefusal(reason: .unknownApp))
    }
    return ends + startQueued(now)
  }

  mutating func launched(_ app: String, _ now: Instant) -> [Effect] {
    guard let record = apps[app] else { return [] }
    let wasThrottled = record.periodicInterval(now: now)
    apps[app]?.running += 1
    apps[app]?.use.launched(now)
    apps[app]?.periodicSinceLaunch = 0
    if apps[app]?.periodicInterval(now: now) != wasThrottled {
      scheduleNext(app, after: now)
      // What is made up for isn't put off by that.
      if record.isMakingUp, let due = record.nextPeriodic { apps[app]?.nextPeriodic = due }
    }
    return record.lastRefusal?.reason == .contentBeforeLaunchOff ? reconsider(app) : []
  }

  mutating func exited(_ app: String, _ now: Instant) -> [Effect] {
    guard let record = apps[app], record.running > 0 else { return [] }
    apps[app]?.running -= 1
    guard record.running == 1 else { return [] }
    makeUp(app, within: .minutes(10), now)
    return record.lastRefusal?.reason == .appInUse ? reconsider(app) : []
  }

  /// Whether a due periodic wake waits for something that comes as an event.
  func isPeriodicHeld(_ app: String, _ record: WakeRecord) -> Bool {
    record.running > 0 || !conditions.isOnline || situationRefusal(app) != nil
  }

  /// Moves an overdue periodic wake to a random moment within `window`.
  mutating func makeUp(_ app: String, within window: Duration, _ now: Instant) {
    guard let record = apps[app], let due = record.nextPeriodic, due <= now, !isPeriodicHeld(app, record) else {
      return
    }
    let moment = now + window * spread()
    apps[app]?.nextPeriodic = moment
    apps[app]?.isMakingUp = true
  }

  /// Later than this a wake was missed: the machine slept, or the service didn't run.
  static let punctuality: Duration = .minutes(5)
  /// Within this time a missed wake is made up.
  static let makeUpWindow: Duration = .hours(2)

  mutating func tick(_ now: Instant) -> [Effect] {
    var effects: [Effect] = []
    for app in apps.keys.sorted() {
      if let until = apps[app]?.lastRefusal?.until, until <= now { effects += reconsider(app) }
      effects += periodicTick(app, now)
    }
    return effects + startQueued(now)
  }

  private mutating func periodicTick(_ app: String, _ now: Instant) -> [Effect] {
    guard let record = apps[app], let due = record.nextPeriodic, due <= now, !isPeriodicHeld(app, record) else {
      return []
    }
    if !record.isMakingUp, due + Self.punctuality < now {
      makeUp(app, within: Self.makeUpWindow, now)
      return []
    }
    let request = WakeRequest(
      app: app, token: 0, reason: .content(.periodic), manifestDigest: record.manifestDigest)
    apps[app]?.isMakingUp = false
    if let refusal = refusal(of: request, now: now), refusal.reason != .quarantined {
      // The log says why; a refused one isn't made up.
      apps[app]?.lastRefusal = refusal
      scheduleNext(app, after: max(now, refusal.until ?? now))
      return []
    }
    // In quarantine the manifest is asked for all the same: a changed one ends it.
    apps[app]?.periodicSinceLaunch += 1
    scheduleNext(app, after: now)
    return [.periodicDue(app: app)]
  }

  /// An origin that is away meets the whole fleet of its apps: the next attempts are far apart, and further each time, so
  /// that its return isn't its next fall.
  mutating func periodicFailed(_ app: String, _ now: Instant) -> [Effect] {
    guard let record = apps[app] else { return [] }
    // It wasn't one of those that an unused app gets fewer of.
    apps[app]?.periodicSinceLaunch = max(0, record.periodicSinceLaunch - 1)
    apps[app]?.failedPeriodics += 1
    let delay = min(.hours(12), .minutes(30) * (1 << min(record.failedPeriodics, 5))) * (0.5 + 2 * spread())
    apps[app]?.nextPeriodic = min(now + delay, record.nextPeriodic ?? now + delay)
    apps[app]?.isMakingUp = true
    return []
  }

  mutating func scheduleNext(_ app: String, after moment: Instant) {
    let next = apps[app]?.nextSlot(after: moment, settings[app].periodicInterval)
    apps[app]?.nextPeriodic = next
  }
}
