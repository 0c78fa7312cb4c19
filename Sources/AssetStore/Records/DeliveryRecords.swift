package import AssetModel
internal import GRDB
internal import Synchronization

/// A settled job that has to be delivered, exactly once.
package struct Delivery: Sendable, Equatable {
  package enum State: Int64, Sendable {
    case due
    /// Journalled before the call: the recipient may have been told.
    case begun
    case acknowledged
  }

  package var job: JobID
  package var generation: Int
  package var state: State
  /// Who was called last, and how often someone was.
  package var recipient: String?
  package var calls: Int
  /// Whether the recipient took the file, once that is known.
  package var fileMoved: Bool?
}

/// What to do with the file once its delivery is over.
package enum Handover: Sendable, Equatable {
  /// The recipient took it.
  case consumed
  /// The callback returned and left it: it is to be deleted.
  case delete
  /// The recipient died and left it: it stays, and is delivered again.
  case again
}

/// Which settled jobs have to be delivered.
package struct DeliveryRecords: Sendable {
  let database: StoreDatabase

  /// Due and begun deliveries in the order in which jobs were added. A begun one that is found when the service starts has a
  /// recipient that may be dead: see `recipientDied`.
  package func pending() throws(StoreError) -> [Delivery] {
    try database.read { database in
      let rows = try database.query("\(Self.selection) WHERE acknowledged = 0 ORDER BY job")
      var all: [Delivery] = []
      while try rows.step() { all.append(Self.delivery(rows)) }
      return all
    }
  }

  package func delivery(of job: JobID) throws(StoreError) -> Delivery? {
    try database.read { try Self.delivery(of: job, $0) }
  }

  /// Before the call. Throws `wrongState` unless the delivery is due: there is one recipient at a time.
  package func begin(of job: JobID, to recipient: String) throws(StoreError) {
    let recipient = ColumnLimits.cut(recipient)
    try database.write { database in
      if let file = try FileRow.all(database, "WHERE job = \(job.number) AND state = 0").first?.id,
        self.database.removing.withLock({ $0.contains(file) })
      {
        throw StoreError.wrongState("the file of job \(job) is being deleted")
      }
      try database.query(
        "UPDATE deliveries SET begun = 1, calls = calls + 1, recipient = ? WHERE job = ? AND begun = 0 AND acknowledged = 0"
      ).bind(recipient).bind(job.number).run()
      guard database.changesCount == 1 else { throw try Self.wrongState(job, database) }
    }
  }

  /// The callback returned. From now on the delivery is never made again.
  package func acknowledge(of job: JobID, fileMoved: Bool) throws(StoreError) -> Handover {
    try database.write { database in
      try Self.end(job, fileMoved, database)
      return fileMoved ? .consumed : .delete
    }
  }

  /// The recipient ended before its callback returned. Moving the file away was the commit.
  package func recipientDied(of job: JobID, fileMoved: Bool) throws(StoreError) -> Handover {
    try database.write { database in
      if fileMoved {
        try Self.end(job, true, database)
        return .consumed
      }
      try database.query("UPDATE deliveries SET begun = 0 WHERE job = ? AND begun = 1 AND acknowledged = 0")
        .bind(job.number).run()
      guard database.changesCount == 1 else { throw try Self.wrongState(job, database) }
      return .again
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
            AND EXISTS (SELECT 1 FROM jobs WHERE id = deliveries.job AND state >= 3 AND \(isUnscheduled))
          """)
    }
    return try database.read { database in
      let rows = try database.query("SELECT id FROM jobs WHERE state < 3 AND \(isUnscheduled) ORDER BY id")
      var open: [JobID] = []
      while try rows.step() { open.append(JobID(rows.int64())) }
      return open
    }
  }

  static func acknowledge(_ app: String, _ identifier: String, _ database: Database) throws {
    try database.query(
      """
      UPDATE deliveries SET begun = 1, calls = calls + 1, acknowledged = 1, fileMoved = 1 WHERE acknowledged = 0
        AND job IN (SELECT id FROM jobs WHERE app = ? AND identifier = ? AND state >= 3)
      """
    ).bind(Array(app.utf8)).bind(Array(identifier.utf8)).run()
  }

  private static let selection =
    "SELECT job, generation, begun + acknowledged * (2 - begun), recipient, calls, fileMoved FROM deliveries"

  private static func delivery(_ row: Query) -> Delivery {
    Delivery(
      job: JobID(row.int64()), generation: row.int(), state: .init(rawValue: row.int64()) ?? .due,
      recipient: row.optionalText(), calls: row.int(), fileMoved: row.optionalInt64().map { $0 != 0 })
  }

  private static func delivery(of job: JobID, _ database: Database) throws -> Delivery? {
    let row = try database.query("\(selection) WHERE job = ? ORDER BY generation DESC LIMIT 1").bind(job.number)
    return try row.step() ? delivery(row) : nil
  }

  private static func end(_ job: JobID, _ fileMoved: Bool, _ database: Database) throws {
    try database.query(
      "UPDATE deliveries SET acknowledged = 1, fileMoved = ? WHERE job = ? AND begun = 1 AND acknowledged = 0"
    ).bind(fileMoved).bind(job.number).run()
    guard database.changesCount == 1 else { throw try wrongState(job, database) }
  }

  private static func wrongState(_ job: JobID, _ database: Database) throws -> StoreError {
    let state = try delivery(of: job, database).map { "\($0.state)" } ?? "missing"
    return .wrongState("the delivery of job \(job) is \(state)")
  }
}
