public import AssetModel
internal import Basics
internal import GRDB
internal import LinuxSystem

extension AssetStore: DownloadJournal {
  /// Adds jobs in one transaction.
  ///
  /// - Parameters:
  ///   - specifications: What is asked for.
  ///   - now: When that is.
  /// - Returns: One result for each specification, in their order.
  /// - Throws: `StoreError`; nothing was added then.
  public func add(_ specifications: [DownloadSpecification], now: StoredMoment) throws -> [AddResult] {
    for specification in specifications { try ColumnLimits.check(specification) }
    var devices: [ExactText: UInt64?] = [:]
    for specification in specifications where devices[ExactText(specification.directory)] == nil {
      devices[ExactText(specification.directory)] = .some((try? Files.identity(of: specification.directory))?.device)
    }
    let maxOpen = database.options.maxOpenJobsPerApp
    return try database.write { database in
      var addition = try Addition(database, maxOpen: maxOpen, now: now)
      return try specifications.map { try addition.add($0, volume: devices[ExactText($0.directory)] ?? nil) }
    }
  }

  /// Writes changes in one transaction.
  ///
  /// - Parameter changes: In the order in which they happened.
  /// - Throws: `StoreError`; none of them was written then.
  public func commit(_ changes: [JournalChange]) throws {
    let now = database.options.wallClock()
    let keptAttempts = database.options.keptAttempts
    try database.write { database in
      for change in changes {
        switch change {
        case .job(let job): try Self.store(job, database, now)
        case .attempt(let attempt, let job):
          try AttemptRow.insert(attempt, of: job, keeping: keptAttempts, database)
        case .origin(let origin): try OriginRow.store(origin, database)
        }
      }
    }
  }

  private static func store(_ job: JobRecord, _ database: Database, _ now: Int64) throws {
    guard try Budgets.charge(database, job) else { return }
    try JobRow.update(database, job)
    guard job.state.isTerminal else { return }
    if job.state == .cancelled { return }
    try database.query("INSERT OR IGNORE INTO deliveries (job, generation) VALUES (?, ?)").bind(job.id.number)
      .bind(job.generation).run()
    if job.state == .finished { try FileRow.insert(job, database, now) }
  }

  /// A job by its number.
  ///
  /// - Parameter id: Of the job.
  /// - Returns: The job; nil where there is none.
  /// - Throws: `StoreError` where it can't be read.
  public func job(_ id: JobID) throws -> JobRecord? { try jobs([id]).first }

  /// One transaction costs more than a row.
  ///
  /// - Parameter ids: The jobs to read.
  /// - Returns: Those that there are.
  /// - Throws: `StoreError` where they can't be read.
  public func jobs(_ ids: [JobID]) throws -> [JobRecord] {
    try database.read { database in
      let row = try database.query("SELECT \(JobRow.columns) FROM jobs WHERE id = ?")
      return try ids.compactMap { id in
        row.again()
        return try row.bind(id.number).step() ? try JobRow.record(row) : nil
      }
    }
  }

  /// A job by the name that its app gave it.
  ///
  /// - Parameters:
  ///   - app: The app.
  ///   - identifier: The app's name for it.
  /// - Returns: The job; nil where there is none.
  /// - Throws: `StoreError` where it can't be read.
  public func job(app: String, identifier: String) throws -> JobRecord? {
    var found: JobRecord?
    try newestJobs(app: app, identifiers: CollectionOfOne(identifier)) { _, record in found = record }
    return found
  }

  /// The newest job of each identifier that has one, with the identifier's place in the sequence.
  ///
  /// - Parameter jobs: Which of them count.
  package func newestJobs(
    app: String, identifiers: some Sequence<String>, _ jobs: JobSelection = .all, _ body: (Int, JobRecord) -> Void
  ) throws {
    try database.read { database in
      let states =
        switch jobs {
        case .all: ""
        case .unfailed: "AND state < \(JobRow.State.failed.rawValue)"
        case .finished: "AND state = \(JobRow.State.finished.rawValue)"
        }
      let row = try database.query(
        "SELECT \(JobRow.columns) FROM jobs WHERE app = ? AND identifier = ? \(states) ORDER BY id DESC LIMIT 1")
      let app = Array(app.utf8)
      for (index, identifier) in identifiers.enumerated() {
        row.again()
        if try row.bind(app).bind(Array(identifier.utf8)).step() { body(index, try JobRow.record(row)) }
      }
    }
  }

  /// The newest jobs of an app, oldest first.
  package func jobs(app: String, last count: Int) throws(StoreError) -> [JobRecord] {
    try database.read { database in
      let row = try database.query("SELECT \(JobRow.columns) FROM jobs WHERE app = ? ORDER BY id DESC LIMIT ?")
        .bind(Array(app.utf8)).bind(count)
      var all: [JobRecord] = []
      while try row.step() { all.append(try JobRow.record(row)) }
      return all.reversed()
    }
  }

  /// Every job that isn't settled, in the order of their numbers.
  ///
  /// - Parameter body: Called once for each, within the transaction: it mustn't use the store.
  /// - Throws: `StoreError` where they can't be read.
  public func forEachOpenJob(_ body: (JobSummary) -> Void) throws {
    try database.read { database in
      let rows = try database.query(
        """
        SELECT id, app, origin, class, priority, rest, enqueuedBoot, enqueuedAt, enqueuedWall, waitBoot, waitAt, waitWall,
          waitLength, state FROM jobs WHERE \(JobRow.isOpen) ORDER BY id
        """)
      // Few apps, origins and boots stand in many rows: the rows share one string each.
      var (apps, origins, boots) = (Shared(), Shared(), Shared())
      while try rows.step() {
        let id = JobID(rows.int64())
        let (app, origin) = (apps.text(rows), origins.text(rows))
        let transferClass = try JobRow.transferClass(rows.int())
        let priority = rows.int()
        let rest = rows.optionalInt64()
        let enqueued = StoredMoment(bootIdentifier: boots.text(rows), boot: rows.int64(), wall: rows.int64())
        var wait: StoredWait?
        if rows.isNull {
          rows.skip(4)
        } else {
          let since = StoredMoment(bootIdentifier: boots.text(rows), boot: rows.int64(), wall: rows.int64())
          wait = StoredWait(since: since, length: rows.int64())
        }
        let state: JobState =
          switch JobRow.State(rawValue: rows.int64()) {
          case .paused: .paused
          case .verified: .verified
          default: .open
          }
        body(
          JobSummary(
            id: id, app: app, origin: origin, transferClass: transferClass, priority: priority, remaining: rest,
            enqueued: enqueued, wait: wait, state: state))
      }
    }
  }

  /// What is remembered of origins.
  ///
  /// - Returns: All of them.
  /// - Throws: `StoreError` where they can't be read.
  public func origins() throws -> [OriginRecord] { try database.read(OriginRow.all) }

  /// Reserves further bytes for an open job that needs more than it declared.
  ///
  /// - Parameters:
  ///   - bytes: How many more; less than 0 counts as none.
  ///   - job: The job that they are for.
  /// - Returns: The bytes that the budget lacks, and then nothing is reserved; nil: they are reserved.
  /// - Throws: What kept the transaction from being written.
  public func reserve(_ bytes: Int64, for job: JobID) throws(StoreError) -> Int64? {
    try database.write { try Budgets.extend($0, job, by: max(0, bytes)) }
  }
}

/// Which of an identifier's jobs are asked for.
package enum JobSelection: Sendable {
  case all
  /// Neither failed nor cancelled ones: what an earlier one finished is still there.
  case unfailed
  case finished
}
