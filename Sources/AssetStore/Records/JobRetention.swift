package import AssetModel
internal import GRDB

/// What the journal keeps of settled jobs.
package struct JobRetention: Sendable {
  let database: StoreDatabase

  /// Settled jobs of an app that the service has no row for any more are over: the newest `count` of them stay, as far as
  /// they aren't older than `before`, and those that left something on the disk for the next of their name. Returns how many
  /// were forgotten. Their files aren't touched.
  ///
  /// - Parameter before: nanoseconds since 1970.
  @discardableResult
  package func forgetUnscheduled(app: String, keeping count: Int, before: Int64) throws(StoreError) -> Int {
    let app = Array(app.utf8)
    return try database.write { database in
      let over = """
        app = ?1 AND \(JobRow.isSettled) AND NOT (\(JobRow.hasLeftover)) AND NOT EXISTS
          (SELECT 1 FROM scheduled WHERE scheduled.app = jobs.app AND scheduled.identifier = CAST(jobs.identifier AS TEXT))
        """
      let row = try database.query("SELECT id FROM jobs WHERE \(over) ORDER BY id DESC LIMIT 1 OFFSET ?2").bind(app)
        .bind(count)
      let last = try row.step() ? row.int64() : 0
      let forgotten = "\(over) AND (id <= ?2 OR progressWall < ?3)"
      for table in ["deliveries", "files"] {
        try database.query("DELETE FROM \(table) WHERE job IN (SELECT id FROM jobs WHERE \(forgotten))").bind(app)
          .bind(last).bind(before).run()
      }
      try database.query("DELETE FROM jobs WHERE \(forgotten)").bind(app).bind(last).bind(before).run()
      return database.changesCount
    }
  }

  /// Removes settled jobs of an app from the journal, and returns which of them were there. Their files aren't touched, and
  /// neither is a job that isn't settled.
  package func forget(_ ids: [JobID], app: String) throws(StoreError) -> [JobID] {
    let app = Array(app.utf8)
    return try database.write { database in
      let deletion = try database.query("DELETE FROM jobs WHERE id = ? AND app = ? AND \(JobRow.isSettled)")
      let found = try database.query("SELECT 1 FROM jobs WHERE id = ? AND app = ? AND \(JobRow.isSettled)")
      let others = try ["deliveries", "files"].map { try database.query("DELETE FROM \($0) WHERE job = ?") }
      return try ids.filter { id in
        found.again()
        guard try found.bind(id.number).bind(app).step() else { return false }
        found.again()
        for table in others { try table.bind(id.number).run() }
        try deletion.bind(id.number).bind(app).run()
        return true
      }
    }
  }

  /// For a caller that tells by itself what became of its downloads: all settled ones of an app count as delivered, and
  /// only the newest stay in the journal, those that are spared, and those that left something on the disk for the next of
  /// their name. Returns how many were forgotten. Their files aren't touched.
  ///
  /// - Parameter events: recorded in the same transaction.
  @discardableResult
  package func forgetSettled(
    app: String, keeping count: Int, sparing spared: [JobID] = [], recording events: [StoredEvent] = []
  ) throws(StoreError) -> Int {
    for event in events { try ColumnLimits.check(event) }
    let app = Array(app.utf8)
    let kept = database.options.keptEvents
    return try database.write { database in
      try HistoryRecords.insert(events, keeping: kept, database)
      try database.query(
        """
        UPDATE deliveries SET begun = 1, calls = calls + 1, acknowledged = 1, fileMoved = 1 WHERE acknowledged = 0
          AND job IN (SELECT id FROM jobs WHERE app = ? AND \(JobRow.isSettled))
        """
      ).bind(app).run()
      let newest = try database.query(
        "SELECT id FROM jobs WHERE app = ? AND \(JobRow.isSettled) ORDER BY id DESC LIMIT 1 OFFSET ?"
      ).bind(app).bind(count)
      guard try newest.step() else { return 0 }
      let last = newest.int64()
      try database.execute(
        sql: "CREATE TEMP TABLE IF NOT EXISTS spared (id INTEGER PRIMARY KEY); DELETE FROM temp.spared")
      let sparing = try database.query("INSERT OR IGNORE INTO temp.spared (id) VALUES (?)")
      for job in spared where job.number <= last {
        sparing.again()
        try sparing.bind(job.number).run()
      }
      let forgotten = """
        app = ? AND \(JobRow.isSettled) AND id <= ? AND id NOT IN (SELECT id FROM temp.spared)
          AND NOT (\(JobRow.hasLeftover))
        """
      for table in ["deliveries", "files"] {
        try database.query("DELETE FROM \(table) WHERE job IN (SELECT id FROM jobs WHERE \(forgotten))").bind(app)
          .bind(last).run()
      }
      try database.query("DELETE FROM jobs WHERE \(forgotten)").bind(app).bind(last).run()
      return database.changesCount
    }
  }
}
