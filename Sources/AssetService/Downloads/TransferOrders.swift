internal import AssetModel
internal import AssetStore
internal import Downloads
internal import ServiceMachines
internal import ServiceProtocol

/// What the engine is told to do with downloads.
final class TransferOrders {
  private let decider: Decider
  private let downloads: DownloadTable
  private let transfers: Transfers
  private let events: TransferEvents
  private let plan: TransferPlan

  init(
    decider: Decider, downloads: DownloadTable, transfers: Transfers, events: TransferEvents, plan: TransferPlan
  ) {
    self.decider = decider
    self.downloads = downloads
    self.transfers = transfers
    self.events = events
    self.plan = plan
  }

  /// Adds all that `actions` name, in one transaction of the engine's. `unread`: where the journal can't say whether the engine has
  /// a download already, it isn't added.
  func add(_ actions: [Action], unread: (Action, UnreadableJournal) -> Void) async {
    var specifications: [DownloadSpecification] = []
    var paused: Set<String> = []
    for action in actions {
      guard case .addTransfer(let app, let planned, let urgency, let isPaused, let isManifest, let budget) = action
      else { continue }
      let unique = planned.uniqueIdentifier
      guard let scheduled = downloads[app]?[unique], !scheduled.isDiscarded else { continue }
      let record: JobRecord?
      do { record = try transfers.record(.init(app: app, download: unique)) } catch {
        unread(action, error)
        continue
      }
      if let record {
        if record.state.isTerminal {
          await events.ended(app, unique, record)
        } else {
          // Added by a service that was killed before it could say so. Asked again, the engine could have finished it by
          // then, and take it for another one.
          if isPaused { transfers.engine.pause(record.id) }
          decider.process(.app(app, .registry(.engineAdded(uniqueIdentifier: unique))))
        }
        continue
      }
      if !isManifest, let failure = obstacle(in: scheduled.value.applicationGroupIdentifier) {
        fail(app, unique, failure)
        continue
      }
      if isPaused { paused.insert(unique) }
      let machines = decider.core.apps[app]
      specifications.append(
        plan.specification(
          app, scheduled.value, urgency: urgency, owner: scheduled.entry?.owner ?? .service, budget: budget,
          domains: machines?.restrictions.isActive == true ? machines?.facts.limits.domains : nil))
    }
    if !specifications.isEmpty { await add(specifications, paused: paused) }
  }

  /// What keeps the files of a group from being there.
  private func obstacle(in group: String) -> Failure? {
    do throws(StoreError) {
      try Containers(root: plan.groups).prepare(group)
      return nil
    } catch {
      return Failure(
        domain: Failure.networkDomain, code: -3000, message: "the container of \(group) can't be opened: \(error)")
    }
  }

  private func add(_ specifications: [DownloadSpecification], paused: Set<String>) async {
    do {
      let results = try await transfers.add(specifications)
      var events: [CoreEvent] = []
      for (specification, result) in zip(specifications, results) {
        if let id = result.present, paused.contains(specification.identifier) { transfers.engine.pause(id) }
        events.append(.app(specification.app, .registry(result.event(specification))))
      }
      decider.process(events)
    } catch is EngineClosed {
      // The service stops: they are added by the next one.
    } catch {
      for specification in specifications {
        fail(
          specification.app, specification.identifier, .framework(102, "the journal can't take it: \(error)"))
      }
    }
  }

  private func fail(_ app: String, _ unique: String, _ failure: Failure) {
    decider.process(.app(app, .registry(.engineSettled(uniqueIdentifier: unique, settlement: .failed(failure)))))
  }

  func setUrgency(
    _ urgency: DownloadRegistry.Urgency, of app: String, _ unique: String
  ) throws(UnreadableJournal) {
    let owner = downloads[app]?[unique]?.entry?.owner
    try transfers.setClass(TransferPlan.transferClass(urgency, owner), of: .init(app: app, download: unique))
  }

  func pause(_ app: String, _ unique: String) throws(UnreadableJournal) {
    try transfers.pause(.init(app: app, download: unique))
  }

  func resume(_ app: String, _ unique: String) throws(UnreadableJournal) {
    try transfers.resume(.init(app: app, download: unique))
  }

  func cancel(_ app: String, _ unique: String) throws(UnreadableJournal) {
    let key = Transfers.Key(app: app, download: unique)
    if let record = try transfers.record(key), !record.state.isTerminal { return transfers.engine.cancel(record.id) }
    // The engine has nothing to cancel, and so nothing to say of it.
    decider.process(.app(app, .registry(.engineSettled(uniqueIdentifier: unique, settlement: .cancelled))))
  }
}

extension AddResult {
  /// What it means for the download.
  func event(_ specification: DownloadSpecification) -> DownloadRegistry.Event {
    let unique = specification.identifier
    let failure: Failure
    switch self {
    case .added, .alreadyScheduled, .conflict: return .engineAdded(uniqueIdentifier: unique)
    case .tooMany(let limit): failure = .framework(102, "the app has \(limit) downloads already")
    case .allowance(let missing):
      // It was let in when it was scheduled: by now the transfers of others have used what was left (B63).
      let budget = Restrictions.Budget.allCases.first {
        TransferPlan.name(of: $0, specification.app) == specification.budget
      }
      failure = .framework(
        203, "\(budget?.key ?? "its allowance") lacks \(missing) bytes for it before the first launch")
    case .invalid(let why): failure = .framework(102, why)
    }
    return .engineSettled(uniqueIdentifier: unique, settlement: .failed(failure))
  }
}
