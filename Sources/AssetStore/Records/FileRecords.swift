package import AssetModel
internal import GRDB

/// Finished files, as long as their jobs are kept. What becomes of them afterwards is their owners' affair.
package struct FileRecords: Sendable {
  let database: StoreDatabase

  /// When the file of a job was finished, nanoseconds since 1970; nil: it isn't.
  package func finished(of job: JobID) throws(StoreError) -> Int64? {
    try database.read { database in
      let row = try database.query("SELECT lastUse FROM files WHERE job = ? ORDER BY id LIMIT 1").bind(job.number)
      return try row.step() ? row.int64() : nil
    }
  }
}

enum FileRow {
  static func insert(_ job: JobRecord, _ database: Database, _ now: Int64) throws {
    guard let inode = job.publishedInode, let size = job.finalSize else { return }
    let specification = job.specification
    try database.query(
      """
      INSERT OR IGNORE INTO files (job, app, directory, name, inode, size, digest, isEssential, lastUse)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """
    ).bind(job.id.number).bind(Array(specification.app.utf8)).bind(Array(specification.directory.utf8))
      .bind(Array(specification.fileName.utf8)).bind(bits: inode).bind(size).bind(specification.digest?.bytes)
      .bind(specification.isEssential).bind(now).run()
  }
}
