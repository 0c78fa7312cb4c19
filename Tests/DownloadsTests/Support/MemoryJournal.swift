import AssetModel
import Synchronization

/// A journal in memory that survives the engine, not the process; a test can make it fail.
final class MemoryJournal: DownloadJournal {
  struct State {
    var jobs: [JobID: JobRecord] = [:]
    var origins: [String: OriginRecord] = [:]
    var attempts: [JobID: [Attempt]] = [:]
    var commits = 0
    /// Jobs that were settled, in order: each at most once.
    var deliveries: [JobID] = []
  }

  struct Failing: Error {}

  /// What is asked of it besides commits.
  enum Call: Equatable, CaseIterable {
    case job, jobOfName, openJobs, origins, add, reserve
  }

  let state = Mutex(State())
  /// Called before the nth commit; throws to fail it.
  let beforeCommit: @Sendable (Int) throws -> Void
  /// Called before a read, an addition or a reservation; throws to fail it.
  let before: @Sendable (Call) throws -> Void

  init(
    beforeCommit: @escaping @Sendable (Int) throws -> Void = { _ in },
    before: @escaping @Sendable (Call) throws -> Void = { _ in }
  ) {
    self.before = before
    self.beforeCommit = beforeCommit
  }

  /// What another one knew in the end, and nothing goes wrong any more.
  convenience init(after other: MemoryJournal) {
    self.init()
    let known = other.state.withLock { $0 }
    state.withLock { $0 = known }
  }

  func add(_ specifications: [DownloadSpecification], now: StoredMoment) throws -> [AddResult] {
    try before(.add)
    return state.withLock { state in
      specifications.map { specification in
        if let rejectionReason = specification.rejectionReason { return .invalid(rejectionReason) }
        let same = state.jobs.values.first {
          $0.specification.app == specification.app && $0.specification.identifier == specification.identifier
            && !$0.state.isTerminal
        }
        if let same {
          guard same.specification.asksForTheSame(as: specification) else { return .conflict(same.id) }
          state.jobs[same.id]?.take(mirrors: specification.mirrors)
          state.jobs[same.id]?.expect(specification)
          return .alreadyScheduled(same.id)
        }
        let id = JobID(Int64(state.jobs.count + 1))
        state.jobs[id] = JobRecord(id: id, specification: specification, enqueued: now)
        return .added(id, generation: 1)
      }
    }
  }

  func commit(_ changes: [JournalChange]) throws {
    let number = state.withLock { state in
      state.commits += 1
      return state.commits
    }
    try beforeCommit(number)
    state.withLock { state in
      for change in changes {
        switch change {
        case .attempt(let attempt, let id): state.attempts[id, default: []].append(attempt)
        case .origin(let record): state.origins[record.origin] = record
        case .job(let record):
          guard let old = state.jobs[record.id], old.generation <= record.generation, !old.state.isTerminal else {
            continue
          }
          if record.state.isTerminal { state.deliveries.append(record.id) }
          state.jobs[record.id] = record
        }
      }
    }
  }

  func reserve(_ bytes: Int64, for job: JobID) throws -> Int64? {
    try before(.reserve)
    return nil
  }

  func job(_ id: JobID) throws -> JobRecord? {
    try before(.job)
    return state.withLock { $0.jobs[id] }
  }

  func job(app: String, identifier: String) throws -> JobRecord? {
    try before(.jobOfName)
    return state.withLock { state in
      state.jobs.values.filter { $0.specification.app == app && $0.specification.identifier == identifier }.max {
        $0.id < $1.id
      }
    }
  }

  func forEachOpenJob(_ body: (JobSummary) -> Void) throws {
    try before(.openJobs)
    for record in state.withLock({ $0.jobs.values.sorted { $0.id < $1.id } }) where !record.state.isTerminal {
      body(
        JobSummary(
          id: record.id, app: record.specification.app, origin: Self.origin(record.specification.url),
          transferClass: record.transferClass, priority: record.specification.priority,
          remaining: record.specification.declaredSize, enqueued: record.enqueued, wait: record.wait,
          state: record.state))
    }
  }

  static func origin(_ url: String) -> String { url.split(separator: "/").prefix(2).joined(separator: "//") }

  func origins() throws -> [OriginRecord] {
    try before(.origins)
    return state.withLock { Array($0.origins.values) }
  }
}
