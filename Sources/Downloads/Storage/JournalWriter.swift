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

  /// Waits for everything before it, then commits. Not on the network thread.
  func commitNow(_ changes: [JournalChange]) throws { try queue.sync { try journal.commit(changes) } }

  func add(
    _ specifications: [DownloadSpecification], now: StoredMoment,
    completion: @escaping @Sendable (Result<[AddResult], any Error>) -> Void
  ) {
    queue.async { completion(Result { try self.journal.add(specifications, now: now) }) }
  }
}
