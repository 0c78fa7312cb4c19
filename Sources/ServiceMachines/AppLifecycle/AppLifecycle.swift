package import AssetModel

/// One app's life: installation and update, its launch gate, content requests one at a time, first launch, removal
/// (B1 to B9, B14, B15, B33, B49 to B54).
///
/// A gate is closed only while a request of an installation or update is active, and each of its stages has a deadline:
/// whatever becomes of the rest, time opens it. Only a user's pause stops that time.
package struct AppLifecycle: Sendable, Equatable, Codable {
  package let app: String
  package internal(set) var phase: Phase
  /// The version that may be launched; nil before the installation is complete.
  package internal(set) var version: String?
  /// The version that is being installed, or updated to.
  package internal(set) var incoming: String?
  package internal(set) var gate: Gate
  package internal(set) var isPaused = false
  package internal(set) var hasLaunched = false
  /// Processes of the app.
  package internal(set) var running = 0
  package internal(set) var active: Request?
  package internal(set) var queue: [Queued] = []
  /// Requests that were refused or got no manifest: they are asked again, without the gate.
  package internal(set) var deferred: [Deferred] = []
  /// Counts requests; an answer to an earlier one is ignored.
  package internal(set) var generation = 0
  /// How often the service died while the extension was asked, since it last answered or ended by itself.
  package internal(set) var interruptions = 0

  /// One content request on its way.
  package struct Request: Sendable, Equatable, Codable {
    package var generation: Int
    package var kind: ContentRequestKind
    package var isSimulated: Bool
    package var isGated: Bool
    package var stage: GateReason.Stage
    /// When the stage is given up; nil while the user has paused.
    package var deadline: Instant?
    package var manifestDigest = ""
    package var run: Int64?
    /// Essential downloads that haven't settled.
    package var essentials: Set<String> = []
    package var failedEssentials = 0
    /// Once the new version is in place, the gate opens for this reason.
    package var openingReason: GateReason?
    /// The extension is asked again, because the access to a download has expired: the generation that it was asked in first.
    package var firstGeneration: Int?

    /// The generation that its downloads belong to, however often the extension is asked.
    package var downloadGeneration: Int { firstGeneration ?? generation }
  }

  package struct Queued: Sendable, Equatable, Codable {
    package var kind: ContentRequestKind
    package var isSimulated: Bool
  }

  package struct Deferred: Sendable, Equatable, Codable {
    package var kind: ContentRequestKind
    /// nil: the manifest couldn't be had, and the planner says when it is asked for again.
    package var refusal: WakeRefusal?
  }

  static let maxInterruptions = 3

  /// An app that isn't there yet: its first event is `placed`.
  package init(app: String, now: Instant) {
    self.app = app
    phase = .installing
    gate = Gate(isClosed: true, reason: .installing, since: now)
  }

  /// Whether the version is there to stay or to come.
  package func names(_ version: String) -> Bool { self.version == version || incoming == version }

  /// When `tick` has something to do.
  package var nextDeadline: Instant? {
    let retries = active == nil ? deferred.compactMap(\.refusal?.until) : []
    return ((active?.deadline).map { [$0] } ?? [] + retries).min()
  }

  package mutating func handle(_ event: Event, now: Instant) -> [Effect] {
    if phase == .removing { return handleWhileRemoving(event) }
    switch event {
    case .placed(let version, let kind): return place(version, kind, now)
    case .manifestFetched(let generation, let digest, _): return manifestFetched(generation, digest, now)
    case .manifestFailed(let generation, let failure), .manifestRefused(let generation, let failure):
      return manifestFailed(generation, failure, now)
    case .wakeGranted(let generation, let run): return wakeGranted(generation, run, now)
    case .wakeRefused(let generation, let refusal): return wakeRefused(generation, refusal, now)
    case .answered(let run, let accepted, let rejected): return answered(run, accepted, rejected, now)
    case .extensionEnded(let run, let end): return extensionEnded(run, end, now)
    case .settled(let unique, let settlement): return settled(unique, settlement, now)
    case .essentialProgressed:
      if active?.stage == .essentials { renewDeadline(now) }
      return []
    case .paused: return pause()
    case .resumed: return resume(now)
    case .installationCancelled: return cancelInstallation(now)
    case .launched: return launched(now)
    case .exited:
      running = max(0, running - 1)
      return []
    case .accessExpired: return accessExpired(now)
    case .requested(let kind, let isSimulated): return request(kind, isSimulated: isSimulated, now)
    // Whatever ended the service so often isn't over because a setting changed.
    case .conditionsChanged: return askDeferred(now) { $0.refusal.map { $0.reason != .interrupted } ?? false }
    case .versionPlaced(let version): return versionPlaced(version, now)
    case .versionFailed(let version, let reason): return versionFailed(version, reason, now)
    case .removalRequested: return remove(.removing, now)
    case .removed: return []
    case .tick: return tick(now)
    case .restarted: return restarted(now)
    }
  }

  /// What the service is about to do for this app: done again after it died.
  package var pending: [Effect] {
    if phase == .removing { return [.cancelDownloads(generation: nil), .removeApp] }
    guard let active, let version = incoming ?? version else { return [] }
    switch active.stage {
    case .manifest: return [.fetchManifest(generation: active.generation, request: active.kind, version: version)]
    case .wake: return [askForWake(active, version)]
    // A run ends with the service.
    case .answer, .essentials: return []
    case .placing: return [.placeVersion(version: version)]
    }
  }

  func askForWake(_ request: Request, _ version: String) -> Effect {
    .askForWake(
      generation: request.generation, request: request.kind, manifestDigest: request.manifestDigest, version: version,
      isSimulated: request.isSimulated)
  }

  private mutating func handleWhileRemoving(_ event: Event) -> [Effect] {
    switch event {
    case .removed: [.forget]
    case .restarted: pending
    case .placed: [.keepVersions([])]
    case .wakeGranted(_, let run): [.endExtension(run: run)]
    default: []
    }
  }

  private mutating func pause() -> [Effect] {
    guard let active, active.isGated, active.stage != .placing, !isPaused else { return [] }
    isPaused = true
    self.active?.deadline = nil
    return [.pauseDownloads(generation: active.downloadGeneration)]
  }

  private mutating func resume(_ now: Instant) -> [Effect] {
    guard let active, isPaused else { return [] }
    isPaused = false
    renewDeadline(now)
    return [.resumeDownloads(generation: active.downloadGeneration)]
  }

  private mutating func launched(_ now: Instant) -> [Effect] {
    running += 1
    guard !hasLaunched else { return [] }
    hasLaunched = true
    return [.liftRestrictions] + askDeferred(now) { $0.refusal?.reason == .contentBeforeLaunchOff }
  }

  private mutating func tick(_ now: Instant) -> [Effect] {
    if let active, let deadline = active.deadline, deadline <= now { return timedOut(active.stage, now) }
    return askDeferred(now) { $0.refusal?.until.map { $0 <= now } ?? false }
  }

  private mutating func restarted(_ now: Instant) -> [Effect] {
    running = 0
    var effects: [Effect] = [.discardManifest(upTo: active == nil ? generation : generation - 1)]
    // An update that was taken back may have been put in place before the service died.
    if let version, active?.stage != .placing { effects.append(.placeVersion(version: version)) }
    let versions = [version, incoming].compactMap(\.self)
    effects.append(.keepVersions(versions))
    if let active, active.stage == .answer, active.run != nil {
      self.active?.run = nil
      interruptions = min(interruptions + 1, 64)
      guard interruptions <= Self.maxInterruptions else {
        // Not never: whatever ends the service may have nothing to do with the extension. But further apart each time.
        let delay = WakeRecord.Quarantine.delay(failures: interruptions - Self.maxInterruptions, random: 0.5)
        postpone(active.kind, WakeRefusal(reason: .interrupted, until: now + delay))
        return effects + giveUp(.extensionFailed(.interrupted), now)
      }
      enter(.wake, now)
    }
    if isPaused, let active { effects.append(.pauseDownloads(generation: active.downloadGeneration)) }
    return effects + pending
  }
}
