internal import AppBundles
internal import AssetModel
internal import AssetStore
internal import Basics
internal import Downloads
internal import Foundation
internal import Glibc
internal import Hashing
internal import HostProtocol
internal import LinuxSystem
internal import Logging
internal import PluginHost
internal import Sandbox
internal import ServiceMachines
internal import ServiceProtocol

/// A run of an extension that is under way.
struct ActiveRun {
  let run: ExtensionRun
  let app: String
  /// The generation of the content request; nil: callbacks.
  let generation: Int?
  /// Calls that it hasn't answered.
  var calls: Set<Int64> = []
  /// Those of them that it has begun with.
  var begun: Set<Int64> = []
  /// What its delegate hasn't been told yet, and nobody answers.
  var notices: Set<Notice> = []
  var isReady = false
  var hasAnswered = false
  /// It was told to end: it does what it was called for before, and nothing more.
  var isEnding = false
  var summary: RunSummary

  struct Notice: Hashable {
    var kind: EventRouter.Kind
    var uniqueIdentifier: String
  }

  /// What it has found in its containers counts for it now. One that has answered and stands by, for challenges, until the
  /// gate opens isn't at work: it would keep away the room that its own essentials need.
  var isAtWork: Bool { !hasAnswered || isReady || !calls.isEmpty }
}

/// Carrying out what was decided. Each action can be done twice without harm.
extension AssetService {
  var plan: TransferPlan { TransferPlan(groups: configuration.paths.groups, store: configuration.paths.store) }

  func perform(_ actions: [Action]) async {
    var adding: [Action] = []
    for action in actions {
      if case .addTransfer = action {
        adding.append(action)
        continue
      }
      if !adding.isEmpty {
        await add(adding)
        adding = []
      }
      await perform(action)
    }
    if !adding.isEmpty { await add(adding) }
  }

  private func perform(_ action: Action) async {
    switch action {
    case .addTransfer: break
    case .setUrgency(let app, let download, let urgency):
      let owner = downloads[app]?[download]?.entry?.owner
      let transferClass: TransferClass =
        urgency == .foreground ? .foreground : urgency == .essential ? .essential : owner == .app ? .visible : .prefetch
      transfers.setClass(transferClass, of: .init(app: app, download: download))
    case .pauseTransfer(let app, let download): transfers.pause(.init(app: app, download: download))
    case .resumeTransfer(let app, let download): transfers.resume(.init(app: app, download: download))
    case .cancelTransfer(let app, let download): cancel(app, download)
    case .setBudget(let app, let budget, let allowed):
      try? store.setBudget(TransferPlan.name(of: budget, app), allows: allowed)
      transfers.engine.allowancesChanged()
    case .startContentRun(let app, let run, let generation, let request, let version):
      startRun(app, run, generation, request, version)
    case .startCallbackRun(let app, let run): startRun(app, run, nil, nil, nil)
    case .endRun(let run): end(run)
    case .discardManifests(let app, _): discardManifests(app)
    case .placeVersion(let app, let version): await place(app, version)
    case .keepVersions(let app, let versions): await keep(app, versions)
    case .removeApp(let app): await remove(app)
    case .inspect(let app, let download, let then): inspect(app, download, then)
    case .deleteFile(let app, let download), .withdrawDownload(let app, let download): discard(app, download)
    case .settleDelivery(let app, let download, let outcome):
      settleDelivery(app, download)
      if outcome == .undelivered { log(app, "undelivered", "\(download): three recipients ended while they were told") }
    case .reply(let call, let result): reply(call, result)
    case .notify(let app, let recipients, let occurrence): notify(app, recipients, occurrence)
    case .call(let app, let recipient, let occurrence): call(app, recipient, occurrence)
    case .withdraw(_, let recipient, let number): withdraw(recipient, number)
    case .endChallenge(let number): challenges.removeValue(forKey: number)?.resume(returning: .performDefaultHandling)
    case .controlGranted(_, let claim): answerClaim(claim, nil)
    case .controlRefused(_, let claim, let refusal): answerClaim(claim, refusal)
    case .simulationEnded(let app, let request, let reason): clients.simulations.end(app, request, reason)
    case .refusedWake(let app, let request, let refusal): refused(app, request, refusal)
    // Written down already.
    case .store, .remove, .recordFailure, .forget, .reportRejected: break
    }
  }

  // MARK: Transfers

  private func add(_ actions: [Action]) async {
    var specifications: [DownloadSpecification] = []
    var paused: Set<String> = []
    for case .addTransfer(let app, let planned, let urgency, let isPaused, let isManifest, let budget) in actions {
      let unique = planned.uniqueIdentifier
      guard let scheduled = downloads[app]?[unique], !scheduled.isDiscarded else { continue }
      if let record = transfers.record(.init(app: app, download: unique)) {
        if record.state.isSettled {
          await settle(app, unique, record)
        } else {
          // Added by a service that was killed before it could say so. Asked again, the engine could have finished it by
          // then, and take it for another one.
          if isPaused { transfers.pause(.init(app: app, download: unique)) }
          process(.app(app, .registry(.engineAdded(uniqueIdentifier: unique))))
        }
        continue
      }
      if !isManifest,
        (try? Containers(root: configuration.paths.groups).open(scheduled.value.applicationGroupIdentifier)) == nil
      {
        let failure = Failure(
          domain: Failure.networkDomain, code: -3000,
          message: "the container of \(scheduled.value.applicationGroupIdentifier) can't be opened")
        process(.app(app, .registry(.engineSettled(uniqueIdentifier: unique, settlement: .failed(failure)))))
        continue
      }
      if isPaused { paused.insert(unique) }
      let isRestricted = core.apps[app]?.restrictions.isActive ?? false
      specifications.append(
        plan.specification(
          app, scheduled.value, urgency: urgency, owner: scheduled.entry?.owner ?? .service, budget: budget,
          domains: isRestricted ? core.apps[app]?.facts.limits.domains : nil))
    }
    guard !specifications.isEmpty else { return }
    do {
      let results = try await transfers.add(specifications)
      var events: [CoreEvent] = []
      for (specification, result) in zip(specifications, results) {
        if paused.contains(specification.identifier) {
          transfers.pause(.init(app: specification.app, download: specification.identifier))
        }
        events.append(.app(specification.app, .registry(event(specification.identifier, result))))
      }
      process(events)
    } catch is EngineClosed {
      // The service stops: they are added by the next one.
    } catch {
      for specification in specifications {
        let failure = Failure.framework(102, "the journal can't take it: \(error)")
        process(
          .app(
            specification.app,
            .registry(.engineSettled(uniqueIdentifier: specification.identifier, settlement: .failed(failure)))))
      }
    }
  }

  func event(_ unique: String, _ result: AddResult) -> DownloadRegistry.Event {
    let failure: Failure
    switch result {
    case .added, .alreadyScheduled, .conflict: return .engineAdded(uniqueIdentifier: unique)
    case .tooMany(let limit): failure = .framework(102, "the app has \(limit) downloads already")
    case .allowance(let missing): failure = .framework(112, "its allowance lacks \(missing) bytes")
    case .invalid(let why): failure = .framework(102, why)
    }
    return .engineSettled(uniqueIdentifier: unique, settlement: .failed(failure))
  }

  private func cancel(_ app: String, _ download: String) {
    let key = Transfers.Key(app: app, download: download)
    if let record = transfers.record(key), !record.state.isSettled { return transfers.cancel(key) }
    // The engine has nothing to cancel, and so nothing to say of it.
    process(.app(app, .registry(.engineSettled(uniqueIdentifier: download, settlement: .cancelled))))
  }

  /// Ends the transfer if there is one, deletes the file, and only then forgets the download.
  func discard(_ app: String, _ unique: String) {
    guard let value = downloads[app]?[unique]?.value else { return }
    let key = Transfers.Key(app: app, download: unique)
    // Until the engine has let go of it, it may still publish the file.
    if let record = transfers.record(key), !record.state.isSettled { return transfers.cancel(key) }
    unlink(plan.path(of: value))
    settleDelivery(app, unique, forgets: true)
  }

  /// Nobody is told any more of what the engine has of it.
  private func acknowledge(_ app: String, _ unique: String) {
    do { try store.acknowledgeDeliveries(app: app, identifier: unique) } catch {
      configuration.logger.error("the delivery of \(unique) can't be ended: \(error)", metadata: ["app": "\(app)"])
    }
  }

  /// What the engine settled before the service that is gone could hear of it: nobody says it again.
  func reconcile() async {
    for app in core.apps.keys { discardManifests(app) }
    for (app, downloads) in downloads {
      for (unique, download) in downloads {
        if download.isDiscarded { discard(app, unique) }
        if download.isUndelivered { acknowledge(app, unique) }
      }
    }
    do {
      let open = try await Task.detached { [store] in try store.endUnscheduled() }.value
      for job in open { transfers.engine.cancel(job) }
    } catch {
      configuration.logger.error("what is left of downloads that nobody has can't be ended: \(error)")
    }
    // One question to the journal: there may be 100,000 that go on.
    for (app, unique) in (try? store.settledScheduled()) ?? [] {
      guard downloads[app]?[unique]?.entry?.isKnownToEngine == true,
        let record = transfers.record(.init(app: app, download: unique)), record.state.isSettled
      else { continue }
      await settle(app, unique, record)
    }
  }

  /// What the engine says of a download.
  func happened(_ key: Transfers.Key, _ event: Transfers.Event) async {
    let (app, unique) = (key.app, key.download)
    guard let scheduled = downloads[app]?[unique] else {
      // It ended for the service before the engine had let go of it.
      if event.isEnd { acknowledge(app, unique) }
      return
    }
    if scheduled.isDiscarded {
      if transfers.record(key)?.state.isSettled ?? true { discard(app, unique) }
      return
    }
    switch event {
    case .began: process(.app(app, .registry(.engineStarted(uniqueIdentifier: unique))))
    case .progress(let progress):
      let added = progress.received - (downloads[app]?[unique]?.transfer.received ?? 0)
      change(app, unique) {
        $0.received = progress.received
        $0.total = progress.total
        $0.bytesPerSecond = progress.bytesPerSecond
        $0.waiting = nil
      }
      process(
        .app(app, .received(download: unique, bytes: progress.received, added: max(0, added), total: progress.total)))
    case .waiting(let explanation):
      if explanation.code == .allowance, exceedsAllowance(app, unique) { return }
      change(app, unique) { $0.waiting = Summaries.waiting(explanation) }
      downloads[app]?[unique]?.share(&shared)
      process(.app(app, .registry(.engineWaiting(uniqueIdentifier: unique))))
      leaveToPlanner(app, unique, explanation)
    case .paused: publish(app, unique)
    case .finished, .failed, .cancelled:
      if let record = transfers.record(key), record.state.isSettled { await settle(app, unique, record) }
    }
  }

  /// What has no size was let in before the first launch on condition that it keeps to the allowance (B63): it fails where
  /// that ends. Returns whether it did.
  private func exceedsAllowance(_ app: String, _ unique: String) -> Bool {
    guard let value = downloads[app]?[unique]?.value, value.fileSize == nil, !value.isManifest,
      core.apps[app]?.restrictions.isActive == true
    else { return false }
    let failure = Failure.framework(
      204, "\(Printable.text(value.identifier)) goes beyond what is left of the allowance before the first launch")
    transfers.cancel(.init(app: app, download: unique))
    process(.app(app, .registry(.engineSettled(uniqueIdentifier: unique, settlement: .failed(failure)))))
    return true
  }

  /// Where nobody waits at a gate, the planner says when a manifest is asked for again: its times are further apart than
  /// the engine's, so that a whole fleet doesn't stand before an origin that comes back.
  private func leaveToPlanner(_ app: String, _ unique: String, _ explanation: Explanation) {
    guard downloads[app]?[unique]?.value.isManifest == true, core.apps[app]?.lifecycle.gate.isClosed == false,
      [.retrying, .originBackoff, .retryAfter].contains(explanation.code)
    else { return }
    let failure = Failure(
      domain: Failure.networkDomain, code: -1004,
      message: "the manifest can't be had now (\(explanation.code.rawValue)); it is asked for again later")
    process(.app(app, .manifestLost(download: unique, failure: failure)))
    giveUpFreshAnswers(of: app)
  }

  func change(_ app: String, _ unique: String, _ body: (inout TransferFacts) -> Void) {
    guard var facts = downloads[app]?[unique]?.transfer else { return }
    body(&facts)
    downloads[app]?[unique]?.transfer = facts
  }

  private func settle(_ app: String, _ unique: String, _ record: JobRecord) async {
    let settlement: Settlement
    switch record.state {
    case .finished:
      let size = record.finalSize ?? 0
      if downloads[app]?[unique]?.value.isManifest == true {
        let path = "\(record.specification.directory)/\(record.specification.fileName)"
        let digest = await Task.detached { Self.digest(of: path) }.value
        process(.app(app, .registry(.engineSettled(uniqueIdentifier: unique, settlement: .finished(size: size)))))
        if let digest {
          process(.app(app, .manifestFinished(download: unique, digest: digest, size: size)))
        } else {
          let failure = Failure(domain: Failure.networkDomain, code: -1100, message: "the manifest's file is gone")
          process(.app(app, .manifestLost(download: unique, failure: failure)))
        }
        return
      }
      change(app, unique) { ($0.received, $0.total, $0.waiting) = (size, size, nil) }
      process(.app(app, .received(download: unique, bytes: size, added: 0, total: size)))
      settlement = .finished(size: size)
    case .failed(let failure):
      if asksAfresh(app, unique, record, failure) { return }
      settlement = .failed(Failure(failure, isRestricted: record.specification.allowedDomains != nil))
      if downloads[app]?[unique]?.value.isManifest == true { giveUpFreshAnswers(of: app) }
    case .cancelled: settlement = .cancelled
    case .open, .paused, .verified: return
    }
    logEnd(app, unique, settlement)
    process(.app(app, .registry(.engineSettled(uniqueIdentifier: unique, settlement: settlement))))
  }

  private func logEnd(_ app: String, _ unique: String, _ settlement: Settlement) {
    guard let value = downloads[app]?[unique]?.value else { return }
    let name = Printable.text(value.identifier)
    switch settlement {
    case .finished(let size): logWithNext(app, "downloaded", "\(name), \(size) bytes")
    case .failed(let failure): logWithNext(app, "failed", "\(name): \(failure.message)")
    case .cancelled: logWithNext(app, "cancelled", name)
    }
  }

  private static func digest(of path: String) -> String? {
    guard let file = try? OwnedDescriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else { return nil }
    var hash = RunningHash(.sha256)
    while let part = try? file.readAll(limit: 1 << 20), !part.isEmpty { part.withUnsafeBytes { hash.update($0) } }
    return Hexadecimal.text(hash.digest)
  }

  private func discardManifests(_ app: String) {
    let kept = Set(core.apps[app]?.manifests.values ?? [:].values)
    for (unique, download) in downloads[app] ?? [:] where download.value.isManifest && !kept.contains(unique) {
      // A failed one is still to be told of.
      if core.apps[app]?.failed.contains(unique) == true {
        unlink(plan.path(of: download.value))
      } else {
        downloads[app]?[unique]?.isDiscarded = true
        discard(app, unique)
      }
    }
  }

  /// Its delivery went with its row; an undelivered one has kept that.
  private func settleDelivery(_ app: String, _ unique: String, forgets: Bool = false) {
    if downloads[app]?[unique]?.isUndelivered == true { acknowledge(app, unique) }
    transfers.forget(.init(app: app, download: unique))
    if bounds.settle(wall: WallClock.now()) { boundJournal() }
    guard forgets else { return }
    downloads[app]?[unique] = nil
    try? store.commit([ServiceChange.scheduled(app: app, identifier: unique, value: nil)])
  }

  /// Forgets what is over for long, or beyond the number that is kept, and that no app has any more.
  /// One app after the other, and whoever asks something in between: nobody waits for all of them.
  func boundJournal() {
    let oldest = WallClock.now() - JournalBounds.longestAge
    Task {
      for app in core.apps.keys.sorted() where !isStopping {
        do {
          try store.forgetUnscheduled(app: app, keeping: JournalBounds.keptPerApp, before: oldest)
        } catch {
          configuration.logger.error("what is over can't be forgotten: \(error)", metadata: ["app": "\(app)"])
        }
        await Task.yield()
      }
    }
  }

  private func inspect(_ app: String, _ unique: String, _ then: Action.Inspection) {
    // What a service that was killed had put into the extension's container.
    if then == .inspected, let value = downloads[app]?[unique]?.value,
      let inode = transfers.record(.init(app: app, download: unique))?.publishedInode
    {
      _ = try? PluginHost.takeBack(
        inode: inode, from: plan.container(of: value.applicationGroupIdentifier), to: plan.path(of: value))
    }
    let isMoved = downloads[app]?[unique].map { !Files.exists(plan.path(of: $0.value)) } ?? true
    let event: DeliveryLedger.Event =
      switch then {
      case .acknowledged: .acknowledged(uniqueIdentifier: unique, isMoved: isMoved)
      case .recipientGone: .recipientGone(uniqueIdentifier: unique, isMoved: isMoved)
      case .inspected: .inspected(uniqueIdentifier: unique, isMoved: isMoved)
      }
    process(.app(app, .ledger(event)))
  }

  // MARK: Bundles

  private func place(_ app: String, _ version: String) async {
    let event: AppLifecycle.Event
    do {
      try await Task.detached { [bundles] in try bundles.activate(app, version: version) }.value
      event = .versionPlaced(version: version)
    } catch {
      let reason = (error as? BundleError)?.reason ?? "\(error)"
      configuration.logger.error("\(error)", metadata: ["app": "\(app)"])
      event = .versionFailed(version: version, reason: reason)
    }
    process(.app(app, .lifecycle(event)))
  }

  private func keep(_ app: String, _ versions: [String]) async {
    // What was prepared since is the lifecycle's to name.
    let dropped = (placed[app] ?? [:]).filter { name, _ in
      !versions.contains(name) && core.apps[app]?.lifecycle.names(name) != true
    }
    for name in dropped.keys { placed[app]?[name] = nil }
    bundles.drop(Array(dropped.values))
    await Task.detached { [bundles] in bundles.sweep(app) }.value
  }

  private func remove(_ app: String) async {
    for (number, run) in runs where run.app == app { end(number) }
    for budget in Restrictions.Budget.allCases { try? store.setBudget(TransferPlan.name(of: budget, app), allows: nil) }
    for download in (downloads[app] ?? [:]).values { unlink(plan.path(of: download.value)) }
    do {
      try await Task.detached { [bundles] in try bundles.remove(app) }.value
    } catch {
      configuration.logger.error("\(error)", metadata: ["app": "\(app)"])
    }
    bundles.drop(Array((placed.removeValue(forKey: app) ?? [:]).values))
    // What is still being cancelled stays until the next removal; an installation knows its own by name.
    _ = try? store.forgetSettled(app: app, keeping: 0)
    process(.app(app, .lifecycle(.removed)))
    clients.simulations.end(app)
    clients.publish(.appRemoved(identifier: app), of: app)
    log(app, "removed", "")
  }

  // MARK: Extensions

  private func startRun(
    _ app: String, _ number: Int64, _ generation: Int?, _ request: ContentRequestKind?, _ version: String?
  ) {
    guard let machines = core.apps[app], let bundle = version.flatMap({ placed[app]?[$0] }) ?? current(app) else {
      return process(.app(app, .runEnded(run: number, end: .hostFailed)))
    }
    let groups = bundle.description.extensionAppGroups
    let containers = groups.compactMap { group -> PluginHost.LoadOptions.Container? in
      guard (try? Containers(root: configuration.paths.groups).open(group)) != nil else { return nil }
      return PluginHost.LoadOptions.Container(group: group, path: plan.container(of: group))
    }
    let manifest = generation.flatMap { machines.manifests[$0] }.flatMap { downloads[app]?[$0] }
    var limits = Limits()
    if let wall = core.settings[app].callLimit { limits.wall = wall }
    if let memory = core.settings[app].memory { limits.memory = Int(memory) }
    let run = ExtensionRun(
      .init(
        run: number, app: app, library: bundle.extensionPath, request: request,
        manifest: manifest.map { plan.path(of: $0.value) }, containers: containers,
        services: ServiceDesk(
          service: self, app: app, run: number, allowsPlainHTTPToLoopback: configuration.isDevelopment),
        limits: limits,
        remaining: machines.restrictions.remaining, essentialRemaining: machines.restrictions.essentialRemaining,
        rules: DownloadRules(
          applicationGroups: Set(groups), request: request, allowsPlainHTTPToLoopback: configuration.isDevelopment)))
    let summary = RunSummary(
      app: app, id: number, request: request.map(Words.name) ?? "callbacks", startedAt: Timestamp.text(Date()),
      outcome: .init(kind: RunSummary.Outcome.runningKind, detail: ""),
      usage: .init(wallSeconds: 0, cpuSeconds: 0, peakMemoryBytes: 0),
      limits: [
        "wall": limits.wall / .seconds(1), "cpu": limits.cpu / .seconds(1), "memory": Double(limits.memory),
      ], downloads: .init(accepted: 0, rejected: []), denials: [], log: [])
    runs[number] = ActiveRun(run: run, app: app, generation: generation, summary: summary)
    record(summary)
    log(app, "wake", "run \(number), \(summary.request)")
    Task { [host] in await run.run(in: host) { [weak self] in await self?.received(number, $0) } }
  }

  private func received(_ number: Int64, _ news: ExtensionRun.News) {
    guard let run = runs[number] else { return }
    let app = run.app
    if case .answered = news, core.apps[app]?.lifecycle.active?.run != number { return }
    switch news {
    case .answered(let verdict):
      runs[number]?.hasAnswered = true
      answered(app, number, verdict)
    case .ready:
      runs[number]?.isReady = true
      process(.app(app, .router(.extensionReady(run: number))))
    case .calling(let call): runs[number]?.begun.insert(call)
    case .returned(let call, let recipient, let isHandled):
      runs[number]?.calls.remove(call)
      process(.app(app, .router(.answered(number: call, recipient: recipient, isHandled: isHandled))))
    case .decided(let call, let recipient, let decision):
      runs[number]?.calls.remove(call)
      challenges.removeValue(forKey: call)?.resume(returning: ChallengeAnswer(decision))
      process(.app(app, .router(.answered(number: call, recipient: recipient, isHandled: true))))
    case .noticed(let kind, let unique): runs[number]?.notices.remove(.init(kind: kind, uniqueIdentifier: unique))
    case .ended(let report): ended(number, run, report)
    }
  }

  /// A run that takes callbacks has done its work when nothing is left for it; to be asked when no action is. While the
  /// journal can't be written, some are.
  func endIdleRuns() {
    guard journalFailure == nil else { return }
    for (number, run) in runs where run.isReady && run.calls.isEmpty { end(number) }
  }

  /// What it would be called for from now on waits for the next run: it may be gone by then.
  private func end(_ number: Int64) {
    guard let run = runs[number], !run.isEnding else { return }
    runs[number]?.isEnding = true
    run.run.send(.end)
    process(.app(run.app, .router(.extensionEnding(run: number))))
  }

  /// Only what an extension had begun with can be what it ended in (B13).
  private func requeueUncalled(_ number: Int64, _ run: ActiveRun) {
    let uncalled = (core.apps[run.app]?.router.calls ?? []).filter { !run.begun.contains($0.occurrence.number) }
    for recipient in [Recipient.entryPoint(run: number), .delegate(run: number)] {
      process(
        uncalled.filter { $0.asked.contains(recipient) }.map {
          .app(run.app, .router(.notCalled(number: $0.occurrence.number, recipient: recipient)))
        })
    }
  }

  private func ended(_ number: Int64, _ run: ActiveRun, _ report: RunReport) {
    runs[number] = nil
    requeueUncalled(number, run)
    let end = RunEnd(rawValue: report.outcome.kind.rawValue) ?? .interrupted
    var summary = Summaries.run(
      number, run.app, request: run.summary.request, startedAt: run.summary.startedAt, report)
    summary.limits = run.summary.limits
    summary.downloads = run.summary.downloads
    record(summary)
    let outcome = [report.outcome.kind.rawValue, report.outcome.detail].filter { !$0.isEmpty }.joined(separator: " ")
    log(run.app, "ended", "run \(number): \(outcome)")
    process(
      .planner(.ended(run: number, runtime: .seconds(report.usage.wallSeconds), end: end)))
    process(.app(run.app, .runEnded(run: number, end: end)))
    if run.generation != nil, end != .returned { giveUpFreshAnswers(of: run.app) }
  }

  private func refused(_ app: String, _ request: WakeRequest, _ refusal: WakeRefusal) {
    let name = if case .content(let kind) = request.reason { Words.name(kind) } else { "callbacks" }
    log(app, "refused", "\(name): \(Words.refusal(refusal.reason))")
    if case .content = request.reason { giveUpFreshAnswers(of: app) }
  }
}

extension ChallengeAnswer {
  init(_ decision: ChallengeDecision) {
    switch decision.disposition {
    case .useCredential:
      self = decision.credential.map { .credential(user: $0.user, password: $0.password) } ?? .performDefaultHandling
    case .performDefaultHandling, .rejectProtectionSpace: self = .performDefaultHandling
    case .cancel: self = .cancel
    }
  }
}
