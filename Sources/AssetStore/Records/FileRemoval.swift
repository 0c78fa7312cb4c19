internal import GRDB
internal import Glibc
package import LinuxSystem
internal import Synchronization

/// What a purge did.
package struct PurgeReport: Sendable, Equatable {
  /// Bytes and number of the files that are gone.
  package var freed: Int64 = 0
  package var removed = 0
  /// Pinned meanwhile, no longer there, or in a folder that isn't.
  package var skipped = 0
  /// Paths where another file was found than the one that was to be deleted; it was left alone.
  package var exchanged: [String] = []
  /// Why a file couldn't be deleted, the first of them; its row stays, and the next purge or start tries it again.
  package var failure: SystemCallError?

  package init() {}
}

/// How finished files and orphans are deleted: a row says what is about to go, then the file goes, then the row.
package struct FileRemoval: Sendable {
  let database: StoreDatabase

  /// Deletes files in two phases: a row says what is about to go, then the file goes, then the row. A crash anywhere is put
  /// right by `replayTombstones`. Pins are looked at again in the transaction of the first phase.
  package func purge(_ plan: [PurgeCandidate], files: any FileOperations = SystemFiles()) throws(StoreError)
    -> PurgeReport
  {
    var skipped = 0
    for candidate in plan where try !bury(candidate) { skipped += 1 }
    var report = try replayTombstones(files: files)
    report.skipped += skipped
    return report
  }

  /// Finishes what a crash interrupted: called once at start, before anything else touches the files. Idempotent.
  package func replayTombstones(files: any FileOperations = SystemFiles()) throws(StoreError) -> PurgeReport {
    var report = PurgeReport()
    for tombstone in try tombstones() {
      guard try claim(tombstone) else {
        report.skipped += 1
        continue
      }
      defer { if let file = tombstone.file { database.removing.withLock { _ = $0.remove(file) } } }
      let outcome: Removal
      do throws(SystemCallError) {
        outcome = try remove(tombstone, files)
      } catch {
        // One directory that can't be read doesn't keep the files of all others.
        report.failure = report.failure ?? error
        continue
      }
      switch outcome {
      case .removed:
        report.removed += 1
        report.freed += tombstone.size
      case .gone, .unreachable: report.skipped += 1
      case .exchanged: report.exchanged.append("\(tombstone.directory)/\(tombstone.name)")
      }
      try database.write { database in
        try database.query("DELETE FROM tombstones WHERE id = ?").bind(tombstone.id).run()
        // The size stays: it says what fetching again would cost.
        try database.query("UPDATE files SET state = ? WHERE id = ? AND state = 0")
          .bind((outcome.isDeletion ? StoredFile.State.purged : .missing).rawValue).bind(tombstone.file).run()
      }
    }
    return report
  }

  /// Looked at once more, for it may have been long: who pinned the file since, or is told of it, keeps it.
  private func claim(_ tombstone: Tombstone) throws(StoreError) -> Bool {
    guard let file = tombstone.file else { return true }
    return try database.write { database in
      let row = try database.query("SELECT 1 FROM files WHERE id = ? AND \(Self.isInUse)").bind(file)
      guard try row.step() else {
        self.database.removing.withLock { _ = $0.insert(file) }
        return true
      }
      try database.query("DELETE FROM tombstones WHERE id = ?").bind(tombstone.id).run()
      return false
    }
  }

  static let isInUse = """
    (EXISTS (SELECT 1 FROM pins WHERE file = files.id)
      OR EXISTS (SELECT 1 FROM deliveries WHERE job = files.job AND begun = 1 AND acknowledged = 0))
    """

  private func bury(_ candidate: PurgeCandidate) throws(StoreError) -> Bool {
    try database.write { database in
      if let file = candidate.file {
        let row = try database.query(
          """
          SELECT 1 FROM files WHERE id = ? AND state = 0 AND isPurgeable = 1 AND inode = ?
            AND NOT \(Self.isInUse)
          """
        ).bind(file).bind(bits: candidate.inode)
        guard try row.step() else { return false }
      } else {
        // An orphan of a moment ago may have found a job that knows its bytes.
        let row = try database.query("SELECT 1 FROM jobs WHERE state < 3 AND stagingName = ?").bind(candidate.name)
        if try row.step() { return false }
      }
      try database.query("INSERT OR IGNORE INTO tombstones (file, directory, name, inode, size) VALUES (?, ?, ?, ?, ?)")
        .bind(candidate.file).bind(Array(candidate.directory.utf8)).bind(Array(candidate.name.utf8))
        .bind(bits: candidate.inode).bind(candidate.size).run()
      return true
    }
  }

  private struct Tombstone {
    var id: Int64
    var file: Int64?
    var directory: String
    var name: String
    var inode: UInt64
    var size: Int64
  }

  private func tombstones() throws(StoreError) -> [Tombstone] {
    try database.read { database in
      let rows = try database.query("SELECT id, file, directory, name, inode, size FROM tombstones ORDER BY id")
      var all: [Tombstone] = []
      while try rows.step() {
        all.append(
          Tombstone(
            id: rows.int64(), file: rows.optionalInt64(), directory: rows.text(), name: rows.text(), inode: rows.bits(),
            size: rows.int64()))
      }
      return all
    }
  }

  private enum Removal {
    case removed, gone, exchanged
    /// Its directory isn't there: deleted with it, or on a volume that isn't mounted.
    case unreachable

    var isDeletion: Bool { self == .removed || self == .gone }
  }

  private func remove(_ tombstone: Tombstone, _ files: any FileOperations) throws(SystemCallError) -> Removal {
    let directory: OwnedDescriptor
    do {
      directory = try OwnedDescriptor.open(tombstone.directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    } catch {
      if [ENOENT, ENOTDIR, ELOOP].contains(error.code) { return .unreachable }
      throw error
    }
    do {
      let file = try files.open(tombstone.name, in: directory.number, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, mode: 0)
      let found = try files.status(of: file.number)
      guard found.isRegularFile, found.inode == tombstone.inode else { return .exchanged }
    } catch {
      switch error.code {
      case ENOENT:
        // Unlinked before a crash: the row goes only after the removal is on disk.
        try files.synchronize(directory.number)
        return .gone
      case ELOOP, EXDEV, ENXIO: return .exchanged
      default: throw error
      }
    }
    try files.remove(tombstone.name, in: directory.number)
    try files.synchronize(directory.number)
    return .removed
  }
}
