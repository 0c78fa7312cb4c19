internal import AssetModel

// The launch gate: what closes it, and everything that opens it (B8, B14, B15, B49, B54).
extension AppLifecycle {
  /// How long a stage may go without a sign before its request is given up.
  static func timeout(_ stage: GateReason.Stage, isGated: Bool) -> Duration {
    switch stage {
    // Ten attempts of an essential transfer, with their delays, take less. Without a gate no user waits, and an origin that
    // is away for hours needs no second request tomorrow.
    case .manifest: isGated ? .minutes(15) : .hours(12)
    case .wake: isGated ? .minutes(5) : .hours(1)
    case .answer: .minutes(2)
    case .essentials: .minutes(30)
    case .placing: .minutes(2)
    }
  }

  /// However much keeps arriving.
  static let longestGate: Duration = .hours(24)

  mutating func renewDeadline(_ now: Instant) {
    guard let active, !isPaused else { return }
    var deadline = now + Self.timeout(active.stage, isGated: active.isGated)
    if active.isGated, active.stage != .placing { deadline = min(deadline, max(now, gate.since + Self.longestGate)) }
    self.active?.deadline = deadline
  }

  mutating func place(_ version: String, _ kind: PlacementKind, _ now: Instant) -> [Effect] {
    var effects = abandonActive()
    incoming = version
    interruptions = 0
    phase = self.version == nil ? .installing : .updating
    effects.append(.keepVersions([self.version, incoming].compactMap(\.self)))
    // The extension that would be asked is another one now.
    effects += dropQueue(.cancelled)
    deferred.removeAll()
    let reason: GateReason = phase == .installing ? .installing : .updating
    if !gate.isClosed || generation == 0 || gate.reason != reason {
      gate = Gate(isClosed: true, reason: reason, since: now)
      effects.append(.closeGate(reason))
    }
    return effects
      + start(phase == .installing ? .install : .update, isSimulated: false, isGated: true, now)
  }

  /// Takes back what the active request has set in motion. `isWithdrawn`: the version that asked is given up, so that what
  /// arrived for it goes as well.
  mutating func abandonActive(isWithdrawn: Bool = false) -> [Effect] {
    guard let active else { return [] }
    self.active = nil
    isPaused = false
    var effects: [Effect] = []
    switch active.stage {
    case .manifest: effects.append(.cancelManifest(generation: active.generation))
    case .wake: effects.append(.withdrawWake(generation: active.generation))
    case .answer, .essentials, .placing: break
    }
    if let run = active.run { effects.append(.endExtension(run: run)) }
    effects.append(.discardManifest(upTo: active.generation))
    // Where the same waits in the queue, that is what its asker waits for.
    if active.isSimulated, !queue.contains(where: { $0.kind == active.kind && $0.isSimulated }) {
      effects.append(.simulationEnded(request: active.kind, reason: .cancelled))
    }
    if isWithdrawn {
      effects.append(.withdrawUpdate)
    } else if active.isGated {
      effects.append(.cancelDownloads(generation: active.downloadGeneration))
    }
    return effects
  }

  mutating func cancelInstallation(_ now: Instant) -> [Effect] {
    switch phase {
    case .installing: return remove(.cancelled, now)
    case .updating: return abandonUpdate(.cancelled, now)
    case .launchable, .removing: return []
    }
  }

  mutating func remove(_ reason: GateReason, _ now: Instant) -> [Effect] {
    let abandoned = abandonActive() + dropQueue(reason)
    phase = .removing
    deferred.removeAll()
    gate = Gate(isClosed: true, reason: reason, since: now)
    return abandoned + [.closeGate(reason)] + pending
  }

  private mutating func dropQueue(_ reason: GateReason) -> [Effect] {
    defer { queue.removeAll() }
    return queue.filter(\.isSimulated).map { .simulationEnded(request: $0.kind, reason: reason) }
  }

  /// The request ends without an answer. Of one that was asked again the first answer counts.
  mutating func giveUp(_ reason: GateReason, _ now: Instant) -> [Effect] {
    guard let active else { return [] }
    if active.firstGeneration != nil, !active.essentials.isEmpty {
      enter(.essentials, now)
      return [.discardManifest(upTo: active.generation)]
    }
    return [.discardManifest(upTo: active.generation)] + complete(reason, now)
  }

  /// The request has come to its end; a gated one puts the new version in place and opens the gate.
  mutating func complete(_ reason: GateReason, _ now: Instant) -> [Effect] {
    guard let active else { return [] }
    // B14: before the gate opens. Without a gate it may go on to its callbacks.
    let end: [Effect] = active.isGated ? (active.run.map { [.endExtension(run: $0)] } ?? []) : []
    guard active.isGated else {
      self.active = nil
      let told: [Effect] = active.isSimulated ? [.simulationEnded(request: active.kind, reason: reason)] : []
      return end + told + startNext(now)
    }
    isPaused = false
    self.active?.run = nil
    self.active?.openingReason = reason
    enter(.placing, now)
    return end + pending
  }

  mutating func versionPlaced(_ version: String, _ now: Instant) -> [Effect] {
    guard let active, active.stage == .placing, incoming == version else { return [] }
    self.version = version
    incoming = nil
    self.active = nil
    return [.keepVersions([version])] + open(active.openingReason ?? .noEssentials, now)
  }

  mutating func versionFailed(_ version: String, _ reason: String, _ now: Instant) -> [Effect] {
    guard let active, active.stage == .placing, incoming == version else { return [] }
    guard self.version != nil else { return remove(.placingFailed(reason), now) }
    return abandonUpdate(.placingFailed(reason), now)
  }

  /// The old version again, as it was: the new one may have been put in place by now.
  private mutating func abandonUpdate(_ reason: GateReason, _ now: Instant) -> [Effect] {
    let effects = abandonActive(isWithdrawn: true)
    incoming = nil
    let back: [Effect] = version.map { [.placeVersion(version: $0), .keepVersions([$0])] } ?? []
    return effects + back + open(reason, now)
  }

  private mutating func open(_ reason: GateReason, _ now: Instant) -> [Effect] {
    phase = .launchable
    gate = Gate(isClosed: false, reason: reason, since: now)
    return [.openGate(reason), .deliverBatch] + startNext(now)
  }

  mutating func timedOut(_ stage: GateReason.Stage, _ now: Instant) -> [Effect] {
    guard let active, let incoming = incoming ?? version else { return [] }
    switch stage {
    case .manifest:
      let failure = Failure(
        domain: Failure.networkDomain, code: -1001, message: "the manifest didn't arrive in time")
      return [.cancelManifest(generation: active.generation)] + manifestFailed(active.generation, failure, now)
    case .wake: return [.withdrawWake(generation: active.generation)] + giveUp(.patienceExceeded(.wake), now)
    case .answer:
      let run: [Effect] = active.run.map { [.endExtension(run: $0)] } ?? []
      self.active?.run = nil
      return run + giveUp(.patienceExceeded(.answer), now)
    case .essentials: return complete(.patienceExceeded(.essentials), now)
    case .placing: return versionFailed(incoming, "the new version couldn't be put in place in time", now)
    }
  }
}
