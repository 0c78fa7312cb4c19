internal import AssetModel

// A content request on its way: manifest, wake, answer (B2 to B5), for all kinds alike.
extension AppLifecycle {
  mutating func request(_ kind: ContentRequestKind, isSimulated: Bool, _ now: Instant) -> [Effect] {
    var effects: [Effect] = isSimulated ? [.resetRuntime] : []
    // What got no manifest goes before what comes by the clock.
    if kind == .periodic, !isSimulated, active == nil, let other = deferred.first(where: { $0.refusal == nil }) {
      return askDeferred(now) { $0 == other }
    }
    // Before there is an app there is no extension to ask, and what is on its way asks already.
    guard version != nil, active?.kind != kind || isSimulated else { return effects }
    if let index = queue.firstIndex(where: { $0.kind == kind }) {
      queue[index].isSimulated = queue[index].isSimulated || isSimulated
      return effects
    }
    queue.append(Queued(kind: kind, isSimulated: isSimulated))
    // An operator waits for a simulated one, and no user for what has no gate.
    if isSimulated, active?.isGated == false { effects += abandonActive() }
    return effects + startNext(now)
  }

  /// A closed gate has an installation behind it, whose own request is asked again, from the manifest on, under another
  /// number. While that is on its way, the answer is for whatever else expires.
  mutating func accessExpired(_ now: Instant) -> [Effect] {
    guard let active, active.isGated else { return request(.periodic, isSimulated: false, now) }
    switch active.stage {
    case .manifest, .wake, .answer: return []
    case .placing:
      if !queue.contains(where: { $0.kind == .periodic }) { queue.append(Queued(kind: .periodic, isSimulated: false)) }
      return []
    case .essentials: break
    }
    generation += 1
    self.active?.firstGeneration = active.downloadGeneration
    self.active?.generation = generation
    self.active?.run = nil
    enter(.manifest, now)
    return (active.run.map { [.endExtension(run: $0)] } ?? []) + pending
  }

  /// The next request that waits, unless one is active.
  mutating func startNext(_ now: Instant) -> [Effect] {
    guard active == nil, phase == .launchable, let next = queue.first else { return [] }
    queue.removeFirst()
    return start(next.kind, isSimulated: next.isSimulated, isGated: false, now)
  }

  mutating func start(_ kind: ContentRequestKind, isSimulated: Bool, isGated: Bool, _ now: Instant) -> [Effect] {
    generation += 1
    active = Request(
      generation: generation, kind: kind, isSimulated: isSimulated, isGated: isGated, stage: .manifest)
    enter(.manifest, now)
    return pending
  }

  mutating func enter(_ stage: GateReason.Stage, _ now: Instant) {
    active?.stage = stage
    renewDeadline(now)
  }

  mutating func manifestFetched(_ generation: Int, _ digest: String, _ now: Instant) -> [Effect] {
    guard let active, active.generation == generation, active.stage == .manifest else { return [] }
    self.active?.manifestDigest = digest
    enter(.wake, now)
    return pending
  }

  mutating func manifestFailed(_ generation: Int, _ failure: Failure, _ now: Instant) -> [Effect] {
    guard let active, active.generation == generation, active.stage == .manifest else { return [] }
    var retry: [Effect] = []
    if !active.isSimulated, active.firstGeneration == nil {
      retry.append(.retryPeriodicLater)
      postpone(active.kind, nil)
    }
    return [.reportManifestFailure(generation: generation, failure: failure)] + retry
      + giveUp(.manifestFailed(failure), now)
  }

  mutating func wakeGranted(_ generation: Int, _ run: Int64, _ now: Instant) -> [Effect] {
    guard let active, active.generation == generation, active.stage == .wake, let version = incoming ?? version else {
      // The planner has to get its run back.
      return self.active?.run == run ? [] : [.endExtension(run: run)]
    }
    self.active?.run = run
    enter(.answer, now)
    return [.startExtension(run: run, generation: generation, request: active.kind, version: version)]
  }

  mutating func wakeRefused(_ generation: Int, _ refusal: WakeRefusal, _ now: Instant) -> [Effect] {
    guard let active, active.generation == generation, active.stage == .wake else { return [] }
    if active.firstGeneration == nil { postpone(active.kind, refusal) }
    return giveUp(refusal.reason == .contentBeforeLaunchOff ? .contentBeforeLaunchOff : .wakeRefused(refusal), now)
  }

  /// The app's own events aren't lost; a periodic one comes again by itself.
  mutating func postpone(_ kind: ContentRequestKind, _ refusal: WakeRefusal?) {
    guard kind != .periodic else { return }
    deferred.removeAll { $0.kind == kind }
    deferred.append(Deferred(kind: kind, refusal: refusal))
  }

  /// Asks again, without the gate, for what was refused.
  mutating func askDeferred(_ now: Instant, where isDue: (Deferred) -> Bool) -> [Effect] {
    guard phase == .launchable else { return [] }
    let due = deferred.filter(isDue)
    deferred.removeAll(where: isDue)
    for item in due where !queue.contains(where: { $0.kind == item.kind }) {
      queue.append(Queued(kind: item.kind, isSimulated: false))
    }
    return startNext(now)
  }

  mutating func answered(
    _ run: Int64, _ accepted: [PlannedDownload], _ rejected: [RejectedDownload], _ now: Instant
  ) -> [Effect] {
    guard let active, active.run == run, active.stage == .answer else { return [] }
    interruptions = 0
    var effects: [Effect] = [.discardManifest(upTo: active.generation)]
    if !accepted.isEmpty {
      effects.append(.schedule(downloads: accepted, generation: active.downloadGeneration, request: active.kind))
      if isPaused { effects.append(.pauseDownloads(generation: active.downloadGeneration)) }
    }
    if !rejected.isEmpty { effects.append(.reportRejected(rejected)) }
    let essentials = active.essentials.union(accepted.lazy.filter(\.isEssential).map(\.uniqueIdentifier))
    guard active.isGated, !essentials.isEmpty else {
      let reason: GateReason =
        active.firstGeneration == nil ? .noEssentials : .essentialsSettled(failed: active.failedEssentials)
      return effects + complete(reason, now)
    }
    self.active?.essentials = essentials
    enter(.essentials, now)
    return effects
  }

  mutating func extensionEnded(_ run: Int64, _ end: RunEnd, _ now: Instant) -> [Effect] {
    guard let active, active.run == run else { return [] }
    self.active?.run = nil
    // After its answer it may end as it likes.
    guard active.stage == .answer else { return [] }
    interruptions = 0
    return giveUp(.extensionFailed(end), now)
  }

  mutating func settled(_ unique: String, _ settlement: Settlement, _ now: Instant) -> [Effect] {
    guard let active, active.isGated, active.essentials.contains(unique) else { return [] }
    self.active?.essentials.remove(unique)
    if case .finished = settlement {} else { self.active?.failedEssentials += 1 }
    // Asked again, the extension may answer more.
    guard active.stage == .essentials else { return [] }
    guard self.active?.essentials.isEmpty == true else {
      renewDeadline(now)
      return []
    }
    return complete(.essentialsSettled(failed: self.active?.failedEssentials ?? 0), now)
  }
}
