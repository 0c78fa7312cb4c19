internal import AssetModel

// Requests: granted, refused, or queued until there is room.
extension WakePlanner {
  mutating func requested(_ request: WakeRequest, _ now: Instant) -> [Effect] {
    // Callbacks that come while a run for callbacks ends need another one.
    if request.reason != .callbacks,
      let run = runs.first(where: { $0.request.app == request.app && $0.request.token == request.token })
    {
      return [.wake(WakeGrant(run: run.number, request: run.request, runtime: run.granted))]
    }
    if queue.contains(where: { $0.app == request.app && $0.token == request.token }) { return [] }
    if !request.manifestDigest.isEmpty { noteManifest(request.manifestDigest, of: request.app) }
    if request.reason != .callbacks { apps[request.app]?.failedPeriodics = 0 }
    if let refusal = refusal(of: request, now: now) { return refuse(request, refusal) }
    guard queue.lazy.filter({ $0.app == request.app }).count < Self.maxQueuePerApp else {
      return refuse(request, WakeRefusal(reason: .runtimeSpent, until: now + Self.slice))
    }
    queue.append(request)
    return startQueued(now)
  }

  private mutating func noteManifest(_ digest: String, of app: String) {
    apps[app]?.manifestDigest = digest
    // A changed manifest ends quarantine at once.
    if let quarantine = apps[app]?.quarantine, quarantine.manifestDigest != digest { apps[app]?.quarantine = nil }
  }

  private mutating func refuse(_ request: WakeRequest, _ refusal: WakeRefusal) -> [Effect] {
    apps[request.app]?.lastRefusal = refusal
    apps[request.app]?.isReconsidered = false
    return [.refuse(request: request, refusal: refusal)]
  }

  /// Grants what there is room for: who waits at a gate first, then the app whose last wake is longest ago.
  mutating func startQueued(_ now: Instant) -> [Effect] {
    var effects: [Effect] = []
    while runs.count < max(1, settings.maxWakes), let index = nextInQueue() {
      let request = queue.remove(at: index)
      if let refusal = refusal(of: request, now: now) {
        effects += refuse(request, refusal)
        continue
      }
      lastRun += 1
      if request.isSimulated, runtimeLeft(request.app, now) < Self.minRuntime {
        apps[request.app]?.runtime.charged = .zero
      }
      let granted = min(Self.slice, runtimeLeft(request.app, now))
      runs.append(Run(number: lastRun, request: request, granted: granted, since: now))
      apps[request.app]?.runtime.reserve(granted, now)
      apps[request.app]?.lastWake = now
      effects.append(.wake(WakeGrant(run: lastRun, request: request, runtime: granted)))
    }
    return effects
  }

  private func nextInQueue() -> Int? {
    queue.indices.lazy.filter { index in !runs.contains { $0.request.app == queue[index].app } }.min { left, right in
      order(left) < order(right)
    }
  }

  private func order(_ index: Int) -> (Int, Int64, Int) {
    let request = queue[index]
    return (request.isGateClosed ? 0 : 1, apps[request.app]?.lastWake?.nanoseconds ?? -1, index)
  }

  mutating func moreRequested(_ number: Int64, _ now: Instant) -> [Effect] {
    guard let index = runs.firstIndex(where: { $0.number == number }) else { return [.exhausted(run: number)] }
    let app = runs[index].request.app
    let more = min(Self.slice, runtimeLeft(app, now))
    guard more >= Self.minRuntime else { return [.exhausted(run: number)] }
    runs[index].granted += more
    apps[app]?.runtime.reserve(more, now)
    return [.extended(run: number, runtime: more)]
  }

  mutating func ended(_ number: Int64, _ runtime: Duration, _ end: RunEnd, _ now: Instant) -> [Effect] {
    guard let index = runs.firstIndex(where: { $0.number == number }) else { return [] }
    let run = runs.remove(at: index)
    let app = run.request.app
    apps[app]?.runtime.charge(runtime, ofReserved: run.granted)
    if end.isFaultOfExtension {
      quarantine(app, run.request, end, now)
    } else if end == .returned {
      apps[app]?.quarantine = nil
    }
    if end == .hostFailed { apps[app]?.hostFailedUntil = now + Self.hostFailureDelay }
    return startQueued(now)
  }

  private mutating func quarantine(_ app: String, _ request: WakeRequest, _ end: RunEnd, _ now: Instant) {
    guard let record = apps[app] else { return }
    let digest = request.manifestDigest.isEmpty ? record.manifestDigest : request.manifestDigest
    let failures = record.quarantine.map { $0.manifestDigest == digest ? $0.failures + 1 : 1 } ?? 1
    let random = spread()
    apps[app]?.quarantine = .init(
      manifestDigest: digest, failures: failures, reason: end,
      until: now + WakeRecord.Quarantine.delay(failures: failures, random: random))
  }

  /// Settings or power changed: what may not run any more is ended, what may again is asked for again.
  mutating func situationChanged(_ now: Instant) -> [Effect] {
    var effects: [Effect] = []
    for run in runs {
      if let refusal = situationRefusal(run.request.app) { effects.append(.end(run: run.number, refusal: refusal)) }
    }
    for request in queue {
      guard let refusal = situationRefusal(request.app) else { continue }
      queue.removeAll { $0 == request }
      effects += refuse(request, refusal)
    }
    for app in apps.keys.sorted() where situationRefusal(app) == nil {
      effects += reconsider(app)
      // Everything that waited for power or the network would otherwise start in the same second.
      makeUp(app, within: .minutes(30), now)
    }
    return effects + startQueued(now)
  }

  mutating func reconsider(_ app: String) -> [Effect] {
    guard let record = apps[app], !record.isReconsidered else { return [] }
    apps[app]?.isReconsidered = true
    return [.reconsider(app: app)]
  }
}
