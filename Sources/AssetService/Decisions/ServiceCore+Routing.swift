internal import AssetModel
internal import ServiceMachines

/// What an effect of one machine is for the others.
extension ServiceCore {
  mutating func handle(_ event: AppEvent, of app: String, _ now: Instant) {
    switch event {
    case .placed: break
    case .lifecycle(let event):
      change(app) { $0.effects = $0.lifecycle.handle(event, now: now).map(Effect.lifecycle) }
    case .registry(let event): change(app) { $0.effects = $0.registry.handle(event, now: now).map(Effect.registry) }
    case .router(let event): change(app) { $0.effects = $0.router.handle(event, now: now).map(Effect.router) }
    case .ledger(let event): change(app) { $0.effects = $0.ledger.handle(event, now: now).map(Effect.ledger) }
    case .control(let event): change(app) { $0.effects = $0.control.handle(event, now: now).map(Effect.control) }
    case .restrictions(let event):
      change(app) { $0.effects = $0.restrictions.handle(event, now: now).map(Effect.restrictions) }
    case .progress(let event): change(app) { _ = $0.progress.handle(event, now: now) }
    case .answered(let run, let accepted, let rejected): answered(app, run, accepted, rejected, now)
    case .schedule(let call, let download, let caller):
      admit(app, call, download, isNew: true) { .schedule(call: call, download: download, caller: caller) }
    case .startForeground(let call, let download, let state, let caller):
      admit(app, call, download, isNew: state == .created) {
        .startForeground(call: call, download: download, state: state, caller: caller)
      }
    case .manifestFinished(let download, let digest, let size): manifestFinished(app, download, digest, size)
    case .received(let download, let bytes, let added, let total): received(app, download, bytes, added, total)
    case .challenged(let download, let number):
      occurred(app, EventRouter.Occurrence(number: number, uniqueIdentifier: download, kind: .challenge))
    case .launched:
      tellPlanner(.launched(app: app))
      tell(app, .lifecycle(.launched))
    case .exited:
      tellPlanner(.exited(app: app))
      tell(app, .lifecycle(.exited))
    case .connectionLeft(let connection):
      tell(app, .router(.left(recipient: .connection(connection))))
      tell(app, .control(.holderGone(.connection(connection))))
      tell(app, .registry(.connectionLeft(connection)))
    case .manifestLost(let download, let failure):
      if let generation = apps[app]?.manifests.first(where: { $0.value == download })?.key {
        tell(app, .lifecycle(.manifestFailed(generation: generation, failure: failure)))
      }
    case .rejected(let download, let failure):
      if apps[app]?.lifecycle.gate.isClosed == true { change(app) { $0.gated.insert(download) } }
      stageFailure(app, download, failure)
    case .runEnded(let run, let end):
      if apps[app]?.lifecycle.active?.run == run { tell(app, .ledger(.answered)) }
      tell(app, .control(.holderGone(.run(run))))
      tell(app, .router(.left(recipient: .delegate(run: run))))
      tell(app, .router(.left(recipient: .entryPoint(run: run))))
      tell(app, .lifecycle(.extensionEnded(run: run, end: end)))
      // For a run that never began; of the others the planner knows by now what they used.
      tellPlanner(.ended(run: run, runtime: .zero, end: end))
    }
    routeEffects(of: app, now)
  }

  /// The effects of the machine that has just handled an event.
  private mutating func routeEffects(of app: String, _ now: Instant) {
    var effects: [Effect] = []
    change(app) { swap(&effects, &$0.effects) }
    for effect in effects {
      if case .registry(let effect) = effect, isHeldBack(effect, of: app, now) { continue }
      route(effect, of: app)
    }
  }

  enum Effect: Sendable, Equatable {
    case lifecycle(AppLifecycle.Effect)
    case registry(DownloadRegistry.Effect)
    case router(EventRouter.Effect)
    case ledger(DeliveryLedger.Effect)
    case control(ExclusiveControl.Effect)
    case restrictions(Restrictions.Effect)
  }

  mutating func route(_ effect: Effect, of app: String) {
    switch effect {
    case .lifecycle(let effect): route(effect, of: app)
    case .registry(let effect): route(effect, of: app)
    case .router(let effect): route(effect, of: app)
    case .ledger(let effect): route(effect, of: app)
    case .control(.grant(let claim)): act(.controlGranted(app: app, claim: claim))
    case .control(.refuse(let claim, let refusal)): act(.controlRefused(app: app, claim: claim, refusal: refusal))
    case .restrictions(let effect): route(effect, of: app)
    }
  }

  // MARK: Planner

  mutating func route(_ effect: WakePlanner.Effect) {
    switch effect {
    case .wake(let grant):
      switch grant.request.reason {
      case .content:
        tell(grant.request.app, .lifecycle(.wakeGranted(generation: grant.request.token, run: grant.run)))
      case .callbacks:
        tell(grant.request.app, .router(.wakeGranted(run: grant.run)))
        act(.startCallbackRun(app: grant.request.app, run: grant.run))
      }
    case .refuse(let request, let refusal):
      act(.refusedWake(app: request.app, request: request, refusal: refusal))
      switch request.reason {
      case .content: tell(request.app, .lifecycle(.wakeRefused(generation: request.token, refusal: refusal)))
      case .callbacks: tell(request.app, .router(.wakeRefused))
      }
    case .periodicDue(let app): tell(app, .lifecycle(.requested(.periodic, isSimulated: false)))
    case .extended: break
    case .exhausted(let run), .end(let run, _): act(.endRun(run: run))
    case .reconsider(let app):
      tell(app, .lifecycle(.conditionsChanged))
      tell(app, .router(.wakePossible))
    }
  }

  // MARK: Lifecycle

  private mutating func route(_ effect: AppLifecycle.Effect, of app: String) {
    switch effect {
    case .closeGate: tell(app, .ledger(.gateClosed))
    case .openGate:
      change(app) { machines in
        machines.gated = []
        machines.formerFacts = nil
      }
      tell(app, .progress(.completed))
      if let generation = apps[app]?.lifecycle.generation { tell(app, .registry(.gateOpened(generation: generation))) }
    case .deliverBatch: tell(app, .ledger(.gateOpened))
    case .fetchManifest(let generation, _, let version): fetchManifest(app, generation, version)
    case .cancelManifest(let generation):
      if let download = apps[app]?.manifests[generation] { act(.cancelTransfer(app: app, download: download)) }
    case .askForWake(let generation, let request, let digest, _, let isSimulated):
      let isClosed = apps[app]?.lifecycle.gate.isClosed ?? false
      tellPlanner(
        .requested(
          WakeRequest(
            app: app, token: generation, reason: .content(request), manifestDigest: digest, isGateClosed: isClosed,
            isSimulated: isSimulated)))
    case .withdrawWake(let generation): tellPlanner(.withdrawn(app: app, token: generation))
    case .startExtension(let run, let generation, let request, let version):
      tell(app, .ledger(.asked))
      act(.startContentRun(app: app, run: run, generation: generation, request: request, version: version))
    case .endExtension(let run): act(.endRun(run: run))
    case .discardManifest(let generation): discardManifests(app, upTo: generation)
    case .schedule(let downloads, let generation, let request):
      change(app) { machines in
        if machines.lifecycle.gate.isClosed { machines.gated.formUnion(downloads.map(\.uniqueIdentifier)) }
      }
      tell(app, .progress(.planned(downloads.filter { $0.isEssential && request.permitsEssential })))
      tell(app, .registry(.planned(downloads: downloads, generation: generation)))
    case .reportRejected(let downloads): act(.reportRejected(app: app, downloads: downloads))
    case .reportManifestFailure(let generation, let failure):
      guard let download = apps[app]?.manifests[generation] else { return }
      change(app) { machines in if machines.lifecycle.gate.isClosed { machines.gated.insert(download) } }
      stageFailure(app, download, failure)
    case .retryPeriodicLater: tellPlanner(.periodicFailed(app: app))
    case .withdrawUpdate: withdrawUpdate(of: app)
    case .cancelDownloads(let generation): tell(app, .registry(.cancelGeneration(generation)))
    case .pauseDownloads(let generation):
      tell(app, .progress(.paused))
      tell(app, .registry(.pauseGeneration(generation)))
    case .resumeDownloads(let generation):
      tell(app, .progress(.resumed))
      tell(app, .registry(.resumeGeneration(generation)))
    case .placeVersion(let version): act(.placeVersion(app: app, version: version))
    case .keepVersions(let versions): act(.keepVersions(app: app, versions: versions))
    case .removeApp:
      tellProcesses(ofRemoved: app)
      tell(app, .control(.appRemoved))
      act(.removeApp(app: app))
    case .forget:
      tellPlanner(.removed(app: app))
      remove(app)
      forgetSettings(of: app)
      act(.forget(app: app))
    case .liftRestrictions: tell(app, .restrictions(.launched))
    case .simulationEnded(let request, let reason):
      act(.simulationEnded(app: app, request: request, reason: reason))
    case .resetRuntime: tellPlanner(.runtimeReset(app: app))
    }
  }

  /// An app that runs on hears how its downloads end, as long as there are rows of them; nothing is delivered of it later.
  private mutating func tellProcesses(ofRemoved app: String) {
    let connections = (apps[app]?.router.observers ?? []).filter { if case .connection = $0 { true } else { false } }
    guard !connections.isEmpty else { return }
    let failure = Failure(
      domain: Failure.networkDomain, code: Failure.cancelled.code,
      message: "the download was cancelled: the app was uninstalled")
    for unique in apps[app]?.registry.unsettled.map(\.download.uniqueIdentifier).sorted() ?? [] {
      act(.recordFailure(app: app, download: unique, failure: failure))
      let occurrence = EventRouter.Occurrence(number: newOccurrence(), uniqueIdentifier: unique, kind: .failed)
      for connection in connections { act(.call(app: app, recipient: connection, occurrence: occurrence)) }
    }
  }

  private mutating func withdrawUpdate(of app: String) {
    guard let machines = apps[app] else { return }
    for download in machines.gated.sorted() {
      tell(app, .registry(.withdrawn(uniqueIdentifier: download)))
      tell(app, .ledger(.discarded(uniqueIdentifier: download)))
      tell(app, .restrictions(.settled(uniqueIdentifier: download)))
      act(.withdrawDownload(app: app, download: download))
    }
    change(app) { changed in
      changed.failed.subtract(machines.gated)
      for download in machines.gated { changed.budgets[download] = nil }
      changed.gated = []
      changed.formerFacts = nil
      if let former = machines.formerFacts { changed.facts = former }
    }
    if let former = machines.formerFacts { tell(app, .restrictions(.limitsChanged(former.limits))) }
    if let version = machines.lifecycle.version { tellPlanner(.installed(app: app, version: version)) }
  }

  private mutating func fetchManifest(_ app: String, _ generation: Int, _ version: String) {
    let installation = apps[app]?.facts.installation ?? ""
    let name = DerivedIdentifier.make("\(app)\u{0}\(installation)\u{0}\(version)\u{0}\(generation)\u{0}manifest")
    // A user waits for it at the gate, or an operator for the end of a simulation: no metered line holds it.
    let isGateClosed = apps[app]?.lifecycle.gate.isClosed ?? false
    let isAwaited = isGateClosed || apps[app]?.lifecycle.active?.isSimulated == true
    // Part of an installation only where there is one.
    let download = PlannedDownload(
      uniqueIdentifier: name, identifier: "\(app).manifest", isEssential: isGateClosed, priority: 100,
      host: apps[app]?.facts.manifestHost ?? "")
    change(app) { $0.manifests[generation] = name }
    guard admitted(app, download, isManifest: true) else { return }
    tell(app, .registry(.plannedManifest(download, generation: generation, isAwaited: isAwaited)))
  }

  private mutating func discardManifests(_ app: String, upTo generation: Int) {
    for (_, download) in apps[app]?.manifests.filter({ $0.key <= generation }) ?? [:] {
      tell(app, .registry(.abandoned(uniqueIdentifier: download)))
    }
    change(app) { machines in machines.manifests = machines.manifests.filter { $0.key > generation } }
    act(.discardManifests(app: app, upTo: generation))
  }

  private mutating func manifestFinished(_ app: String, _ download: String, _ digest: String, _ size: Int64) {
    guard let generation = apps[app]?.manifests.first(where: { $0.value == download })?.key else { return }
    tell(app, .lifecycle(.manifestFetched(generation: generation, digest: digest, size: size)))
  }

  // MARK: Registry

  private mutating func route(_ effect: DownloadRegistry.Effect, of app: String) {
    switch effect {
    case .accept(let call, let unique): act(.reply(call: call, result: .success(unique)))
    case .refuse(let call, let failure): act(.reply(call: call, result: .failure(failure)))
    case .reject(let unique, let rejected):
      stageFailure(app, unique, .framework(Int(rejected.code), rejected.reason))
    case .add(let download, let urgency, _, let isPaused):
      act(
        .addTransfer(
          app: app, download: download, urgency: urgency, isPaused: isPaused,
          isManifest: isManifest(download.uniqueIdentifier, of: app),
          budget: apps[app]?.budgets[download.uniqueIdentifier]))
    case .setUrgency(let unique, let urgency): act(.setUrgency(app: app, download: unique, urgency: urgency))
    case .pause(let unique): act(.pauseTransfer(app: app, download: unique))
    case .resume(let unique): act(.resumeTransfer(app: app, download: unique))
    case .cancel(let unique): act(.cancelTransfer(app: app, download: unique))
    case .store(let entry): act(.store(app: app, entry: entry))
    case .remove(let unique): act(.remove(app: app, download: unique))
    case .began(let unique): moved(app, unique, .began)
    case .paused(let unique): moved(app, unique, .paused)
    case .settled(let unique, let identifier, let settlement): settled(app, unique, identifier, settlement)
    }
  }

  private mutating func settled(_ app: String, _ unique: String, _ identifier: String, _ settlement: Settlement) {
    change(app) { $0.budgets[unique] = nil }
    tell(app, .restrictions(.settled(uniqueIdentifier: unique)))
    tell(app, .progress(.settled(uniqueIdentifier: unique)))
    if let generation = apps[app]?.manifests.first(where: { $0.value == unique })?.key {
      // A manifest that arrived is told by `manifestFinished`, which knows its digest.
      if case .failed(let failure) = settlement {
        tell(app, .lifecycle(.manifestFailed(generation: generation, failure: failure)))
      } else if settlement == .cancelled {
        tell(app, .lifecycle(.manifestFailed(generation: generation, failure: .cancelled)))
      }
      return
    }
    switch settlement {
    case .finished: tell(app, .ledger(.staged(uniqueIdentifier: unique, identifier: identifier, hasFile: true)))
    case .failed(let failure): stageFailure(app, unique, failure)
    case .cancelled: stageFailure(app, unique, .cancelled)
    }
    tell(app, .lifecycle(.settled(uniqueIdentifier: unique, settlement: settlement)))
  }

  /// A download failed, which has to be delivered.
  private mutating func stageFailure(_ app: String, _ unique: String, _ failure: Failure) {
    change(app) { $0.failed.insert(unique) }
    act(.recordFailure(app: app, download: unique, failure: failure))
    tell(app, .ledger(.staged(uniqueIdentifier: unique, hasFile: false)))
  }

  // MARK: Routing and delivery

  /// How far a download is, the manifest among them (B33). Nobody is called with the file of that, which is the service's own.
  mutating func moved(_ app: String, _ unique: String, _ kind: EventRouter.Kind) {
    occurred(app, .init(number: newOccurrence(), uniqueIdentifier: unique, kind: kind))
  }

  func isManifest(_ unique: String, of app: String) -> Bool { apps[app]?.manifests.values.contains(unique) ?? false }

  mutating func occurred(_ app: String, _ occurrence: EventRouter.Occurrence) {
    if occurrence.kind.needsAnswer { change(app) { $0.occurrences[occurrence.number] = occurrence } }
    tell(app, .router(.occurred(occurrence)))
  }

  private mutating func route(_ effect: EventRouter.Effect, of app: String) {
    switch effect {
    case .notify(let recipients, let occurrence):
      act(.notify(app: app, recipients: recipients, occurrence: occurrence))
    case .call(let recipient, let occurrence):
      if occurrence.kind != .challenge {
        tell(app, .ledger(.offered(uniqueIdentifier: occurrence.uniqueIdentifier, recipient: recipient)))
      }
      act(.call(app: app, recipient: recipient, occurrence: occurrence))
    case .withdraw(let recipient, let number): act(.withdraw(app: app, recipient: recipient, number: number))
    case .wakeExtension:
      tellPlanner(
        .requested(
          WakeRequest(
            app: app, token: Self.callbacksToken, reason: .callbacks,
            manifestDigest: apps[app]?.lifecycle.active?.manifestDigest ?? "",
            isGateClosed: apps[app]?.lifecycle.gate.isClosed ?? false)))
    case .resolved(let occurrence, let resolution):
      change(app) { $0.occurrences[occurrence.number] = nil }
      resolved(app, occurrence, resolution)
    }
  }

  /// Of wakes for callbacks: the lifecycle's own are numbered by generation, from 1.
  static let callbacksToken = 0

  private mutating func resolved(
    _ app: String, _ occurrence: EventRouter.Occurrence, _ resolution: EventRouter.Resolution
  ) {
    let unique = occurrence.uniqueIdentifier
    if occurrence.kind == .challenge {
      if resolution == .unhandled || resolution == .dropped { act(.endChallenge(number: occurrence.number)) }
      return
    }
    guard occurrence.kind.needsAnswer else { return }
    switch resolution {
    case .handled: act(.inspect(app: app, download: unique, then: .acknowledged))
    case .recipientGone: act(.inspect(app: app, download: unique, then: .recipientGone))
    case .unhandled: act(.inspect(app: app, download: unique, then: .acknowledged))
    case .dropped: tell(app, .ledger(.discarded(uniqueIdentifier: unique)))
    }
  }

  private mutating func route(_ effect: DeliveryLedger.Effect, of app: String) {
    switch effect {
    case .offer(let downloads):
      for unique in downloads {
        let kind: EventRouter.Kind = apps[app]?.failed.contains(unique) ?? false ? .failed : .finished
        occurred(app, .init(number: newOccurrence(), uniqueIdentifier: unique, kind: kind))
      }
    case .deleteFile(let unique): act(.deleteFile(app: app, download: unique))
    case .close(let unique, let outcome):
      change(app) { $0.failed.remove(unique) }
      act(.closeDelivery(app: app, download: unique, outcome: outcome))
    case .inspect(let unique): act(.inspect(app: app, download: unique, then: .inspected))
    }
  }
}
