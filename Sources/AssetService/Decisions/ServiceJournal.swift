internal import AssetStore
internal import Dispatch
internal import Foundation
internal import ServiceMachines
internal import ServiceProtocol
internal import Synchronization

/// The service's state in the journal: one transaction for each event that changes something, before any client is told.
struct ServiceJournal {
  let store: AssetStore
  /// What the journal has, so that only what changed is written.
  private var written: [String: AppMachines] = [:]
  private var writtenState: SharedState?
  /// Rows of deliveries by apps that couldn't be read: they go when such an app is installed again.
  private var leftDeliveries: [String: [String]] = [:]
  private let encoder: JSONEncoder

  struct State {
    var core: ServiceCore
    var clock: ServiceClock
    var downloads: [String: [String: ScheduledDownload]]
    /// Rows that this service can't read, each as words for the log. They stay in the journal.
    var unreadable: [String] = []
  }

  /// The service's own state can't be read: it is no state that this service, or an earlier one, has written.
  struct Unreadable: Error, CustomStringConvertible {
    let description =
      "the service's own state in its journal can't be read; --start-fresh begins with an empty one"
  }

  init(_ store: AssetStore) {
    self.store = store
    encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  }

  /// The service's own values, beside those of apps. They have a record for each app, so that they are written only when
  /// they change.
  private struct SharedState: Codable, Equatable {
    var planner: WakePlanner
    var settings: ServiceSettings
    var conditions: Conditions
  }

  /// What goes on with every event, and is written with each.
  private struct Progress: Codable {
    var clock: ServiceClock
    var lastOccurrence: Int64
  }

  private struct Names: Codable {
    var manifests: [Int: String]
    /// Of one budget each: lists are read many times as quickly as a dictionary of 100,000.
    var ofEssential: [String]
    var ofOther: [String]
    var failed: Set<String>
    var gated: Set<String>?
    var formerFacts: AppMachines.Facts?

    init(_ machines: AppMachines) {
      (manifests, failed) = (machines.manifests, machines.failed)
      (gated, formerFacts) = (machines.gated, machines.formerFacts)
      ofEssential = machines.budgets.filter { $0.value == .essential }.keys.sorted()
      ofOther = machines.budgets.filter { $0.value == .other }.keys.sorted()
    }

    static func areSame(_ one: AppMachines, _ other: AppMachines) -> Bool {
      one.manifests == other.manifests && one.budgets == other.budgets && one.failed == other.failed
        && one.gated == other.gated && one.formerFacts == other.formerFacts
    }

    func budgets(_ shared: (String) -> String) -> [String: Restrictions.Budget] {
      var budgets: [String: Restrictions.Budget] = [:]
      budgets.reserveCapacity(ofEssential.count + ofOther.count)
      for unique in ofEssential { budgets[shared(unique)] = .essential }
      for unique in ofOther { budgets[shared(unique)] = .other }
      return budgets
    }
  }

  // MARK: Reading

  /// nil: nothing was ever written.
  mutating func load() throws -> State? {
    var shared: SharedState?
    var progress: Progress?
    var hasState = false
    var parts: [String: [String: [UInt8]]] = [:]
    for machine in try store.service.machines() {
      if machine.app.isEmpty {
        hasState = true
        // Both were one before, under the name `own`.
        shared = shared ?? (try? Self.decode(SharedState.self, machine.state))
        progress = (try? Self.decode(Progress.self, machine.state)) ?? progress
      } else {
        parts[machine.app, default: [:]][machine.name] = machine.state
      }
    }
    var downloads: [String: [String: ScheduledDownload]] = [:]
    var names = SharedNames()
    var unreadable: [String] = []
    try store.service.forEachScheduled { app, unique, row in
      guard let download = ScheduledDownload(row: row, &names) else {
        unreadable.append("download \(unique) of \(app)")
        return
      }
      downloads[app, default: [:]][download.value.uniqueIdentifier] = download
    }
    guard let shared, let progress else {
      if hasState { throw Unreadable() }
      return nil
    }
    var apps: [String: AppMachines] = [:]
    var deliveries: [String: [String: [UInt8]]] = [:]
    for row in try store.service.pendingDeliveries() { deliveries[row.app, default: [:]][row.identifier] = row.state }
    let identifiers = Array(parts.keys)
    // On all cores: of many apps it takes as long as the rest of the start.
    let read = Mutex<[Int: Result<AppMachines, any Error>]>([:])
    DispatchQueue.concurrentPerform(iterations: identifiers.count) { [parts, downloads, deliveries] index in
      let app = identifiers[index]
      let machines = Result {
        try Self.machines(parts[app] ?? [:], downloads[app] ?? [:], deliveries[app] ?? [:])
      }
      read.withLock { $0[index] = machines }
    }
    for (index, machines) in read.withLock({ $0 }) {
      let app = identifiers[index]
      do { apps[app] = try machines.get() } catch {
        leftDeliveries[app] = (deliveries[app] ?? [:]).keys.sorted()
        unreadable.append("app \(app), which has to be installed again: \(error)")
      }
    }
    for (app, machines) in apps where !hasDeliveriesInside(parts[app] ?? [:]) {
      written[app] = machines.withoutDownloads
    }
    writtenState = shared
    return State(
      core: ServiceCore(
        planner: shared.planner, settings: shared.settings, conditions: shared.conditions, apps: apps,
        lastOccurrence: progress.lastOccurrence),
      clock: progress.clock, downloads: downloads, unreadable: unreadable)
  }

  private static func machines(
    _ parts: [String: [UInt8]], _ downloads: [String: ScheduledDownload], _ deliveries: [String: [UInt8]]
  ) throws -> AppMachines {
    func part<Value: Decodable>(_ name: MachineName, _ type: Value.Type) throws -> Value {
      try decode(type, parts[name.rawValue] ?? [])
    }
    let names = try part(.names, Names.self)
    func shared(_ unique: String) -> String { downloads[unique]?.value.uniqueIdentifier ?? unique }
    var restrictions = try part(.restrictions, Restrictions.self)
    restrictions.shareNames(shared)
    return AppMachines(
      facts: try part(.facts, AppMachines.Facts.self), lifecycle: try part(.lifecycle, AppLifecycle.self),
      registry: DownloadRegistry(entries: downloads.values.lazy.compactMap(\.entry)), router: EventRouter(),
      ledger: try ledger(part(.ledger, DeliveryLedger.self), deliveries),
      control: try part(.control, ExclusiveControl.self),
      restrictions: restrictions, progress: try part(.progress, InstallProgress.self),
      manifests: names.manifests, budgets: names.budgets(shared), failed: names.failed, gated: names.gated ?? [],
      formerFacts: names.formerFacts)
  }

  /// What is to be delivered has a row each: an extension may be told of a thousand failures, one after the other.
  private static func ledger(_ ledger: DeliveryLedger, _ rows: [String: [UInt8]]) throws -> DeliveryLedger {
    var ledger = ledger
    for (unique, state) in rows { ledger.take(try decode(DeliveryLedger.Entry.self, state), of: unique) }
    return ledger
  }

  /// Of a journal from before: everything is written anew with the app's next change.
  private func hasDeliveriesInside(_ parts: [String: [UInt8]]) -> Bool {
    let ledger = try? Self.decode(DeliveryLedger.self, parts[MachineName.ledger.rawValue] ?? [])
    return ledger?.entries.isEmpty == false
  }

  private static func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) throws -> Value {
    try JSONDecoder().decode(type, from: Data(bytes))
  }

  // MARK: Writing

  /// Writes what changed of `apps` ("" for the service's own), with `further` changes, in one transaction.
  mutating func commit(
    _ apps: Set<String>, of core: ServiceCore, clock: ServiceClock, further: [ServiceChange]
  ) throws {
    var changes: [ServiceChange] = []
    for app in apps where !app.isEmpty {
      guard let now = core.apps[app] else { continue }
      changes += try self.changes(app, from: written[app], to: now)
    }
    if changes.isEmpty, further.isEmpty, !apps.contains("") { return }
    let shared = SharedState(planner: core.planner, settings: core.settings, conditions: core.conditions)
    if shared != writtenState { changes.append(.machine(app: "", name: "own", state: try bytes(shared))) }
    let progress = Progress(clock: clock, lastOccurrence: core.lastOccurrence)
    changes.append(.machine(app: "", name: "progress", state: try bytes(progress)))
    try store.service.commit(changes + further)
    writtenState = shared
    for app in apps { written[app] = core.apps[app]?.withoutDownloads }
  }

  private func changes(_ app: String, from old: AppMachines?, to new: AppMachines) throws -> [ServiceChange] {
    var changes: [ServiceChange] = []
    func write<Value: Encodable & Equatable>(_ name: MachineName, _ part: (AppMachines) -> Value) throws {
      let value = part(new)
      if let old, part(old) == value { return }
      changes.append(.machine(app: app, name: name.rawValue, state: try bytes(value)))
    }
    try write(.facts) { $0.facts }
    try write(.lifecycle) { $0.lifecycle }
    try write(.ledger) { $0.ledger.withoutEntries }
    if old == nil { changes += (leftDeliveries[app] ?? []).map { .delivery(app: app, identifier: $0, state: nil) } }
    changes += try deliveries(app, from: old?.ledger.entries ?? [:], to: new.ledger.entries)
    try write(.control) { $0.control }
    try write(.restrictions) { $0.restrictions }
    try write(.progress) { $0.progress }
    // Compared before they are sorted: an app may have 100,000.
    if old.map({ !Names.areSame($0, new) }) ?? true {
      changes.append(.machine(app: app, name: MachineName.names.rawValue, state: try bytes(Names(new))))
    }
    return changes
  }

  private func deliveries(
    _ app: String, from old: [String: DeliveryLedger.Entry], to new: [String: DeliveryLedger.Entry]
  ) throws -> [ServiceChange] {
    // Most events leave them as they are, which one storage tells at once.
    if old == new { return [] }
    var changes: [ServiceChange] = []
    for (unique, entry) in new where old[unique] != entry {
      changes.append(.delivery(app: app, identifier: unique, state: try bytes(entry)))
    }
    for unique in old.keys where new[unique] == nil {
      changes.append(.delivery(app: app, identifier: unique, state: nil))
    }
    return changes
  }

  func scheduled(_ app: String, _ download: ScheduledDownload) -> ServiceChange {
    .scheduled(app: app, identifier: download.value.uniqueIdentifier, value: download.row)
  }

  func wake(_ run: RunSummary) throws -> ServiceChange { .wake(id: run.id, app: run.app, value: try bytes(run)) }

  static func wakes(in store: AssetStore, of app: String?, last count: Int) -> [RunSummary] {
    ((try? store.service.wakes(of: app, last: count)) ?? []).compactMap {
      try? JSONDecoder().decode(RunSummary.self, from: Data($0))
    }
  }

  private func bytes(_ value: some Encodable) throws -> [UInt8] { Array(try encoder.encode(value)) }
}

extension AppMachines {
  /// The registry has a row for each download. A second reference to it would have it copied with every change.
  fileprivate var withoutDownloads: AppMachines {
    var machines = self
    machines.registry = DownloadRegistry()
    return machines
  }
}
