internal import AssetStore
internal import Foundation
internal import ServiceMachines
internal import ServiceProtocol

/// A download as the service keeps it: what was asked for, where the registry has it, and what became of it.
struct ScheduledDownload: Sendable, Equatable, Codable {
  var value: DownloadValue
  var entry: DownloadRegistry.Entry?
  /// Why it failed; for whoever has to be told.
  var failure: ServiceFailure?
  /// Its file and its transfer are to go, and then this row.
  var isDiscarded = false
  /// Three recipients ended while they were told of its file: that stays where it is until there is no room for it.
  var isUndelivered = false
  /// Its access expired once and its extension gave another request for it, which `value` has.
  var hasFreshAnswer = false
  /// What is known of its transfer, as long as the service runs.
  var transfer = TransferFacts()

  private enum CodingKeys: CodingKey { case value, entry, failure, isDiscarded, isUndelivered, hasFreshAnswer }

  init(value: DownloadValue) { self.value = value }

  init(from decoder: any Decoder) throws {
    let values = try decoder.container(keyedBy: CodingKeys.self)
    value = try values.decode(DownloadValue.self, forKey: .value)
    entry = try values.decodeIfPresent(DownloadRegistry.Entry.self, forKey: .entry)
    failure = try values.decodeIfPresent(ServiceFailure.self, forKey: .failure)
    isDiscarded = try values.decodeIfPresent(Bool.self, forKey: .isDiscarded) ?? false
    isUndelivered = try values.decodeIfPresent(Bool.self, forKey: .isUndelivered) ?? false
    hasFreshAnswer = try values.decodeIfPresent(Bool.self, forKey: .hasFreshAnswer) ?? false
  }
}

struct TransferFacts: Sendable, Equatable {
  var received: Int64 = 0
  var total: Int64?
  var bytesPerSecond: Double?
  var waiting: DownloadSummary.Waiting?
}

/// The service's state in the journal: one transaction for each event that changes something, before anybody is told.
struct ServiceJournal {
  let store: AssetStore
  /// What the journal has, so that only what changed is written.
  private var written: [String: AppMachines] = [:]
  private var writtenOwn: Own?
  private let encoder: JSONEncoder

  struct State {
    var core: ServiceCore
    var clock: ServiceClock
    var downloads: [String: [String: ScheduledDownload]]
  }

  init(_ store: AssetStore) {
    self.store = store
    encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  }

  /// The service's own values, beside those of apps. They have a record for each app, so that they are written only when
  /// they change.
  private struct Own: Codable, Equatable {
    var planner: WakePlanner
    var settings: ServiceSettings
    var conditions: Conditions
  }

  /// What goes on with every event, and is written with each.
  private struct Progress: Codable {
    var clock: ServiceClock
    var lastOccurrence: Int64
  }

  private struct Names: Codable, Equatable {
    var manifests: [Int: String]
    var budgets: [String: Restrictions.Budget]
    var failed: Set<String>
    var gated: Set<String>?
    var formerFacts: AppMachines.Facts?

    init(_ machines: AppMachines) {
      (manifests, budgets, failed) = (machines.manifests, machines.budgets, machines.failed)
      (gated, formerFacts) = (machines.gated, machines.formerFacts)
    }
  }

  // MARK: Reading

  /// nil: nothing was ever written.
  mutating func load() throws -> State? {
    var own: Own?
    var progress: Progress?
    var parts: [String: [String: [UInt8]]] = [:]
    for machine in try store.machines() {
      if machine.app.isEmpty {
        // Both were one before, under the name `own`.
        own = own ?? (try? decode(Own.self, machine.state))
        progress = (try? decode(Progress.self, machine.state)) ?? progress
      } else {
        parts[machine.app, default: [:]][machine.name] = machine.state
      }
    }
    var downloads: [String: [String: ScheduledDownload]] = [:]
    try store.forEachScheduled { app, identifier, value in
      guard let download = try? JSONDecoder().decode(ScheduledDownload.self, from: Data(value)) else { return }
      downloads[app, default: [:]][identifier] = download
    }
    guard let own, let progress else { return nil }
    var apps: [String: AppMachines] = [:]
    for (app, parts) in parts {
      let entries = (downloads[app] ?? [:]).values.compactMap(\.entry)
      if let machines = try? self.machines(parts, entries) { apps[app] = machines }
    }
    for (app, machines) in apps { written[app] = machines.withoutDownloads }
    writtenOwn = own
    return State(
      core: ServiceCore(
        planner: own.planner, settings: own.settings, conditions: own.conditions, apps: apps,
        lastOccurrence: progress.lastOccurrence),
      clock: progress.clock, downloads: downloads)
  }

  private func machines(_ parts: [String: [UInt8]], _ entries: [DownloadRegistry.Entry]) throws -> AppMachines {
    func part<Value: Decodable>(_ name: MachineName, _ type: Value.Type) throws -> Value {
      try decode(type, parts[name.rawValue] ?? [])
    }
    let names = try part(.names, Names.self)
    return AppMachines(
      facts: try part(.facts, AppMachines.Facts.self), lifecycle: try part(.lifecycle, AppLifecycle.self),
      registry: DownloadRegistry(entries: entries), router: try part(.router, EventRouter.self),
      ledger: try part(.ledger, DeliveryLedger.self), control: try part(.control, ExclusiveControl.self),
      restrictions: try part(.restrictions, Restrictions.self), progress: try part(.progress, InstallProgress.self),
      manifests: names.manifests, budgets: names.budgets, failed: names.failed, gated: names.gated ?? [],
      formerFacts: names.formerFacts)
  }

  private func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) throws -> Value {
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
    let own = Own(planner: core.planner, settings: core.settings, conditions: core.conditions)
    if own != writtenOwn { changes.append(.machine(app: "", name: "own", state: try bytes(own))) }
    let progress = Progress(clock: clock, lastOccurrence: core.lastOccurrence)
    changes.append(.machine(app: "", name: "progress", state: try bytes(progress)))
    try store.commit(changes + further)
    writtenOwn = own
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
    try write(.router) { $0.router }
    try write(.ledger) { $0.ledger }
    try write(.control) { $0.control }
    try write(.restrictions) { $0.restrictions }
    try write(.progress) { $0.progress }
    try write(.names) { Names($0) }
    return changes
  }

  func scheduled(_ app: String, _ download: ScheduledDownload) throws -> ServiceChange {
    .scheduled(app: app, identifier: download.value.uniqueIdentifier, value: try bytes(download))
  }

  func wake(_ run: RunSummary) throws -> ServiceChange { .wake(id: run.id, app: run.app, value: try bytes(run)) }

  func wakes(of app: String?, last count: Int) -> [RunSummary] {
    ((try? store.wakes(of: app, last: count)) ?? []).compactMap {
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
