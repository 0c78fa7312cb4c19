internal import GRDB

extension AssetStore {
  /// For a caller that tells by itself what became of its downloads: all settled ones of an app count as delivered. Only
  /// the newest stay in the journal, and those that left something on the disk for the next of their name. Returns how
  /// many were forgotten. Their files aren't touched.
  @discardableResult
  public func forgetSettled(app: String, keeping count: Int) throws(StoreError) -> Int {
    let app = Array(app.utf8)
    return try write { database in
      try database.query(
        """
        UPDATE deliveries SET begun = 1, calls = calls + 1, acknowledged = 1, fileMoved = 1 WHERE acknowledged = 0
          AND job IN (SELECT id FROM jobs WHERE app = ? AND state >= 3)
        """
      ).bind(app).run()
      let newest = try database.query(
        "SELECT id FROM jobs WHERE app = ? AND state >= 3 ORDER BY id DESC LIMIT 1 OFFSET ?"
      ).bind(app).bind(count)
      guard try newest.step() else { return 0 }
      let last = newest.int64()
      let forgotten = "app = ? AND state >= 3 AND id <= ? AND NOT (\(JobRow.hasLeftover))"
      let condition = "(SELECT id FROM jobs WHERE \(forgotten))"
      for table in ["deliveries", "files"] {
        try database.query("DELETE FROM \(table) WHERE job IN \(condition)").bind(app).bind(last).run()
      }
      try database.query("DELETE FROM jobs WHERE \(forgotten)").bind(app).bind(last).run()
      return database.changesCount
    }
  }
}
