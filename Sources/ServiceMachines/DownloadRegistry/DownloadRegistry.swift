internal import AssetModel

/// What an app has scheduled, by identifier and unique identifier (B35 to B47, B51, B76).
///
/// Every change is reported for one download, so that a journal writes one row for it; a registry is made again from such
/// rows. One event takes the same time whether there are ten downloads or 100,000.
package struct DownloadRegistry: Sendable, Equatable, Codable {
  /// Failed downloads that are remembered: an operation on one is answered with 103.
  package static let maxFailed = 256
  /// Scheduled ones, beyond which none is admitted: what is kept of all of them together is one value in the journal.
  package static let maxScheduled = 20_000
  /// Finished and cancelled ones: 101.
  package static let maxRecent = 1024

  /// By unique identifier.
  package internal(set) var entries: [String: Entry] = [:]
  /// Unique identifiers of what is scheduled, by identifier (B36).
  var scheduled: [String: String] = [:]
  /// Unique identifiers in the foreground, by connection (B37).
  var promotions: [Int64: Set<String>] = [:]
  /// Unsettled ones, by generation.
  var generations: [Int: Set<String>] = [:]
  var pausedGenerations: Set<Int> = []
  var failed = RecentNames(limit: Self.maxFailed)
  var recent = RecentNames(limit: Self.maxRecent)
  var isBackgroundActivityAllowed = true

  package init() {}

  /// From the rows of a journal. What connections wanted ends with `restarted`, which takes it back from the engine, too.
  package init(entries: some Sequence<Entry>) {
    for entry in entries {
      insert(entry)
      if entry.state == .failed { _ = failed.insert(entry.download.uniqueIdentifier) }
    }
  }

  /// Scheduled, running and failed ones (B45), in no order.
  package var current: some Collection<Entry> { entries.values.lazy.filter { !$0.isCancelling } }

  /// Those that apps know, and of which they know no end, also where they are being cancelled.
  package var unsettled: some Collection<Entry> {
    entries.values.lazy.filter { !$0.isManifest && [.created, .waiting, .downloading].contains($0.state) }
  }

  /// Scheduled and running ones, without manifests.
  package var scheduledCount: Int { scheduled.count }

  package func entry(identifier: String) -> Entry? { scheduled[identifier].flatMap { entries[$0] } }

  package mutating func handle(_ event: Event, now: Instant) -> [Effect] {
    switch event {
    case .schedule(let call, let download, let caller): return schedule(call, download, caller)
    case .startForeground(let call, let download, let state, let caller):
      return startForeground(call, download, state, caller)
    case .cancel(let call, let identifier, let unique, let state, _): return cancel(call, identifier, unique, state)
    case .pause(let call, let unique): return setPaused(call, unique, true)
    case .resume(let call, let unique): return setPaused(call, unique, false)
    case .planned(let downloads, let generation):
      return downloads.flatMap { plan($0, $0.isEssential ? .essential : .background, generation, isManifest: false) }
    case .plannedManifest(let manifest, let generation, let isAwaited):
      return plan(manifest, isAwaited ? .essential : .background, generation, isManifest: true)
    case .refused(let manifest, let generation): return refuse(manifest, generation)
    case .pauseGeneration(let generation): return setPaused(generation: generation, true)
    case .resumeGeneration(let generation): return setPaused(generation: generation, false)
    case .cancelGeneration(let generation): return cancelAll(of: generation)
    case .engineAdded(let unique):
      guard entries[unique]?.isKnownToEngine == false else { return [] }
      entries[unique]?.isKnownToEngine = true
      return store(unique)
    case .engineStarted(let unique): return engineStarted(unique)
    case .engineWaiting(let unique): return engineWaiting(unique)
    case .engineSettled(let unique, let settlement): return engineSettled(unique, settlement)
    case .abandoned(let unique): return abandon(unique)
    case .withdrawn(let unique): return withdraw(unique)
    case .connectionLeft(let connection):
      return (promotions.removeValue(forKey: connection) ?? []).sorted().flatMap { demote($0, connection) }
    case .gateOpened(let generation): return gateOpened(generation)
    case .conditions(let isAllowed):
      isBackgroundActivityAllowed = isAllowed
      return []
    case .restarted: return restarted()
    }
  }

  /// Why `download` can't be scheduled beside what is; nil: it can.
  package func rejection(of download: PlannedDownload, isManifest: Bool = false) -> Failure? {
    if !isManifest, let other = scheduled[download.identifier], entries[other] != nil {
      return .framework(
        100, "a download with the identifier \(Printable.text(download.identifier)) is already scheduled")
    }
    if let entry = entries[download.uniqueIdentifier], entry.state != .failed {
      return .framework(100, "the download \(Printable.text(download.identifier)) is already scheduled")
    }
    return nil
  }

  // MARK: Keeping the indices

  mutating func insert(_ entry: Entry) {
    let unique = entry.download.uniqueIdentifier
    entries[unique] = entry
    guard entry.state != .failed else { return }
    // A manifest is the service's own: it takes no identifier from other downloads (B36).
    if !entry.isManifest { scheduled[entry.download.identifier] = unique }
    if let generation = entry.generation { generations[generation, default: []].insert(unique) }
  }

  /// Takes it out of everything but `entries`.
  mutating func unlink(_ entry: Entry) {
    let unique = entry.download.uniqueIdentifier
    if scheduled[entry.download.identifier] == unique { scheduled[entry.download.identifier] = nil }
    for connection in entry.promotedBy { promotions[connection]?.remove(unique) }
    guard let generation = entry.generation else { return }
    generations[generation]?.remove(unique)
    if generations[generation]?.isEmpty == true {
      generations[generation] = nil
      pausedGenerations.remove(generation)
    }
  }

  func store(_ unique: String) -> [Effect] { entries[unique].map { [.store($0)] } ?? [] }

  package func isPaused(_ entry: Entry) -> Bool {
    entry.isPaused || (entry.generation.map { pausedGenerations.contains($0) } ?? false)
  }
}

/// The last names of a kind, the oldest forgotten first.
struct RecentNames: Sendable, Equatable, Codable {
  let limit: Int
  private var names: Set<String> = []
  private var order: [String] = []
  private var next = 0

  init(limit: Int) { self.limit = limit }

  func contains(_ name: String) -> Bool { names.contains(name) }

  /// Returns the name that is forgotten for it.
  mutating func insert(_ name: String) -> String? {
    guard names.insert(name).inserted else { return nil }
    guard order.count == limit else {
      order.append(name)
      return nil
    }
    let oldest = order[next]
    order[next] = name
    next = (next + 1) % limit
    // It may have been taken out and put in again meanwhile.
    return names.remove(oldest)
  }

  mutating func remove(_ name: String) {
    guard names.remove(name) != nil, let index = order.firstIndex(of: name) else { return }
    order.remove(at: index)
    order = Array(order[min(next, order.count)...] + order[..<min(next, order.count)])
    next = 0
  }
}
