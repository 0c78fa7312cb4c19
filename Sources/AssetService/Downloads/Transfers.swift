internal import AssetModel
internal import AssetStore
internal import Downloads
internal import Synchronization

/// The service's hand on the download engine: downloads by app and unique identifier, which is the name that each has in the
/// engine's journal, so that asking twice is asking once.
final class Transfers: Sendable {
  struct Key: Sendable, Hashable {
    let app: String
    let download: String
  }

  enum Event: Sendable {
    case began
    case progress(DownloadProgress)
    case waiting(Explanation)
    case paused
    case finished(DownloadedFile)
    case failed(TransferFailure)
    case cancelled

    /// Nothing follows it.
    var isEnd: Bool {
      switch self {
      case .finished, .failed, .cancelled: true
      case .began, .progress, .waiting, .paused: false
      }
    }
  }

  let engine: DownloadEngine
  private let store: AssetStore
  private let known = Mutex(Known())

  /// What was asked for lately; of the others the journal knows.
  private struct Known {
    static let maxCount = 8192
    var keys: [JobID: Key] = [:]
    var jobs: [Key: JobID] = [:]
  }

  init(engine: DownloadEngine, store: AssetStore) {
    self.engine = engine
    self.store = store
  }

  /// Adds what isn't there yet. Durable when it returns; results in the order of the specifications.
  func add(_ specifications: [DownloadSpecification]) async throws -> [AddResult] {
    let results = try await engine.add(specifications)
    for (specification, result) in zip(specifications, results) {
      switch result {
      case .added(let id, _), .alreadyScheduled(let id), .conflict(let id):
        remember(id, Key(app: specification.app, download: specification.identifier))
      case .tooMany, .allowance, .invalid: break
      }
    }
    return results
  }

  /// What the journal has of a download; nil: nothing.
  func record(_ key: Key) -> JobRecord? {
    if let id = known.withLock({ $0.jobs[key] }), let record = try? store.job(id) { return record }
    guard let record = try? store.job(app: key.app, identifier: key.download) else { return nil }
    remember(record.id, key)
    return record
  }

  func job(_ key: Key) -> JobID? { known.withLock { $0.jobs[key] } ?? record(key)?.id }

  func pause(_ key: Key) { job(key).map(engine.pause) }
  func resume(_ key: Key) { job(key).map(engine.resume) }
  func cancel(_ key: Key) { job(key).map(engine.cancel) }
  func setClass(_ transferClass: TransferClass, of key: Key) { job(key).map { engine.setClass(transferClass, of: $0) } }

  func explain(_ key: Key) async -> Explanation? {
    guard let id = job(key) else { return nil }
    return await engine.explain(id)
  }

  /// The download is settled and told of: the engine's events of it are over.
  func forget(_ key: Key) {
    known.withLock { known in if let id = known.jobs.removeValue(forKey: key) { known.keys[id] = nil } }
  }

  /// Hands on everything that the engine says of downloads, in its order, until it is closed.
  func forEachEvent(_ body: @Sendable (Key, Event) async -> Void, note: @Sendable (String) async -> Void) async {
    for await event in engine.events {
      switch event {
      case .started(let id): await tell(id, .began, body)
      case .progress(let id, let progress): await tell(id, .progress(progress), body)
      case .waiting(let id, let explanation): await tell(id, .waiting(explanation), body)
      case .paused(let id): await tell(id, .paused, body)
      case .finished(let id, let file): await tell(id, .finished(file), body)
      case .failed(let id, let failure): await tell(id, .failed(failure), body)
      case .cancelled(let id): await tell(id, .cancelled, body)
      case .note(let id, let text):
        let subject = id.flatMap(key)?.download
        await note(subject.map { "\($0): \(text)" } ?? text)
      case .restarted(let id, let reason):
        await note("\(key(id)?.download ?? "download \(id)") begins again: \(reason)")
      case .volume(let report): await note("\(report)")
      // Apps name their files by themselves.
      case .disposition: break
      }
    }
  }

  private func tell(_ id: JobID, _ event: Event, _ body: @Sendable (Key, Event) async -> Void) async {
    if let key = key(id) { await body(key, event) }
  }

  private func key(_ id: JobID) -> Key? {
    if let key = known.withLock({ $0.keys[id] }) { return key }
    guard let record = try? store.job(id) else { return nil }
    let key = Key(app: record.specification.app, download: record.specification.identifier)
    remember(id, key)
    return key
  }

  private func remember(_ id: JobID, _ key: Key) {
    known.withLock { known in
      if known.keys.count >= Known.maxCount { known = Known() }
      known.keys[id] = key
      known.jobs[key] = id
    }
  }
}
