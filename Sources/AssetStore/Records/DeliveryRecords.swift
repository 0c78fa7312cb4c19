package import AssetModel
internal import GRDB

/// Which settled jobs have to be delivered.
package struct DeliveryRecords: Sendable {
  let database: StoreDatabase

  /// Jobs whose delivery is due, in the order in which they were added: those that nobody has acknowledged.
  package func pending() throws(StoreError) -> [JobID] {
    try database.read { database in
      let rows = try database.query("SELECT job FROM deliveries WHERE acknowledged = 0 ORDER BY job")
      var all: [JobID] = []
      while try rows.step() { all.append(JobID(rows.int64())) }
      return all
    }
  }

  /// For a caller that keeps its own row of each download: no settled transfer of that name is delivered any more.
  package func acknowledge(app: String, identifier: String) throws(StoreError) {
    try database.write { try Self.acknowledge(app, identifier, $0) }
  }

  /// Deliveries of which the service has no row any more are over. Returns the open transfers without a row: no app is told
  /// of those either, and the caller cancels them.
  package func endUnscheduled() throws(StoreError) -> [JobID] {
    let isUnscheduled = """
      NOT EXISTS
        (SELECT 1 FROM scheduled WHERE scheduled.app = jobs.app AND scheduled.identifier = CAST(jobs.identifier AS TEXT))
      """
    try database.write { database in
      try database.execute(
        sql: """
          UPDATE deliveries SET begun = 1, acknowledged = 1, fileMoved = 1 WHERE acknowledged = 0
            AND EXISTS (SELECT 1 FROM jobs WHERE id = deliveries.job AND \(JobRow.isSettled) AND \(isUnscheduled))
          """)
    }
    return try database.read { database in
      let rows = try database.query("SELECT id FROM jobs WHERE \(JobRow.isOpen) AND \(isUnscheduled) ORDER BY id")
      var open: [JobID] = []
      while try rows.step() { open.append(JobID(rows.int64())) }
      return open
    }
  }

  private static let acknowledgement = """
    UPDATE deliveries SET begun = 1, calls = calls + 1, acknowledged = 1, fileMoved = 1 WHERE acknowledged = 0
      AND job IN (SELECT id FROM jobs WHERE app = ? AND identifier = ? AND \(JobRow.isSettled))
    """

  static func acknowledge(_ app: String, _ identifier: String, _ database: Database) throws {
    try database.query(acknowledgement).bind(Array(app.utf8)).bind(Array(identifier.utf8)).run()
  }
}
