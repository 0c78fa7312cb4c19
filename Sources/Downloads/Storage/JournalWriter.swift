internal import AssetModel
internal import Dispatch
internal import Synchronization

/// Commits changes in the order in which they were asked for, as many in one transaction as have gathered: one
/// synchronisation of the disk serves them all.
final class JournalWriter: Sendable {
  private struct Request: Sendable {
    var changes: [JournalChange]
    var completion: @Sendable ((any Error)?) -> Void
  }

  let journal: any DownloadJournal
  private let queue = DispatchQueue(label: "outrider.journal")
  private let pending = Mutex<[Request]>([])

  init(_ journal: any DownloadJournal) { self.journal = journal }

  /// Any thread; `completion` is called on the journal's.
  func commit(_ changes: [JournalChange], completion: @escaping @Sendable ((any Error)?) -> Void) {
    let isFirst = pending.withLock { pending in
      pending.append(Request(changes: changes, completion: completion))
      return pending.count == 1
    }
    if isFirst { queue.async { self.drain() } }
  }

  private func drain() {
    let requests = pending.withLock { pending in
      defer { pending = [] }
      return pending
    }
    var failure: (any Error)?
    do {
      try journal.commit(requests.flatMap(\.changes))
    } catch {
      failure = error
    }
    for request in requests { request.completion(failure) }
  }

  /// Reads when everything that was asked for before is done. `completion` is called on the journal's thread.
  func read<Value>(
    _ body: @escaping @Sendable (any DownloadJournal) throws -> Value,
    completion: @escaping @Sendable (Result<Value, any Error>) -> Void
  ) {
    queue.async { completion(Result { try body(self.journal) }) }
  }

  /// Calls `completion` on the journal's thread when everything that was asked for before is done.
  func afterwards(_ completion: @escaping @Sendable () -> Void) { queue.async { completion() } }

  /// Waits for everything before it, then commits. Not on the network thread.
  func commitNow(_ changes: [JournalChange]) throws { try queue.sync { try journal.commit(changes) } }

  /// Writes what the journal has of a job once more, unchanged; whether that works.
  func rewrite(_ job: JobID, completion: @escaping @Sendable (Bool) -> Void) {
    queue.async {
      let result = Result { try self.journal.job(job).map { try self.journal.commit([.job($0)]) } }
      completion((try? result.get()) != nil)
    }
  }

  enum Grant: Sendable {
    case granted(Int64)
    case missing(Int64)
  }

  /// Reserves further bytes of a job's allowance: as many as there are, if those are enough.
  func reserve(
    atLeast minimum: Int64, upTo maximum: Int64, for job: JobID,
    completion: @escaping @Sendable (Result<Grant, any Error>) -> Void
  ) {
    queue.async {
      completion(
        Result {
          guard let missing = try self.journal.reserve(maximum, for: job) else { return .granted(maximum) }
          let there = maximum - missing
          if there >= minimum, try self.journal.reserve(there, for: job) == nil { return .granted(there) }
          return .missing(minimum - max(0, there))
        })
    }
  }

  func add(
    _ specifications: [DownloadSpecification], now: StoredMoment,
    completion: @escaping @Sendable (Result<[AddResult], any Error>) -> Void
  ) {
    queue.async { completion(Result { try self.journal.add(specifications, now: now) }) }
  }
}
