package import AssetModel
internal import GRDB
internal import Synchronization

/// A finished file as the store knows it.
package struct StoredFile: Sendable, Equatable {
  package enum State: Int64, Sendable {
    case present
    /// Deleted for space; its size says what fetching it again would cost.
    case purged
    /// Gone, and not by us.
    case missing
  }

  package var id: Int64
  package var job: JobID?
  package var app: String
  package var directory: String
  package var name: String
  package var inode: UInt64
  package var size: Int64
  package var isPurgeable: Bool
  /// Higher goes later.
  package var preservation: Int
  package var isEssential: Bool
  /// Nanoseconds since 1970.
  package var lastUse: Int64
  package var state: State
  package var isPinned: Bool
}

/// Finished files, as long as they are there.
package struct FileRecords: Sendable {
  let database: StoreDatabase

  /// Files that are there, oldest first.
  package func all() throws(StoreError) -> [StoredFile] { try database.read { try FileRow.all($0, "WHERE state = 0") } }

  package func file(of job: JobID) throws(StoreError) -> StoredFile? {
    try database.read { try FileRow.all($0, "WHERE job = \(job.number)").first }
  }

  /// Where the recipient moved the file, within its container: the mark goes with the inode.
  package func move(file id: Int64, to directory: String, name: String) throws(StoreError) {
    try ColumnLimits.check("directory", directory, ColumnLimits.path)
    try ColumnLimits.check("name", name, ColumnLimits.fileName)
    try change(id, "directory = ?, name = ?") { $0.bind(Array(directory.utf8)).bind(Array(name.utf8)) }
  }

  /// A file that was changed or copied is the app's own, and never purged.
  package func setPurgeable(_ isPurgeable: Bool, file id: Int64) throws(StoreError) {
    try change(id, "isPurgeable = ?") { $0.bind(isPurgeable) }
  }

  package func setPreservation(_ priority: Int, file id: Int64) throws(StoreError) {
    try change(id, "preservation = ?") { $0.bind(priority) }
  }

  package func touch(file id: Int64) throws(StoreError) {
    let now = database.options.wallClock()
    try change(id, "lastUse = ?") { $0.bind(now) }
  }

  /// Keeps a file from being purged while a connection is there: an open lease, a live handle, a callback.
  package func pin(file id: Int64, connection: Int64, reason: String) throws(StoreError) {
    try ColumnLimits.check("reason", reason, 64)
    try database.write { database in
      guard try FileRow.isPresent(id, database) else { throw StoreError.wrongState("file \(id) isn't there") }
      if self.database.removing.withLock({ $0.contains(id) }) {
        throw StoreError.wrongState("file \(id) is being deleted")
      }
      try database.query("INSERT OR IGNORE INTO pins VALUES (?, ?, ?)").bind(id).bind(connection).bind(reason).run()
    }
  }

  package func unpin(file id: Int64, connection: Int64, reason: String) throws(StoreError) {
    try database.write { database in
      try database.query("DELETE FROM pins WHERE file = ? AND connection = ? AND reason = ?").bind(id).bind(connection)
        .bind(reason).run()
    }
  }

  /// The connection ended: it holds nothing any more.
  package func unpinAll(connection: Int64) throws(StoreError) {
    try database.write { try $0.query("DELETE FROM pins WHERE connection = ?").bind(connection).run() }
  }

  private func change(_ id: Int64, _ assignment: String, _ bind: (Query) -> Query) throws(StoreError) {
    try database.write { database in
      let query = try database.query("UPDATE files SET \(assignment) WHERE id = ? AND state = 0")
      try bind(query).bind(id).run()
      guard database.changesCount == 1 else { throw StoreError.wrongState("file \(id) isn't there") }
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

  static func all(_ database: Database, _ condition: String) throws -> [StoredFile] {
    let rows = try database.query(
      """
      SELECT id, job, app, directory, name, inode, size, isPurgeable, preservation, isEssential, lastUse, state,
        EXISTS (SELECT 1 FROM pins WHERE file = files.id) FROM files \(condition) ORDER BY id
      """)
    var all: [StoredFile] = []
    while try rows.step() {
      all.append(
        StoredFile(
          id: rows.int64(), job: rows.optionalInt64().map { JobID($0) }, app: rows.text(), directory: rows.text(),
          name: rows.text(), inode: rows.bits(), size: rows.int64(), isPurgeable: rows.bool(), preservation: rows.int(),
          isEssential: rows.bool(), lastUse: rows.int64(), state: .init(rawValue: rows.int64()) ?? .missing,
          isPinned: rows.bool()))
    }
    return all
  }

  static func isPresent(_ id: Int64, _ database: Database) throws -> Bool {
    try database.query("SELECT 1 FROM files WHERE id = ? AND state = 0").bind(id).step()
  }
}
