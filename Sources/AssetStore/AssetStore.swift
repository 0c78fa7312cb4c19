public import AssetModel
internal import Foundation
internal import GRDB
internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// The journal of downloads: SQLite in WAL mode, every commit synchronised before it returns.
///
/// Any thread may call it; writers take turns, readers don't wait for them.
public final class AssetStore: DownloadJournal, Sendable {
  public struct Options: Sendable {
    /// Puts a damaged database aside and starts an empty one.
    public var startFresh = false
    public var mostOpenJobsPerApp = 1000
    /// Looks without changing anything, beside a process that has the store.
    public var isReadOnly = false

    public init() {}
  }

  public static let databaseName = "downloads.sqlite"

  /// The name of the database file.
  public let path: String
  private let options: Options
  private let pool: DatabasePool
  private let lock: Mutex<StoreLock?>

  /// Opens the store in `directory`, which belongs to this user alone, and makes it where there is none.
  public init(opening directory: String, options: Options = Options()) throws(StoreError) {
    try Self.checkFolder(directory)
    path = "\(directory)/\(Self.databaseName)"
    self.options = options
    let lock = options.isReadOnly ? nil : try StoreLock(directory)
    pool = try Self.open(path, options)
    self.lock = Mutex(lock)
  }

  /// Ends everything that is open, and lets go of the folder; the next call fails.
  public func close() throws {
    // A journal that was left in order is one file.
    if !options.isReadOnly { try pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) } }
    try pool.close()
    lock.withLock { $0 = nil }
  }

  private static func checkFolder(_ directory: String) throws(StoreError) {
    let identity: FileIdentity
    do {
      identity = try Files.identity(of: directory)
    } catch {
      throw .unusable(
        path: directory, why: SystemCallError.message(error.code), remedy: "make it, or name another state folder")
    }
    guard identity.isDirectory else {
      throw .unusable(path: directory, why: "it isn't a directory", remedy: "name a directory")
    }
    guard identity.owner == geteuid() else {
      throw .unusable(path: directory, why: "it belongs to another user", remedy: "name a folder of your own")
    }
    guard identity.mode & 0o022 == 0 else {
      throw .unusable(path: directory, why: "others may write to it", remedy: "chmod 700 it")
    }
  }

  private static func open(_ path: String, _ options: Options) throws(StoreError) -> DatabasePool {
    do {
      return try connect(path, options)
    } catch let error as StoreError {
      guard case .corrupt(_, let why, _) = error else { throw error }
      let copy = putAside(path, moves: options.startFresh && !options.isReadOnly)
      guard options.startFresh, !options.isReadOnly else { throw .corrupt(path: path, why: why, copy: copy) }
      do {
        return try connect(path, options)
      } catch {
        throw .database(path: path, why: "\(error)")
      }
    } catch {
      throw .database(path: path, why: "\(error)")
    }
  }

  private static func connect(_ path: String, _ options: Options) throws -> DatabasePool {
    var configuration = Configuration()
    configuration.readonly = options.isReadOnly
    configuration.busyMode = .timeout(5)
    configuration.maximumReaderCount = 2
    configuration.prepareDatabase { database in
      try database.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0")
    }
    do {
      try examine(path, configuration)
      let pool = try DatabasePool(path: path, configuration: configuration)
      if options.isReadOnly { return pool }
      try Schema.migrator.migrate(pool)
      try pool.writeWithoutTransaction { database in
        // GRDB sets NORMAL when it turns WAL on, which is after its own preparation.
        try database.execute(sql: "PRAGMA synchronous = FULL")
        guard try Int.fetchOne(database, sql: "PRAGMA synchronous") == 2 else {
          throw StoreError.database(path: path, why: "SQLite refuses synchronous = FULL")
        }
      }
      return pool
    } catch let error as DatabaseError {
      switch error.resultCode {
      case .SQLITE_CORRUPT, .SQLITE_NOTADB:
        throw StoreError.corrupt(path: path, why: error.message ?? "\(error)", copy: "")
      case .SQLITE_FULL:
        throw StoreError.unusable(path: path, why: "its volume is full", remedy: "free some space on it")
      case .SQLITE_READONLY, .SQLITE_CANTOPEN, .SQLITE_PERM:
        throw StoreError.unusable(
          path: path, why: error.message ?? "it can't be written",
          remedy: "make it writable, or name another state folder")
      default: throw StoreError.database(path: path, why: "\(error)")
      }
    }
  }

  /// Looks at what is there before anything may change it.
  private static func examine(_ path: String, _ configuration: Configuration) throws {
    guard Files.exists(path) else { return }
    var configuration = configuration
    configuration.readonly = true
    let queue = try DatabaseQueue(path: path, configuration: configuration)
    defer { try? queue.close() }
    try queue.read { database in
      let identifier = try Int32.fetchOne(database, sql: "PRAGMA application_id") ?? 0
      let tables = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") ?? 0
      if tables == 0 { return }
      if identifier != Schema.applicationIdentifier {
        throw StoreError.corrupt(path: path, why: "it is another program's database", copy: "")
      }
      if try Schema.migrator.hasBeenSuperseded(database) { throw StoreError.newer(path: path) }
      let check = try String.fetchOne(database, sql: "PRAGMA quick_check(1)") ?? ""
      if check != "ok" { throw StoreError.corrupt(path: path, why: check, copy: "") }
    }
  }

  /// Keeps what is there, under a name with the date; the original stays unless it is replaced.
  private static func putAside(_ path: String, moves: Bool) -> String {
    let formatter = ISO8601DateFormatter()
    formatter.formatOptions = [.withYear, .withMonth, .withDay, .withTime]
    let copy = "\(path).damaged-\(formatter.string(from: Date()).filter { $0.isNumber || $0 == "T" })-\(getpid())"
    for suffix in ["", "-wal", "-shm"] {
      try? FileManager.default.copyItem(atPath: path + suffix, toPath: copy + suffix)
      if moves { try? FileManager.default.removeItem(atPath: path + suffix) }
    }
    return copy
  }

  // MARK: DownloadJournal

  public func add(_ specifications: [DownloadSpecification], now: StoredMoment) throws -> [AddResult] {
    try pool.write { database in
      let insertion = try database.cachedStatement(sql: JobRow.insertion)
      var open: [String: Int] = [:]
      return try specifications.map { specification in
        if let existing = try Self.openJob(database, specification.app, specification.identifier) {
          return existing.specification.asksForTheSame(as: specification)
            ? .alreadyScheduled(existing.id) : .conflict(existing.id)
        }
        let app = specification.app
        let count =
          try open[app] ?? Int.fetchOne(
            database.cachedStatement(sql: "SELECT count(*) FROM jobs WHERE app = ? AND state < 3"),
            arguments: [JobRow.text(app)]) ?? 0
        guard count < options.mostOpenJobsPerApp else { return .tooMany(limit: options.mostOpenJobsPerApp) }
        if let missing = try Budgets.reserve(database, specification) { return .allowance(missing: missing) }
        try insertion.execute(arguments: JobRow.insertionArguments(specification, now: now))
        open[app] = count + 1
        return .added(JobID(database.lastInsertedRowID))
      }
    }
  }

  private static func openJob(_ database: Database, _ app: String, _ identifier: String) throws -> JobRecord? {
    let statement = try database.cachedStatement(
      sql: "SELECT * FROM jobs WHERE app = ? AND identifier = ? AND state < 3 ORDER BY id DESC LIMIT 1")
    return try Row.fetchOne(statement, arguments: [JobRow.text(app), JobRow.text(identifier)]).map(JobRow.record)
  }

  public func commit(_ changes: [JournalChange]) throws {
    try pool.write { database in
      for change in changes {
        switch change {
        case .job(let job): try Self.store(job, database)
        case .origin(let origin): try OriginRow.store(origin, database)
        }
      }
    }
  }

  private static func store(_ job: JobRecord, _ database: Database) throws {
    try Budgets.charge(database, job)
    try database.cachedStatement(sql: JobRow.change).execute(arguments: JobRow.changeArguments(job))
    guard job.state.isSettled, database.changesCount > 0 else { return }
    try Budgets.settle(database, job)
    try database.cachedStatement(sql: "INSERT OR IGNORE INTO deliveries (job, generation) VALUES (?, ?)")
      .execute(arguments: [job.id.number, job.generation])
  }

  public func job(_ id: JobID) throws -> JobRecord? {
    try pool.read { database in
      try Row.fetchOne(database.cachedStatement(sql: "SELECT * FROM jobs WHERE id = ?"), arguments: [id.number]).map(
        JobRow.record)
    }
  }

  public func job(app: String, identifier: String) throws -> JobRecord? {
    try pool.read { database in
      let statement = try database.cachedStatement(
        sql: "SELECT * FROM jobs WHERE app = ? AND identifier = ? ORDER BY id DESC LIMIT 1")
      return try Row.fetchOne(statement, arguments: [JobRow.text(app), JobRow.text(identifier)]).map(JobRow.record)
    }
  }

  public func forEachOpenJob(_ body: (JobSummary) -> Void) throws {
    try pool.read { database in
      let rows = try Row.fetchCursor(
        database,
        sql: """
          SELECT id, app, origin, class, priority, rest, enqueuedBoot, enqueuedAt, enqueuedWall, waitBoot, waitAt, waitWall,
            waitLength, state FROM jobs WHERE state < 3 ORDER BY id
          """)
      while let row = try rows.next() {
        guard let enqueued = StoredMoment(row, at: 6) else { throw Unpacker.Unreadable() }
        let wait = StoredMoment(row, at: 9).map { StoredWait(since: $0, length: row[12]) }
        body(
          JobSummary(
            id: JobID(row[0]), app: try JobRow.text(row[1] as Data), origin: row[2],
            transferClass: try JobRow.transferClass(row[3]), priority: row[4],
            rest: row[5], enqueued: enqueued, wait: wait,
            state: row[13] == JobRow.State.paused.rawValue
              ? .paused : row[13] == JobRow.State.verified.rawValue ? .verified : .open))
      }
    }
  }

  public func origins() throws -> [OriginRecord] { try pool.read(OriginRow.all) }

  // MARK: Deliveries

  /// Settled jobs that nobody has acknowledged, oldest first.
  public func dueDeliveries() throws -> [JobRecord] {
    try pool.read { database in
      try Row.fetchAll(
        database,
        sql:
          "SELECT jobs.* FROM jobs JOIN deliveries ON deliveries.job = jobs.id WHERE acknowledged = 0 ORDER BY jobs.id"
      ).map(JobRow.record)
    }
  }

  /// Before the call: from now on the recipient may have heard of it.
  public func beginDelivery(of id: JobID) throws {
    try pool.write {
      try $0.execute(sql: "UPDATE deliveries SET begun = 1 WHERE job = ? AND acknowledged = 0", arguments: [id.number])
    }
  }

  /// After the call: it is never delivered again.
  public func acknowledgeDelivery(of id: JobID) throws {
    try pool.write {
      try $0.execute(sql: "UPDATE deliveries SET acknowledged = 1 WHERE job = ?", arguments: [id.number])
    }
  }

  /// Sets how many bytes a budget allows; nil is no such budget any more.
  public func setBudget(_ name: String, allows bytes: Int64?) throws {
    try pool.write { try Budgets.set($0, name, bytes) }
  }
}

extension StoredMoment {
  /// Three columns from `index` on.
  fileprivate init?(_ row: Row, at index: Int) {
    guard let boot: String = row[index] else { return nil }
    self.init(bootIdentifier: boot, boot: row[index + 1] ?? 0, wall: row[index + 2] ?? 0)
  }
}
