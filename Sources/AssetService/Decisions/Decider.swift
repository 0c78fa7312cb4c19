internal import AppBundles
internal import AssetModel
internal import AssetStore
internal import LinuxSystem
internal import Logging
internal import ServiceMachines
internal import ServiceProtocol

/// Has the machines decide, writes down what changed in one transaction, and then hands on what is to be done. On the service's
/// thread.
final class Decider {
  typealias Decision = (event: CoreEvent, actions: [Action])

  /// Who carries out what was decided.
  protocol Executor: AnyObject {
    /// What was rejected is written down with the answer that it was in: a kill between the two would lose it.
    func nameRejected(_ downloads: [RejectedDownload], of app: String) -> [CoreEvent]
    /// There may be actions to take.
    func actionsMayWait()
    /// All of it is in the journal.
    func committed(_ decisions: [Decision])
  }

  weak var executor: (any Executor)?
  private(set) var core: ServiceCore
  private(set) var clock: ServiceClock
  private(set) var isClosed = false
  private let store: AssetStore
  private let downloads: DownloadTable
  private let catalog: AppCatalog
  private let timer: ServiceTimer
  private let logger: Logger
  private var journal: ServiceJournal
  private var uncommitted = UncommittedWork()
  private var actions: [Action] = []
  /// What the timer is set to.
  private var armed: Instant?

  init(
    _ core: ServiceCore, _ clock: ServiceClock, journal: ServiceJournal, downloads: DownloadTable, catalog: AppCatalog,
    timer: ServiceTimer, logger: Logger
  ) {
    self.timer = timer
    self.core = core
    self.clock = clock
    self.journal = journal
    self.downloads = downloads
    self.catalog = catalog
    self.logger = logger
    store = journal.store
  }

  // MARK: Events

  /// Decides, writes down what changed, and has the actions carried out.
  func process(_ event: CoreEvent) { process([event]) }

  /// Several events, decided one after the other and written down together.
  func process(_ events: [CoreEvent]) {
    guard !isClosed, !events.isEmpty else { return }
    let now = clock.advance(.now())
    var decided: [Decision] = events.map { (event: $0, actions: core.handle($0, now: now)) }
    for case .reportRejected(let app, let downloads) in decided.flatMap(\.actions) {
      let named = executor?.nameRejected(downloads, of: app) ?? []
      decided += named.map { (event: $0, actions: core.handle($0, now: now)) }
    }
    commit(decided.flatMap(\.actions), isVolatile: events.allSatisfy(\.isVolatile))
    executor?.actionsMayWait()
    if uncommitted.failure == nil { executor?.committed(decided) }
    armTimer()
  }

  /// What is to be done now, in order.
  func takeActions() -> [Action] {
    defer { actions = [] }
    return actions
  }

  var hasActions: Bool { !actions.isEmpty }

  /// Writes down what is left. Nothing is decided afterwards.
  func close() {
    isClosed = true
    timer.set(at: nil) {}
  }

  func commitLast() { commit([]) }

  func newOccurrence() -> Int64 { core.newOccurrence() }

  // MARK: The journal

  /// Why nothing can be written down now, and so nothing new is taken on; nil: it can.
  var journalFailure: ServiceFailure? {
    uncommitted.failure.map {
      .command(
        73, "the journal can't be written, so nothing new is taken on: \($0)",
        remedy: "free some space for \(catalog.plan.store); the service tries again every second")
    }
  }

  /// Progress is written with the next change that matters.
  private func commit(_ actions: [Action], isVolatile: Bool = false) {
    let further = changes(for: actions)
    if isVolatile, further.isEmpty {
      // While the journal can't be written, progress isn't told.
      if uncommitted.failure == nil { self.actions += actions }
      return
    }
    uncommitted.add(actions, of: core.takeChanges(), further)
    do {
      try journal.commit(uncommitted.apps, of: core, clock: clock, further: uncommitted.changes)
      if uncommitted.failure != nil { logger.notice("the journal can be written again") }
      self.actions += uncommitted.committed()
    } catch {
      if uncommitted.failed("\(error)") {
        logger.critical("the journal can't be written, so nothing goes on until it can: \(error)")
      }
    }
  }

  /// Written down with the next event.
  func writeWithNext(_ change: ServiceChange) { uncommitted.add([], of: [], [change]) }

  /// Writes down a download that changed without an action.
  func write(_ download: ScheduledDownload, of app: String) throws {
    try store.service.commit([journal.scheduled(app, download)])
  }

  func write(_ run: RunSummary) throws { try store.service.commit([try journal.wake(run)]) }

  private func changes(for actions: [Action]) -> [ServiceChange] {
    var changes: [ServiceChange] = []
    func write(_ app: String, _ unique: String) {
      guard let download = downloads[app]?[unique] else { return }
      changes.append(journal.scheduled(app, download))
    }
    for action in actions {
      switch action {
      case .store(let app, let entry):
        store(entry, of: app)
        write(app, entry.download.uniqueIdentifier)
      case .remove(let app, let download):
        downloads[app]?[download]?.entry = nil
        write(app, download)
      case .recordFailure(let app, let download, let failure):
        downloads[app]?[download]?.failure = ServiceFailure(failure)
        write(app, download)
      case .deleteFile(let app, let download), .withdrawDownload(let app, let download):
        // The row stays until the file is gone, and the engine has nothing to do with it any more.
        downloads[app]?[download]?.isDiscarded = true
        write(app, download)
      case .closeDelivery(let app, let download, let outcome):
        guard downloads[app]?[download]?.isDiscarded != true else { continue }
        if outcome == .undelivered, downloads[app]?[download]?.failure == nil {
          downloads[app]?[download]?.isUndelivered = true
          write(app, download)
          continue
        }
        downloads[app]?[download] = nil
        changes.append(.scheduled(app: app, identifier: download, value: nil))
      case .forget(let app):
        downloads[app] = nil
        changes.append(.forget(app: app))
      default: break
      }
    }
    return changes
  }

  private func store(_ entry: DownloadRegistry.Entry, of app: String) {
    let unique = entry.download.uniqueIdentifier
    guard var download = downloads[app]?[unique] ?? manifestDownload(app, entry) else { return }
    download.entry = entry
    download.value.state = entry.state.rawValue
    download.value.isEssential = entry.download.isEssential
    downloads[app, default: [:]][unique] = download
  }

  /// The manifest's download is the service's own: no client has scheduled it.
  private func manifestDownload(_ app: String, _ entry: DownloadRegistry.Entry) -> ScheduledDownload? {
    guard entry.isManifest, let url = description(of: app)?.manifestURL else { return nil }
    return ScheduledDownload(
      value: DownloadValue(
        identifier: entry.download.identifier, uniqueIdentifier: entry.download.uniqueIdentifier, url: url,
        applicationGroupIdentifier: "", fileSize: nil, isEssential: entry.download.isEssential, priority: 100,
        isManifest: true))
  }

  // MARK: Apps

  /// Of the version that counts.
  func description(of app: String) -> AppDescription? { current(app)?.description }

  func current(_ app: String) -> PlacedApp? { catalog.current(app, core.apps[app]?.lifecycle) }

  func known(_ app: String) throws(ServiceFailure) {
    guard core.apps[app] != nil else {
      throw .command(
        66, "the app \(Printable.text(app)) isn't installed", remedy: "'outrider apps' lists those that are")
    }
  }

  // MARK: Time

  /// One timer for the next moment at which a machine has something to do.
  private func armTimer() {
    var next = core.nextDeadline
    if uncommitted.failure != nil {
      // A tick writes what couldn't be written.
      let retry = clock.now + .seconds(1)
      next = min(next ?? retry, armed ?? retry, retry)
    }
    guard next != armed else { return }
    armed = next
    let due = next.map { BootClock.now + max(.milliseconds(1), min($0 - clock.now, .seconds(1 << 32))) }
    timer.set(at: due) { [weak self] in self?.timerFired() }
  }

  private func timerFired() {
    armed = nil
    process(.tick)
  }
}

extension CoreEvent {
  /// Changes nothing that has to survive.
  fileprivate var isVolatile: Bool {
    switch self {
    case .app(_, .received): true
    default: false
    }
  }
}

extension ServiceClock.Reading {
  /// Of this machine's clocks.
  static func now() -> Self {
    Self(boot: bootIdentifier, bootTime: Int64(BootClock.now / .nanoseconds(1)), wall: WallClock.now())
  }

  private static let bootIdentifier = BootIdentifier.current ?? ""
}
