package import AssetModel
internal import GRDB
package import LinuxSystem

/// A damaged file that was given up.
package struct Eviction: Sendable, Equatable {
  package var file: StoredFile
  /// To be added, so that it is fetched once again; nil: it was evicted before, and the disk has to be examined first.
  package var fetchAgain: DownloadSpecification?
}

extension FileRemoval {
  static let evicted = "evicted"

  /// Gives a damaged file up, the way a purge does: a row says so, the file goes, then the row. It needn't carry the mark of
  /// what may be purged, but not while it is in use. What happened stands in `events`.
  package func evict(
    file id: Int64, because reason: String, files: any FileOperations = SystemFiles()
  ) throws(StoreError) -> Eviction {
    let wall = database.options.wallClock()
    let kept = Int64(database.options.keptEvents)
    let eviction: Eviction = try database.write { database in
      guard let file = try FileRow.all(database, "WHERE id = \(id) AND state = 0").first else {
        throw StoreError.wrongState("file \(id) isn't there")
      }
      guard try !Self.isInUse(id, database) else { throw StoreError.wrongState("file \(id) is in use") }
      var eviction = Eviction(file: file)
      if let job = file.job { eviction.fetchAgain = try Self.repair(of: job, database) }
      try database.query("INSERT OR IGNORE INTO tombstones (file, directory, name, inode, size) VALUES (?, ?, ?, ?, ?)")
        .bind(id).bind(Array(file.directory.utf8)).bind(Array(file.name.utf8)).bind(bits: file.inode).bind(file.size)
        .run()
      try database.query("INSERT INTO events (wall, app, job, kind, detail) VALUES (?, ?, ?, ?, ?)").bind(wall)
        .bind(Array(file.app.utf8)).bind(file.job?.number).bind(Self.evicted).bind(ColumnLimits.cut(reason)).run()
      try database.query("DELETE FROM events WHERE id <= ?").bind(database.lastInsertedRowID - kept).run()
      return eviction
    }
    _ = try replayTombstones(files: files)
    return eviction
  }

  static func isInUse(_ file: Int64, _ database: Database) throws -> Bool {
    try database.query("SELECT 1 FROM files WHERE id = ? AND \(isInUse)").bind(file).step()
  }

  /// The same download as a repair, unless one of that name was evicted before: bytes that rot again rot somewhere else.
  private static func repair(of job: JobID, _ database: Database) throws -> DownloadSpecification? {
    guard let record = try JobRow.find(job, database) else { return nil }
    let before = try database.query(
      """
      SELECT 1 FROM events WHERE kind = ? AND job IN (SELECT id FROM jobs WHERE app = ? AND identifier = ?)
      """
    ).bind(evicted).bind(Array(record.specification.app.utf8)).bind(Array(record.specification.identifier.utf8))
    if try before.step() { return nil }
    var specification = record.specification
    specification.transferClass = .prefetch
    return specification
  }

  /// The app is gone: its downloads aren't reported any more, and its finished files go, marked or not, but for those that
  /// are still in use; those are `skipped`, and go when this is called again. Open jobs are the engine's to cancel.
  package func uninstall(app: String, files: any FileOperations = SystemFiles()) throws(StoreError) -> PurgeReport {
    let name = Array(app.utf8)
    let skipped: Int = try database.write { database in
      try database.query(
        """
        UPDATE deliveries SET begun = 1, acknowledged = 1, fileMoved = 0
        WHERE begun = 0 AND acknowledged = 0 AND job IN (SELECT id FROM jobs WHERE app = ?)
        """
      ).bind(name).run()
      let rows = try database.query("SELECT id FROM files WHERE app = ? AND state = 0").bind(name)
      var all: [Int64] = []
      while try rows.step() { all.append(rows.int64()) }
      var skipped = 0
      for id in all {
        if try Self.isInUse(id, database) {
          skipped += 1
          continue
        }
        try database.query(
          """
          INSERT OR IGNORE INTO tombstones (file, directory, name, inode, size)
            SELECT id, directory, name, inode, size FROM files WHERE id = ?
          """
        ).bind(id).run()
      }
      return skipped
    }
    var report = try replayTombstones(files: files)
    report.skipped += skipped
    return report
  }
}
