internal import AppBundles
internal import AssetModel
internal import Downloads
internal import PluginHost
internal import ServiceMachines
internal import ServiceProtocol

/// The service's values as clients see them.
enum Summaries {
  static func app(
    _ identifier: String, _ machines: AppMachines, _ placed: PlacedApp?, planner: WakePlanner, groups: [String: String],
    clock: ServiceClock
  ) -> AppSummary {
    let lifecycle = machines.lifecycle
    let report = machines.progress.report
    let restrictions = machines.restrictions
    func allowance(_ limit: Int64, _ remaining: Int64?) -> AppSummary.Allowance {
      .init(limit: limit, used: remaining.map { max(0, limit - $0) } ?? 0)
    }
    let record = planner.apps[identifier]
    func time(_ instant: Instant?) -> String? { instant.map { Timestamp.text(wall: clock.wall(of: $0)) } }
    return AppSummary(
      identifier: identifier, version: placed?.description.version ?? lifecycle.version ?? lifecycle.incoming ?? "",
      name: placed?.description.name ?? identifier, state: state(lifecycle), isPaused: lifecycle.isPaused,
      gate: .init(isClosed: lifecycle.gate.isClosed, reason: Words.gate(lifecycle.gate.reason)),
      progress: .init(
        fraction: report.fraction, base: report.base, install: report.install, essential: report.essential,
        receivedBytes: report.receivedBytes, expectedBytes: report.expectedBytes),
      restrictions: .init(
        isActive: restrictions.isActive,
        allowance: allowance(restrictions.limits.allowance, restrictions.remaining),
        essentialAllowance: allowance(restrictions.limits.essentialAllowance, restrictions.essentialRemaining)),
      runtime: .init(
        // Without what a run that goes on has reserved: most of it is given back.
        usedSeconds: record?.runtime.charged.inSeconds ?? 0,
        budgetSeconds: planner.dailyRuntime(of: identifier, now: clock.now).inSeconds,
        renewsAt: time(record?.runtime.renewsAt)),
      nextPeriodicWake: time(record?.nextPeriodic),
      lastRefusal: planner.standingRefusal(identifier, now: clock.now).map {
        AppSummary.Refusal(reason: Words.refusal($0.reason), until: time($0.until))
      },
      quarantine: record?.quarantine.flatMap { $0.until > clock.now ? $0 : nil }.map {
        AppSummary.Quarantine(failures: $0.failures, reason: Words.end($0.reason), until: time($0.until) ?? "")
      },
      groups: groups, path: placed?.path ?? "")
  }

  private static func state(_ lifecycle: AppLifecycle) -> AppSummary.State {
    switch lifecycle.phase {
    case .installing: .installing
    case .updating: .updating
    case .launchable: lifecycle.running > 0 ? .running : .launchable
    case .removing: .removing
    }
  }

  static func download(_ app: String, _ scheduled: ScheduledDownload) -> DownloadSummary {
    let value = scheduled.value
    let entry = scheduled.entry
    return DownloadSummary(
      app: app, identifier: value.identifier, uniqueIdentifier: value.uniqueIdentifier, state: state(scheduled),
      isEssential: value.isEssential, isManifest: value.isManifest, priority: value.priority,
      class: entry.map { DownloadSummary.Urgency(rawValue: $0.urgency.rawValue) ?? .background } ?? .background,
      receivedBytes: scheduled.transfer.received, totalBytes: scheduled.transfer.total ?? value.fileSize,
      bytesPerSecond: entry?.state == .downloading && entry?.isPaused == false
        ? scheduled.transfer.bytesPerSecond : nil,
      url: value.url,
      scheduledBy: entry?.owner.rawValue ?? "service",
      waiting: entry?.state == .waiting ? waiting(scheduled) : nil, failure: scheduled.failure)
  }

  private static func state(_ scheduled: ScheduledDownload) -> String {
    if scheduled.isUndelivered { return "undelivered" }
    guard let entry = scheduled.entry else { return scheduled.failure == nil ? "delivering" : "failed" }
    if entry.isPaused { return "paused" }
    return switch entry.state {
    case .failed: "failed"
    case .created, .waiting: "waiting"
    case .downloading: "downloading"
    case .finished: "finished"
    }
  }

  private static func waiting(_ scheduled: ScheduledDownload) -> DownloadSummary.Waiting? {
    let transfer = scheduled.transfer
    guard
      let explanation = transfer.waiting?.explanation(
        remaining: (transfer.total ?? scheduled.value.fileSize).map { $0 - transfer.received })
    else { return nil }
    return .init(code: explanation.code.rawValue, data: explanation.data, remedy: explanation.remedy)
  }

  static func run(_ id: Int64, _ app: String, request: String, startedAt: String, _ report: RunReport) -> RunSummary {
    RunSummary(
      app: app, id: id, request: request, startedAt: startedAt,
      outcome: .init(kind: report.outcome.kind.rawValue, detail: report.outcome.detail),
      usage: .init(
        wallSeconds: report.usage.wallSeconds, cpuSeconds: report.usage.cpuSeconds,
        peakMemoryBytes: Int64(report.usage.peakMemoryBytes)),
      limits: [:], downloads: .init(accepted: 0, rejected: []),
      denials: report.denials.prefix(64).map { .init(call: "\($0.operation) \($0.target)", times: $0.count) },
      log: report.log.suffix(200).map { Printable.text($0.message, limit: 500) })
  }
}

/// Sentences for people.
enum Words {
  static func name(_ request: ContentRequestKind) -> String {
    switch request {
    case .install: "install"
    case .update: "update"
    case .periodic: "periodic"
    case .languageChange: "languageChange"
    }
  }

  static func gate(_ reason: AppLifecycle.GateReason) -> String {
    switch reason {
    case .installing: "it is being installed"
    case .updating: "it is being updated"
    case .essentialsSettled(0): "its essential downloads are here"
    case .essentialsSettled(let failed): "its essential downloads are over; \(failed) of them failed"
    case .noEssentials: "it has no essential downloads"
    case .extensionFailed(let end): "its extension \(Self.end(end))"
    case .manifestFailed(let failure): "its manifest couldn't be fetched: \(failure.message)"
    case .wakeRefused(let refusal): "its extension wasn't woken: \(Self.refusal(refusal.reason))"
    case .contentBeforeLaunchOff: "content before the first launch is switched off"
    case .patienceExceeded(let stage): "nothing came for too long (\(stage.rawValue))"
    case .cancelled: "it was cancelled"
    case .placingFailed(let why): "it couldn't be put in place: \(why)"
    case .removing: "it is being removed"
    }
  }

  /// A sentence about a download; what has ended has its own.
  static func waiting(_ code: Explanation.Code) -> String {
    switch code {
    case .transferring: "it is on its way"
    case .verifying: "its content is checked"
    case .delivering: "its file is put in place"
    case .queued: "it waits for its turn"
    case .offline: "there is no network"
    case .captivePortal: "the network leads to a login page"
    case .metered: "the network is metered"
    case .powerSaver: "the machine saves power"
    case .battery: "the battery is low"
    case .window: "it isn't its time of the day"
    case .allowance: "what may be downloaded before the first launch is used up"
    case .disk: "there is too little room on its volume"
    case .volume: "its volume doesn't work"
    case .originBackoff: "its server failed again and again"
    case .retryAfter: "its server asked to be left alone for a while"
    case .retrying: "it waits for another attempt"
    case .challenge: "its server wants to know who asks"
    case .clockUnset: "the machine's clock is wrong"
    case .publication: "its server doesn't have it yet"
    case .paused: "it is paused"
    case .lock: "another process has what it needs"
    case .upgrading: "the system is being upgraded"
    case .finished, .cancelled, .noProgress, .sizeMismatch, .digestMismatch, .hostileResponse, .notAllowed, .trust,
      .gone,
      .refused:
      code.rawValue
    }
  }

  /// What ends a wait. What the engine says in bytes is rounded up to what people free.
  static func remedy(_ wait: Explanation) -> String {
    guard case .disk(let shortage) = wait.cause else { return wait.remedy }
    return Explanation.remedy(for: shortage, mebibytes)
  }

  static func mebibytes(_ bytes: Int64) -> String {
    bytes > 0 ? "\((bytes - 1) / (1 << 20) + 1) MiB" : "\(bytes) bytes"
  }

  static func stage(_ stage: AppLifecycle.GateReason.Stage?) -> String {
    switch stage {
    case .manifest: "its manifest is being downloaded"
    case .wake: "its extension waits for its turn"
    case .answer: "its extension is asked which assets the app needs"
    case .essentials: "its essential assets are being downloaded"
    case .placing, nil: "it is being put in place"
    }
  }

  static func refusal(_ reason: WakeRefusal.Reason) -> String {
    switch reason {
    case .contentBeforeLaunchOff: "content before the first launch is switched off"
    case .backgroundActivityOff: "background activity is switched off"
    case .lowPower: "the machine saves power"
    case .runtimeSpent: "its runtime of the day is used up"
    case .quarantined: "it failed before with this manifest"
    case .hostFailed: "the service couldn't run it a moment ago"
    case .appInUse: "the app is in use"
    case .unknownApp: "no such app is installed"
    case .interrupted: "the service ended again and again while it ran"
    }
  }

  /// `settings`: of which those of the app's own come before those of all.
  static func remedy(_ reason: WakeRefusal.Reason, for app: String, _ settings: ServiceSettings) -> String {
    let own = settings.apps[app]
    let forApp = " --app \(app)"
    switch reason {
    case .contentBeforeLaunchOff:
      return "launch the app once, or outrider settings set isContentBeforeLaunchAllowed true"
        + (own?.isContentBeforeLaunchAllowed == false ? forApp : "")
    case .backgroundActivityOff:
      return "outrider settings set isBackgroundActivityAllowed true"
        + (own?.isBackgroundActivityAllowed == false ? forApp : "")
    case .lowPower:
      return "connect the machine to power, choose another power profile, or outrider settings set isLowPower false"
    case .runtimeSpent: return "wait until it renews; outrider simulate resets it"
    case .quarantined: return "publish another manifest, or install another version; outrider runs shows what happened"
    case .hostFailed: return "it is tried again in a few seconds; outrider runs shows what happened"
    case .appInUse: return "quit the app"
    case .unknownApp: return "install it"
    case .interrupted: return "outrider service log says why the service ended; outrider simulate asks at once"
    }
  }

  static func end(_ end: RunEnd) -> String {
    switch end {
    case .returned: "returned"
    case .loadFailed: "couldn't be loaded"
    case .crashed: "crashed"
    case .wallTimeExceeded: "took longer than it may"
    case .cpuTimeExceeded: "used more CPU time than it may"
    case .memoryExceeded: "used more memory than it may"
    case .policyViolation: "did what its policy forbids"
    case .protocolViolation: "broke the host's protocol"
    case .runtimeBudgetExhausted: "used up its runtime of the day"
    case .entryPointMissing: "lacks the function that was called"
    case .wallUnavailable: "couldn't be walled in"
    case .hostFailed: "couldn't be run"
    case .interrupted: "was interrupted"
    }
  }
}
