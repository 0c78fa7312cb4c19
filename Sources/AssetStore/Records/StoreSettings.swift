internal import GRDB

/// Values by name.
struct StoreSettings: Sendable {
  let database: StoreDatabase

  /// A value that was set under this name, or nil.
  subscript(name: String) -> String? {
    get throws(StoreError) {
      try database.read { database in
        let query = try database.query("SELECT value FROM settings WHERE name = ?").bind(name)
        return try query.step() ? query.text() : nil
      }
    }
  }

  /// nil removes it. At most 1 KiB for the name and 64 KiB for the value.
  func set(_ name: String, to value: String?) throws(StoreError) {
    try ColumnLimits.check("name", name, ColumnLimits.name)
    try ColumnLimits.check("value", value ?? "", ColumnLimits.text)
    try database.write { database in
      guard let value else { return try database.query("DELETE FROM settings WHERE name = ?").bind(name).run() }
      try database.query("INSERT OR REPLACE INTO settings VALUES (?, ?)").bind(name).bind(value).run()
    }
  }
}
