internal import GRDB
internal import Glibc
internal import LinuxSystem

/// Opens the database of a state folder, whatever that contains, or throws a typed error. The lock is held.
struct Opening {
  let path: String
  let options: AssetStore.Options

  func open(after predecessor: StoreLock.Predecessor) throws(StoreError) -> (any DatabaseWriter, AssetStore.Recovery) {
    var recovery = AssetStore.Recovery()
    if case .died(let pid) = predecessor { recovery.diedBefore = pid }
    do {
      do {
        recovery.wasChecked = try examine(predecessor)
        return (try connect(), recovery)
      } catch {
        guard case .corrupt(_, let why, _) = StoreError(error, path: path), !options.isReadOnly else { throw error }
        let copy = try DatabaseFiles.keepCopy(of: path, now: options.wallClock())
        guard options.startFresh else {
          throw StoreError.corrupt(path: path, why: why, copy: copy ?? "")
        }
        recovery.damage = why
        recovery.copy = copy
        let backup = try restoreBackup()
        recovery.backup = backup?.path
        recovery.backupMade = backup?.made
        return (try connect(), recovery)
      }
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Looks at what is there before anything may change it; whether that included every page. Reading 100,000 jobs' pages
  /// takes longer than opening, so it is done only when there is a reason.
  private func examine(_ predecessor: StoreLock.Predecessor) throws -> Bool {
    let wasInterrupted = DatabaseFiles.hasRollbackJournal(path)
    switch try DatabaseFiles.header(of: path) {
    case .missing:
      guard Backups(path: path).all.isEmpty else {
        throw StoreError.corrupt(path: path, why: "the file is gone, and there are backups of it", copy: "")
      }
      return false
    case .notAFile: throw StoreError.notAFile(path)
    case .damaged(let why): throw StoreError.corrupt(path: path, why: why, copy: "")
    case .database(let pageSize, let pageCount, let size):
      for suffix in DatabaseFiles.suffixes where (try? Files.identity(of: path + suffix).isRegularFile) == false {
        throw StoreError.notAFile(path + suffix)
      }
      // Beside a process that writes, header and log are of different moments.
      if options.isReadOnly || wasInterrupted { break }
      try checkLength(pageSize: pageSize, pageCount: pageCount, size: size)
    }
    let found = try Files.identity(of: path)
    let checksAll =
      switch predecessor {
      // It isn't known which process wrote it, or how that ended.
      case .none: !options.isReadOnly
      case .died: true
      case .closed(let size, let modified):
        size != found.size || modified != found.modified || wasInterrupted || !WriteAheadLog.isEmpty(of: path)
      }
    // What was left in order, and which its one connection won't change by being opened, is as it was left.
    if !checksAll, !options.isReadOnly, !options.readsBesideWrites { return false }
    // Only who may write can take back what a rollback journal says.
    let queue = try DatabaseQueue(
      path: path, configuration: Self.configuration(isReadOnly: options.isReadOnly || !wasInterrupted))
    defer { try? queue.close() }
    try queue.read { database in
      if try Schema.migrator.hasBeenSuperseded(database) { throw StoreError.newer(path: path) }
      // As long as this transaction lasts, what it needs of the log stays there.
      let pageSize = try Int64.fetchOne(database, sql: "PRAGMA page_size") ?? 0
      let pageCount = try Int64.fetchOne(database, sql: "PRAGMA page_count") ?? 0
      try checkLength(pageSize: pageSize, pageCount: pageCount, size: Files.identity(of: path).size)
      if checksAll, let fault = try DatabaseFiles.firstFault(database) {
        throw StoreError.corrupt(path: path, why: fault, copy: "")
      }
    }
    return checksAll
  }

  private func checkLength(pageSize: Int64, pageCount: Int64, size: Int64) throws {
    let missing = try DatabaseFiles.missingBytes(of: path, pageSize: pageSize, pageCount: pageCount, size: size)
    if missing > 0 {
      throw StoreError.corrupt(path: path, why: "\(missing) bytes are missing at its end", copy: "")
    }
  }

  private func connect() throws -> any DatabaseWriter {
    if !options.isReadOnly, !Files.exists(path) {
      // Made whole beside it and renamed: a crash leaves no half database under the real name.
      let unfinished = path + ".unfinished"
      DatabaseFiles.remove(unfinished)
      try Tables.create(at: unfinished)
      // It is synchronised once, when it is whole.
      try DatabaseFiles.putInPlace(unfinished, at: path)
    }
    if !options.isReadOnly { try DatabaseFiles.hide(path) }
    let connections = try self.connections()
    if options.isReadOnly {
      guard try connections.read(Schema.migrator.hasCompletedMigrations) else {
        throw StoreError.unusable(
          path: path, why: "it was made by an older Outrider",
          remedy: "run a command that writes to it, such as 'outrider fetch': it updates the journal")
      }
      return connections
    }
    try Schema.migrator.migrate(connections)
    try connections.writeWithoutTransaction { database in
      // GRDB sets NORMAL when it turns WAL on, which is after its own preparation.
      try database.execute(sql: "PRAGMA synchronous = FULL")
      for (name, wanted) in [
        ("synchronous", "2"), ("journal_mode", "wal"), ("foreign_keys", "1"), ("trusted_schema", "0"),
      ] {
        guard try String.fetchOne(database, sql: "PRAGMA \(name)") == wanted else {
          throw StoreError.database(path: path, why: "SQLite refuses \(name) = \(wanted)")
        }
      }
    }
    return connections
  }

  private func connections() throws -> any DatabaseWriter {
    let configuration = Self.configuration(isReadOnly: options.isReadOnly)
    if options.readsBesideWrites || options.isReadOnly {
      return try DatabasePool(path: path, configuration: configuration)
    }
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    guard try !queue.read(Schema.migrator.hasBeenSuperseded) else { throw StoreError.newer(path: path) }
    // Older versions made the file before they turned that on.
    try queue.inDatabase { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
    return queue
  }

  /// Under its real name a database is never anything but in WAL mode: changing to that writes a rollback journal, which
  /// a read-only process that finds it after a crash couldn't read past.
  private func putInPlace(_ queue: DatabaseQueue, _ unfinished: String) throws {
    try queue.inDatabase { database in
      guard try String.fetchOne(database, sql: "PRAGMA journal_mode = WAL") == "wal" else {
        throw StoreError.database(path: unfinished, why: "SQLite refuses journal_mode = wal")
      }
    }
    // The last connection takes the log with it.
    try queue.close()
    try DatabaseFiles.putInPlace(unfinished, at: path)
  }

  /// Puts the newest backup that is whole in the place of the database, or nothing.
  private func restoreBackup() throws -> Backups.Entry? {
    let unfinished = path + ".unfinished"
    for backup in Backups(path: path).all {
      DatabaseFiles.remove(unfinished)
      do {
        guard case .database = try DatabaseFiles.header(of: backup.path) else { continue }
        try DatabaseFiles.copy(backup.path, to: unfinished)
        let queue = try DatabaseQueue(path: unfinished, configuration: Self.configuration())
        let isGood = try queue.read {
          try !Schema.migrator.hasBeenSuperseded($0) && DatabaseFiles.firstFault($0) == nil
        }
        guard isGood else { continue }
        try putInPlace(queue, unfinished)
        return backup
      } catch is DatabaseError {
        continue
      } catch let error as SystemCallError where error.subject == backup.path || error.call == "pread" {
        // This one can't be read; what is older may be.
        continue
      }
    }
    DatabaseFiles.remove(unfinished)
    DatabaseFiles.remove(path)
    return nil
  }

  static func configuration(isReadOnly: Bool = false) -> Configuration {
    var configuration = Configuration()
    configuration.readonly = isReadOnly
    configuration.busyMode = .timeout(5)
    configuration.maximumReaderCount = 2
    configuration.prepareDatabase { database in
      try database.execute(
        sql: """
          PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0; PRAGMA cache_size = -512
          """)
    }
    return configuration
  }
}
