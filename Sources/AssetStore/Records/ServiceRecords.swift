internal import GRDB

/// A change of what the service keeps in the journal beside its downloads. Values are its own bytes.
package enum ServiceChange: Sendable, Equatable {
  /// The state of one machine of an app, or of the service itself where `app` is empty; nil removes it.
  case machine(app: String, name: String, state: [UInt8]?)
  /// A download that an app has, by its unique identifier; nil removes it, and with it the deliveries of its settled
  /// transfers: their recipients have been told of them.
  case scheduled(app: String, identifier: String, value: [UInt8]?)
  /// What is to be delivered of a download, by its unique identifier; nil: all of it has been.
  case delivery(app: String, identifier: String, state: [UInt8]?)
  /// A wake of an extension, made or changed.
  case wake(id: Int64, app: String, value: [UInt8])
  /// Something for people to read, written with what it tells of.
  case event(StoredEvent)
  /// Everything that is kept for an app but its wakes, which people may want to read.
  case forget(app: String)
}

/// What the service keeps: its machines, the downloads of apps, and what its wakes were.
package struct ServiceRecords: Sendable {
  let database: StoreDatabase

  /// Bytes of one value.
  package static let longestValue = 4 << 20

  /// All in one transaction, durable when it returns. Of each app the newest `keptRuns` wakes are kept.
  package func commit(_ changes: [ServiceChange]) throws(StoreError) {
    if changes.isEmpty { return }
    for change in changes { try Self.check(change) }
    let kept = database.options.keptRuns
    let keptEvents = database.options.keptEvents
    try database.write { database in
      for change in changes { try Self.apply(change, database, kept) }
      let events = changes.compactMap { if case .event(let event) = $0 { event } else { nil } }
      try HistoryRecords.insert(events, keeping: keptEvents, database)
    }
  }

  package struct StoredMachine: Sendable, Equatable {
    package var app: String
    package var name: String
    package var state: [UInt8]
  }

  package func machines() throws(StoreError) -> [StoredMachine] {
    try database.read { database in
      let rows = try database.query("SELECT app, name, state FROM machines ORDER BY app, name")
      var all: [StoredMachine] = []
      while try rows.step() { all.append(StoredMachine(app: rows.text(), name: rows.text(), state: rows.blob())) }
      return all
    }
  }

  package struct StoredDelivery: Sendable, Equatable {
    package var app: String
    package var identifier: String
    package var state: [UInt8]
  }

  package func pendingDeliveries() throws(StoreError) -> [StoredDelivery] {
    try database.read { database in
      let rows = try database.query("SELECT app, identifier, state FROM pendingDeliveries ORDER BY app, identifier")
      var all: [StoredDelivery] = []
      while try rows.step() {
        all.append(StoredDelivery(app: rows.text(), identifier: rows.text(), state: rows.blob()))
      }
      return all
    }
  }

  /// Every download of every app.
  package func forEachScheduled(_ body: (_ app: String, _ identifier: String, _ value: [UInt8]) -> Void)
    throws(StoreError)
  {
    try database.read { database in
      let rows = try database.query("SELECT app, identifier, value FROM scheduled ORDER BY app, identifier")
      var apps = Shared()
      while try rows.step() { body(apps.text(rows), rows.text(), rows.blob()) }
    }
  }

  /// Those of the service's downloads whose newest transfer is settled.
  package func settledScheduled() throws(StoreError) -> [(app: String, identifier: String)] {
    try database.read { database in
      let rows = try database.query(
        """
        SELECT app, identifier FROM scheduled AS s WHERE (
          SELECT state FROM jobs WHERE jobs.app = s.app AND jobs.identifier = CAST(s.identifier AS BLOB) ORDER BY id DESC LIMIT 1
        ) >= \(JobRow.State.finished.rawValue) ORDER BY app, identifier
        """)
      var all: [(app: String, identifier: String)] = []
      while try rows.step() { all.append((rows.text(), rows.text())) }
      return all
    }
  }

  /// The newest wakes, oldest of them first; of one app, or of all.
  package func wakes(of app: String?, last count: Int) throws(StoreError) -> [[UInt8]] {
    try database.read { database in
      let condition = app == nil ? "" : "WHERE app = ?1"
      let rows = try database.query("SELECT value FROM wakes \(condition) ORDER BY id DESC LIMIT ?2")
      if let app { rows.bind(Array(app.utf8)) } else { rows.bindNull() }
      rows.bind(count)
      var all: [[UInt8]] = []
      while try rows.step() { all.append(rows.blob()) }
      return all.reversed()
    }
  }

  /// The largest number that a wake ever had.
  package func lastWake() throws(StoreError) -> Int64 {
    try database.read { database in
      let row = try database.query("SELECT coalesce(max(id), 0) FROM wakes")
      return try row.step() ? row.int64() : 0
    }
  }

  private static func check(_ change: ServiceChange) throws(StoreError) {
    let (app, name, limit, value): (String, String, Int, [UInt8]?) =
      switch change {
      case .machine(let app, let name, let state): (app, name, 64, state)
      case .scheduled(let app, let identifier, let value): (app, identifier, 64, value)
      case .delivery(let app, let identifier, let state): (app, identifier, 64, state)
      case .wake(_, let app, let value): (app, "", 0, value)
      case .event(let event): (event.app ?? "", event.kind, 64, nil)
      case .forget(let app): (app, "", 0, nil)
      }
    try ColumnLimits.check("app", app, ColumnLimits.name)
    try ColumnLimits.check("name", name, limit)
    if let value, value.count > longestValue {
      throw .tooLong(field: "value", bytes: value.count, limit: longestValue)
    }
  }

  private static func apply(_ change: ServiceChange, _ database: Database, _ kept: Int) throws {
    switch change {
    case .machine(let app, let name, let state?):
      try database.query("INSERT OR REPLACE INTO machines VALUES (?, ?, ?)").bind(Array(app.utf8)).bind(name).bind(
        state
      )
      .run()
    case .machine(let app, let name, nil):
      try database.query("DELETE FROM machines WHERE app = ? AND name = ?").bind(Array(app.utf8)).bind(name).run()
    case .scheduled(let app, let identifier, let value?):
      try database.query("INSERT OR REPLACE INTO scheduled VALUES (?, ?, ?)").bind(Array(app.utf8)).bind(identifier)
        .bind(value).run()
    case .scheduled(let app, let identifier, nil):
      try database.query("DELETE FROM scheduled WHERE app = ? AND identifier = ?").bind(Array(app.utf8)).bind(
        identifier
      )
      .run()
      try DeliveryRecords.acknowledge(app, identifier, database)
    case .delivery(let app, let identifier, let state?):
      try database.query("INSERT OR REPLACE INTO pendingDeliveries VALUES (?, ?, ?)").bind(Array(app.utf8))
        .bind(identifier).bind(state).run()
    case .delivery(let app, let identifier, nil):
      try database.query("DELETE FROM pendingDeliveries WHERE app = ? AND identifier = ?").bind(Array(app.utf8))
        .bind(identifier).run()
    case .wake(let id, let app, let value):
      try database.query("INSERT OR REPLACE INTO wakes VALUES (?, ?, ?)").bind(id).bind(Array(app.utf8)).bind(value)
        .run()
      try database.query(
        "DELETE FROM wakes WHERE app = ?1 AND id <= (SELECT id FROM wakes WHERE app = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)"
      ).bind(Array(app.utf8)).bind(kept).run()
    // All of them together, in their order.
    case .event: break
    case .forget(let app):
      for table in ["machines", "scheduled", "pendingDeliveries"] {
        try database.query("DELETE FROM \(table) WHERE app = ?").bind(Array(app.utf8)).run()
      }
    }
  }
}
