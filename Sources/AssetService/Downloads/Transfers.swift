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

  enum Event: Sendable, Equatable {
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
      if let id = result.present { remember(id, Key(app: specification.app, download: specification.identifier)) }
    }
    return results
  }

  /// What the journal has of a download; nil: nothing.
  func record(_ key: Key) throws(UnreadableJournal) -> JobRecord? {
    do {
      if let id = known.withLock({ $0.jobs[key] }), let record = try store.job(id) { return record }
      guard let record = try store.job(app: key.app, identifier: key.download) else { return nil }
      remember(record.id, key)
      return record
    } catch {
      throw UnreadableJournal("the download \(key.download) of \(key.app)", error)
    }
  }

  private func job(_ key: Key) throws(UnreadableJournal) -> JobID? {
    if let id = known.withLock({ $0.jobs[key] }) { return id }
    return try record(key)?.id
  }

  func pause(_ key: Key) throws(UnreadableJournal) { if let id = try job(key) { engine.pause(id) } }
  func resume(_ key: Key) throws(UnreadableJournal) { if let id = try job(key) { engine.resume(id) } }
  func cancel(_ key: Key) throws(UnreadableJournal) { if let id = try job(key) { engine.cancel(id) } }

  func setClass(_ transferClass: TransferClass, of key: Key) throws(UnreadableJournal) {
    if let id = try job(key) { engine.setClass(transferClass, of: id) }
  }

  func explain(_ key: Key) async throws(UnreadableJournal) -> Explanation? {
    guard let id = try job(key) else { return nil }
    return await engine.explain(id)
  }

  /// The download is settled and told of: the engine's events of it are over.
  func forget(_ key: Key) {
    known.withLock { known in if let id = known.jobs.removeValue(forKey: key) { known.keys[id] = nil } }
  }

  /// Hands on everything that the engine says of downloads, in its order, until it is closed; `unattributed`: events of a job
  /// whose download can't be found out now.
  func forEachEvent(
    _ body: @Sendable (Key, Event) async -> Void,
    unattributed: @Sendable (JobID, Event, UnreadableJournal) async -> Void, note: @Sendable (String) async -> Void
  ) async {
    func tell(_ id: JobID, _ event: Event) async {
      do {
        if let key = try key(id) { await body(key, event) }
      } catch {
        await unattributed(id, event, error)
      }
    }
    for await event in engine.events {
      switch event {
      case .started(let id): await tell(id, .began)
      case .progress(let id, let progress): await tell(id, .progress(progress))
      case .waiting(let id, let explanation): await tell(id, .waiting(explanation))
      case .paused(let id): await tell(id, .paused)
      case .finished(let id, let file): await tell(id, .finished(file))
      case .failed(let id, let failure): await tell(id, .failed(failure))
      case .cancelled(let id): await tell(id, .cancelled)
      case .note(let id, let text): await note(id.map { "\(name(of: $0)): \(text)" } ?? text)
      case .restarted(let id, let reason): await note("\(name(of: id)) begins again: \(reason)")
      case .volume(let report): await note("\(report)")
      }
    }
  }

  /// The download of a job; nil: there is no such job.
  func key(_ id: JobID) throws(UnreadableJournal) -> Key? {
    if let key = known.withLock({ $0.keys[id] }) { return key }
    let record: JobRecord?
    do { record = try store.job(id) } catch { throw UnreadableJournal("the job \(id)", error) }
    guard let record else { return nil }
    let key = Key(app: record.specification.app, download: record.specification.identifier)
    remember(id, key)
    return key
  }

  /// For the log.
  private func name(of id: JobID) -> String {
    (try? key(id)).map { "\($0.app), download \($0.download)" } ?? "job \(id)"
  }

  private func remember(_ id: JobID, _ key: Key) {
    known.withLock { known in
      if known.keys.count >= Known.maxCount { known = Known() }
      known.keys[id] = key
      known.jobs[key] = id
    }
  }
}

extension AddResult {
  /// The job of that name, whether it was added now or before; nil: there is none.
  var present: JobID? {
    switch self {
    case .added(let id, _), .alreadyScheduled(let id), .conflict(let id): id
    case .tooMany, .allowance, .invalid: nil
    }
  }
}
