internal import Basics
internal import GRDB
internal import Glibc
package import LinuxSystem

/// How disk and journal differ.
package struct Reconciliation: Sendable, Equatable {
  /// Staging files that no open job knows: to be purged.
  package var orphans: [PurgeCandidate] = []
  /// Finished files that aren't at their place any more; their rows now say `missing`.
  package var missing: [StoredFile] = []
  /// Files that were missing and are at their place again: their volume was mounted, or they were put back.
  package var returned: [StoredFile] = []

  package init() {}
}

extension FileRemoval {
  /// Compares the staging directories and the places of finished files with the journal: after `replayTombstones`, before the
  /// engine starts. Deletes nothing, so it can be interrupted and repeated.
  package func reconcile(staging directories: [String], files: any FileOperations = SystemFiles()) throws(StoreError)
    -> Reconciliation
  {
    var result = Reconciliation()
    let known: Set<ExactText> = try database.read { database in
      let rows = try database.query("SELECT stagingName FROM jobs WHERE state < 3 AND stagingName IS NOT NULL")
      var names: Set<ExactText> = []
      while try rows.step() { names.insert(ExactText(rows.text())) }
      return names
    }
    do throws(SystemCallError) {
      for path in directories where Files.exists(path) {
        let directory = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        for name in try Files.names(in: path) where !known.contains(ExactText(name)) {
          guard let found = try identity(name, in: directory.number, files), found.isRegularFile else { continue }
          result.orphans.append(
            PurgeCandidate(kind: .orphan, directory: path, name: name, inode: found.inode, size: found.size))
        }
      }
    } catch {
      throw .file(error)
    }
    let (present, missing) = try database.read {
      (try FileRow.all($0, "WHERE state = 0"), try FileRow.all($0, "WHERE state = 2"))
    }
    for file in present where try !isAtItsPlace(file, files) { result.missing.append(file) }
    for file in missing where try isAtItsPlace(file, files, unknown: false) { result.returned.append(file) }
    let (lost, found) = (result.missing, result.returned)
    if !lost.isEmpty || !found.isEmpty {
      try database.write { database in
        for file in lost {
          try database.query("UPDATE files SET state = 2 WHERE id = ? AND state = 0").bind(file.id).run()
        }
        for file in found {
          try database.query("UPDATE files SET state = 0 WHERE id = ? AND state = 2").bind(file.id).run()
        }
      }
    }
    return result
  }

  /// `unknown`: what is said where nothing can be said.
  private func isAtItsPlace(
    _ file: StoredFile, _ files: any FileOperations, unknown: Bool = true
  ) throws(StoreError) -> Bool {
    do throws(SystemCallError) {
      let directory = try OwnedDescriptor.open(file.directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      return try identity(file.name, in: directory.number, files)?.inode == file.inode
    } catch {
      // A volume that fails says nothing about the file.
      return error.code == ENOENT ? false : unknown
    }
  }

  private func identity(
    _ name: String, in directory: Int32, _ files: any FileOperations
  ) throws(SystemCallError) -> FileIdentity? {
    do {
      let file = try files.open(name, in: directory, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, mode: 0)
      return try files.status(of: file.number)
    } catch {
      if [ENOENT, ELOOP, EXDEV, ENXIO].contains(error.code) { return nil }
      throw error
    }
  }
}
