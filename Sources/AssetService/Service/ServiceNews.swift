internal import AppBundles
internal import AssetStore
internal import Foundation
internal import LinuxSystem
internal import Logging
internal import ServiceMachines
internal import ServiceProtocol

/// What the service says of its work: to its watchers, to its log, and in the journal.
final class ServiceNews {
  private let clients: ClientRegistry
  private let decider: Decider
  private let downloads: DownloadTable
  private let catalog: AppCatalog
  private let store: AssetStore
  private let logger: Logger

  init(
    clients: ClientRegistry, decider: Decider, downloads: DownloadTable, catalog: AppCatalog, store: AssetStore,
    logger: Logger
  ) {
    self.clients = clients
    self.decider = decider
    self.downloads = downloads
    self.catalog = catalog
    self.store = store
    self.logger = logger
  }

  func log(_ app: String?, _ event: String, _ detail: String) {
    let shown = show(app, event, detail)
    do { try store.history.record(shown) } catch {
      logger.error("\(event) isn't in the journal: \(error)", metadata: app.map { ["app": "\($0)"] } ?? [:])
    }
  }

  /// The same for what is written down with the next event: there may be many of these.
  func logWithNext(_ app: String, _ event: String, _ detail: String) {
    decider.writeWithNext(.event(show(app, event, detail)))
  }

  private func show(_ app: String?, _ event: String, _ detail: String) -> StoredEvent {
    logger.info("\(event) \(detail)", metadata: app.map { ["app": "\($0)"] } ?? [:])
    let line = LogLine(at: Timestamp.text(Date()), level: "info", app: app, event: event, detail: detail)
    clients.publish(.line(line), of: app)
    return StoredEvent(wall: WallClock.now(), app: app, kind: event, detail: detail)
  }

  func record(_ run: RunSummary) {
    do { try decider.write(run) } catch {
      logger.error("a run can't be written down: \(error)")
    }
    clients.publish(.run(run), of: run.app)
  }

  /// Runs that ended with an earlier service.
  func closeRuns() {
    for var run in ServiceJournal.wakes(in: store, of: nil, last: 1000)
    where run.outcome.kind == RunSummary.Outcome.runningKind {
      run.outcome = .init(kind: RunEnd.interrupted.rawValue, detail: "the service ended during the run")
      record(run)
    }
  }

  // MARK: What operators watch

  func publishChanges(of decided: [Decider.Decision]) {
    guard clients.isWatched else { return }
    var changed: [String: Set<String>] = [:]
    for (event, actions) in decided {
      for case .store(let app, let entry) in actions {
        changed[app, default: []].insert(entry.download.uniqueIdentifier)
      }
      if case .app(let app, let event) = event {
        changed[app] = changed[app] ?? []
        if case .received(let download, _, _, _) = event { changed[app]?.insert(download) }
      }
    }
    for (app, downloads) in changed {
      for download in downloads { publish(app, download) }
      if let summary = summary(of: app) { clients.publish(.app(summary), of: app) }
    }
  }

  func publish(_ app: String, _ unique: String) {
    guard clients.isWatched, let scheduled = downloads[app]?[unique] else { return }
    clients.publish(.download(Summaries.download(app, scheduled)), of: app)
  }

  func summary(of app: String) -> AppSummary? {
    guard let machines = decider.core.apps[app] else { return nil }
    let groups = Set(decider.description(of: app)?.appGroups ?? [])
    return Summaries.app(
      app, machines, decider.current(app), planner: decider.core.planner,
      groups: Dictionary(uniqueKeysWithValues: groups.map { ($0, catalog.plan.container(of: $0)) }),
      clock: decider.clock)
  }
}
