package import AssetModel
internal import GRDB

/// Something that happened, for people.
package struct StoredEvent: Sendable, Equatable {
  package var wall: Int64
  package var app: String?
  package var job: JobID?
  package var kind: String
  package var detail: String

  package init(wall: Int64, app: String? = nil, job: JobID? = nil, kind: String, detail: String) {
    self.wall = wall
    self.app = app
    self.job = job
    self.kind = kind
    self.detail = detail
  }
}

/// One run of an extension. Times are nanoseconds, memory is bytes.
package struct ExtensionRun: Sendable, Equatable {
  package var app: String
  package var wall: Int64
  package var request: String
  package var outcome: String
  package var duration: Int64
  package var cpu: Int64
  package var memory: Int64
  package var detail: String

  package init(
    app: String, wall: Int64, request: String, outcome: String, duration: Int64, cpu: Int64, memory: Int64,
    detail: String
  ) {
    self.app = app
    self.wall = wall
    self.request = request
    self.outcome = outcome
    self.duration = duration
    self.cpu = cpu
    self.memory = memory
    self.detail = detail
  }
}

/// What is remembered for `explain` and for budgets of time: of each the newest, so that none grows without end.
package struct HistoryRecords: Sendable {
  let database: StoreDatabase

  /// Oldest first.
  package func attempts(of job: JobID) throws(StoreError) -> [Attempt] {
    try database.read { database in
      let rows = try database.query(
        "SELECT wall, duration, bytes, status, outcome FROM attempts WHERE job = ? ORDER BY id"
      ).bind(job.number)
      var all: [Attempt] = []
      while try rows.step() {
        all.append(
          Attempt(
            wall: rows.int64(), duration: rows.int64(), bytes: rows.int64(),
            status: rows.optionalInt64().map { Int($0) },
            outcome: rows.text()))
      }
      return all
    }
  }

  package func record(_ event: StoredEvent) throws(StoreError) { try record([event]) }

  /// All in one transaction.
  package func record(_ events: [StoredEvent]) throws(StoreError) {
    if events.isEmpty { return }
    for event in events { try ColumnLimits.check(event) }
    let kept = database.options.keptEvents
    try database.write { try Self.insert(events, keeping: kept, $0) }
  }

  static func insert(_ events: [StoredEvent], keeping kept: Int, _ database: Database) throws {
    if events.isEmpty { return }
    let insertion = try database.query("INSERT INTO events (wall, app, job, kind, detail) VALUES (?, ?, ?, ?, ?)")
    for event in events.suffix(kept) {
      insertion.again()
      try insertion.bind(event.wall).bind(event.app.map { Array($0.utf8) }).bind(event.job?.number).bind(event.kind)
        .bind(ColumnLimits.cut(event.detail)).run()
    }
    try database.query("DELETE FROM events WHERE id <= ?").bind(database.lastInsertedRowID - Int64(kept)).run()
  }

  /// The newest, oldest of them first.
  package func events(last count: Int = 100) throws(StoreError) -> [StoredEvent] {
    try database.read { database in
      let rows = try database.query("SELECT wall, app, job, kind, detail FROM events ORDER BY id DESC LIMIT ?").bind(
        count)
      var all: [StoredEvent] = []
      while try rows.step() { all.append(Self.event(rows)) }
      return all.reversed()
    }
  }

  /// The newest one that is about a job.
  package func lastEvent(of job: JobID) throws(StoreError) -> StoredEvent? {
    try database.read { database in
      let row = try database.query(
        "SELECT wall, app, job, kind, detail FROM events WHERE job = ? ORDER BY id DESC LIMIT 1"
      ).bind(job.number)
      return try row.step() ? Self.event(row) : nil
    }
  }

  private static func event(_ row: Query) -> StoredEvent {
    StoredEvent(
      wall: row.int64(), app: row.optionalText(), job: row.optionalInt64().map { JobID($0) }, kind: row.text(),
      detail: row.text())
  }

  package func record(_ run: ExtensionRun) throws(StoreError) {
    try ColumnLimits.check("app", run.app, ColumnLimits.name)
    try ColumnLimits.check("request", run.request, 64)
    try ColumnLimits.check("outcome", run.outcome, 64)
    let kept = database.options.keptRuns
    let app = Array(run.app.utf8)
    try database.write { database in
      try database.query(
        "INSERT INTO runs (app, wall, request, outcome, duration, cpu, memory, detail) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
      ).bind(app).bind(run.wall).bind(run.request).bind(run.outcome).bind(run.duration).bind(run.cpu).bind(run.memory)
        .bind(ColumnLimits.cut(run.detail)).run()
      try database.query(
        "DELETE FROM runs WHERE app = ?1 AND id <= (SELECT id FROM runs WHERE app = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)"
      ).bind(app).bind(kept).run()
    }
  }

  /// Oldest first.
  package func runs(of app: String) throws(StoreError) -> [ExtensionRun] {
    try database.read { database in
      let rows = try database.query(
        "SELECT wall, request, outcome, duration, cpu, memory, detail FROM runs WHERE app = ? ORDER BY id"
      ).bind(Array(app.utf8))
      var all: [ExtensionRun] = []
      while try rows.step() {
        all.append(
          ExtensionRun(
            app: app, wall: rows.int64(), request: rows.text(), outcome: rows.text(), duration: rows.int64(),
            cpu: rows.int64(), memory: rows.int64(), detail: rows.text()))
      }
      return all
    }
  }
}

/// Attempts as rows; the newest of each job.
enum AttemptRow {
  static func insert(_ attempt: Attempt, of job: JobID, keeping count: Int, _ database: Database) throws {
    try database.query("INSERT INTO attempts (job, wall, duration, bytes, status, outcome) VALUES (?, ?, ?, ?, ?, ?)")
      .bind(job.number).bind(attempt.wall).bind(attempt.duration).bind(attempt.bytes)
      .bind(attempt.status.map { Int64($0) }).bind(ColumnLimits.cut(attempt.outcome)).run()
    try database.query(
      """
      DELETE FROM attempts WHERE job = ?1 AND id <=
        (SELECT id FROM attempts WHERE job = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
      """
    ).bind(job.number).bind(count).run()
  }
}
