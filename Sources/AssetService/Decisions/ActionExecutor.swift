internal import AssetModel
internal import AssetStore
internal import Downloads
internal import ServiceMachines
internal import ServiceProtocol

/// Has carried out what was decided, each action by the part that it concerns. Each can be done twice without harm.
final class ActionExecutor {
  private let decider: Decider
  private let transfers: Transfers
  private let store: AssetStore
  private let orders: TransferOrders
  private let files: DownloadFiles
  private let runs: ExtensionRuns
  private let delegates: DelegateCalls
  private let challenges: PendingChallenges
  private let calls: OpenCalls
  private let clients: ClientRegistry
  private let simulations: SimulationWaiters
  private let catalog: AppCatalog
  private let news: ServiceNews
  private let events: TransferEvents
  let retry: JournalRetry
  /// Actions are being carried out; those that are decided meanwhile will be, too.
  private(set) var isAtWork = false

  init(
    decider: Decider, transfers: Transfers, store: AssetStore, orders: TransferOrders, files: DownloadFiles,
    runs: ExtensionRuns, delegates: DelegateCalls, challenges: PendingChallenges, calls: OpenCalls,
    clients: ClientRegistry, simulations: SimulationWaiters, catalog: AppCatalog, news: ServiceNews,
    events: TransferEvents, retry: JournalRetry
  ) {
    self.decider = decider
    self.transfers = transfers
    self.store = store
    self.orders = orders
    self.files = files
    self.runs = runs
    self.delegates = delegates
    self.challenges = challenges
    self.calls = calls
    self.clients = clients
    self.simulations = simulations
    self.catalog = catalog
    self.news = news
    self.events = events
    self.retry = retry
  }

  /// Carries out all decisions, until none is left.
  func act() async {
    guard !isAtWork else { return }
    isAtWork = true
    defer { isAtWork = false }
    repeat {
      while decider.hasActions, !decider.isClosed { await perform(decider.takeActions()) }
      runs.endIdle()
    } while decider.hasActions && !decider.isClosed
  }

  func perform(_ actions: [Action]) async {
    var adding: [Action] = []
    for action in actions {
      if let key = action.transfer, retry.isWaiting(.download(key)) {
        retry.follow(.action(action), of: .download(key))
        continue
      }
      if case .addTransfer = action {
        adding.append(action)
        continue
      }
      if !adding.isEmpty {
        await orders.add(adding, unread: postpone)
        adding = []
      }
      do { try await perform(action) } catch { postpone(action, error) }
    }
    if !adding.isEmpty { await orders.add(adding, unread: postpone) }
  }

  private func postpone(_ action: Action, _ error: UnreadableJournal) {
    guard let key = action.transfer else { return }
    retry.postpone(.action(action), of: .download(key), error)
  }

  /// Does what waited for the journal, as far as it can be read now.
  func tryPostponed() async {
    if decider.isClosed { return }
    await retry.tryAgain { subject, item throws(UnreadableJournal) in
      switch (item, subject) {
      case (.action(let action), _): try await perform(action)
      case (.ending, .download(let key)): try await events.applyEnd(of: key)
      case (.release, .download(let key)): try transfers.cancel(key)
      case (.event(let event), .job(let id)):
        if let key = try transfers.key(id) { await events.happened(key, event) }
      case (.reconciliation, _): try await events.applyEnds()
      case (.ending, _), (.release, _), (.event, _): break
      }
    }
  }

  private func perform(_ action: Action) async throws(UnreadableJournal) {
    switch action {
    case .addTransfer:
      var unread: UnreadableJournal?
      await orders.add([action]) { unread = $1 }
      if let unread { throw unread }
    case .setUrgency(let app, let download, let urgency): try orders.setUrgency(urgency, of: app, download)
    case .pauseTransfer(let app, let download): try orders.pause(app, download)
    case .resumeTransfer(let app, let download): try orders.resume(app, download)
    case .cancelTransfer(let app, let download): try orders.cancel(app, download)
    case .setBudget(let app, let budget, let allowed):
      if setBudget(budget, of: app, allowed) {
        transfers.engine.allowancesChanged(of: TransferPlan.name(of: budget, app))
      }
    case .startContentRun(let app, let run, let generation, let request, let version):
      runs.start(app, run, generation: generation, request: request, version: version)
    case .startCallbackRun(let app, let run): runs.start(app, run)
    case .endRun(let run): runs.end(run)
    case .discardManifests(let app, _): files.discardManifests(app)
    case .placeVersion(let app, let version):
      decider.process(.app(app, .lifecycle(await catalog.place(app, version))))
    case .keepVersions(let app, let versions):
      await catalog.keep(app, versions) { decider.core.apps[app]?.lifecycle.names($0) == true }
    case .removeApp(let app): await remove(app)
    case .inspect(let app, let download, let then): try files.inspect(app, download, then)
    case .deleteFile(let app, let download), .withdrawDownload(let app, let download): try files.remove(app, download)
    case .closeDelivery(let app, let download, let outcome):
      files.endDelivery(app, download)
      if outcome == .undelivered {
        news.log(app, "undelivered", "\(download): three recipients ended while they were told")
      }
    case .reply(let call, let result): calls.reply(call, result)
    case .notify(let app, let recipients, let occurrence): delegates.notify(app, recipients, occurrence)
    case .call(let app, let recipient, let occurrence): delegates.call(app, recipient, occurrence)
    case .withdraw(_, let recipient, let number): delegates.withdraw(recipient, number)
    case .endChallenge(let number): challenges.take(.performDefaultHandling, to: number)
    case .controlGranted(let app, let claim): calls.reply(claim, nil, of: app)
    case .controlRefused(let app, let claim, let refusal): calls.reply(claim, refusal, of: app)
    case .simulationEnded(let app, let request, let reason): simulations.end(app, request, reason)
    case .refusedWake(let app, let request, let refusal): runs.refused(app, request, refusal)
    // Written down already.
    case .store, .remove, .recordFailure, .forget, .reportRejected: break
    }
  }

  /// Returns whether it is set.
  private func setBudget(_ budget: Restrictions.Budget, of app: String, _ allowed: Int64?) -> Bool {
    let name = TransferPlan.name(of: budget, app)
    do throws(StoreError) { try store.budgets.set(name, allows: allowed) } catch {
      news.log(app, "allowance", "\(name) stays as it was: \(error)")
      return false
    }
    return true
  }

  private func remove(_ app: String) async {
    for connection in clients.uninstalled(app) { calls.refuse(connection, .uninstalled(app)) }
    runs.endAll(of: app)
    for budget in Restrictions.Budget.allCases { _ = setBudget(budget, of: app, nil) }
    files.deleteAll(of: app)
    await catalog.remove(app)
    // What is still being cancelled stays until the next removal; an installation knows its own by name.
    _ = try? store.retention.forgetSettled(app: app, keeping: 0)
    decider.process(.app(app, .lifecycle(.removed)))
    simulations.end(app)
    clients.publish(.appRemoved(identifier: app), of: app)
    news.log(app, "removed", "")
  }
}
