internal import Basics
internal import GRDB
internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// The journal of downloads: SQLite in WAL mode, every commit synchronised before it returns.
///
/// Any thread may call it; writers take turns, and readers don't wait for them where the options say so.
public final class AssetStore: Sendable {
  /// How a store is opened, and what it keeps.
  public struct Options: Sendable {
    /// Puts a damaged database aside and starts an empty one.
    public var startFresh = false
    /// Downloads that an app may have open at a time.
    public var maxOpenJobsPerApp = 1000
    /// Looks without changing anything, beside a process that has the store.
    public var isReadOnly = false
    /// Whether readers have connections of their own, and don't wait for writers. With one connection for all, a store opens in
    /// half the time: for a command that is soon over.
    public var readsBesideWrites = true
    /// Nanoseconds between two backups that `backUpIfDue` makes.
    public var backupInterval: Int64 = 3_600_000_000_000
    /// What is kept at most, the newest: attempts of a job, runs of an app, events in all.
    public var keptAttempts = 20
    /// Runs of an extension that are kept for each app; the newest.
    public var keptRuns = 100
    /// Events that are kept in all; the newest.
    public var keptEvents = 10_000
    /// Nanoseconds since 1970; for names of copies and the age of backups.
    public var wallClock: @Sendable () -> Int64 = { WallClock.now() }

    /// Creates the options that a service has.
    public init() {}
  }

  /// The database's name within the state folder.
  public static let databaseName = "downloads.sqlite"

  /// What opening had to put right.
  public let recovery: Recovery
  let database: StoreDatabase
  private let lock: Mutex<StoreLock?>
  /// One backup is made at a time.
  private let backup = Mutex(())

  /// Opens the store in `directory`, which belongs to this user alone, and makes it where there is none.
  ///
  /// - Parameters:
  ///   - directory: The state folder. It is made, with mode 0700, where it is missing.
  ///   - options: How it is opened.
  /// - Throws: `StoreError.heldBy` where another process has it, `.unusable`, `.corrupt` or `.newer` where it can't
  ///   be used, and `.full` or `.failing` for its volume.
  public init(opening directory: String, options: Options = Options()) throws(StoreError) {
    try StateFolder.check(directory)
    let path = "\(directory)/\(Self.databaseName)"
    let lock = options.isReadOnly ? nil : try StoreLock(directory, now: options.wallClock())
    let (connections, recovery) = try Opening(path: path, options: options).open(after: lock?.predecessor ?? .none)
    database = StoreDatabase(connections, path: path, options: options)
    self.recovery = recovery
    self.lock = Mutex(lock)
    if !options.isReadOnly { try disk.refreshDevices() }
  }

  /// Whether there is a store in `directory`, or the backup of one that is gone.
  ///
  /// - Parameter directory: The state folder.
  /// - Returns: Whether opening it would find something.
  public static func exists(in directory: String) -> Bool {
    let path = "\(directory)/\(databaseName)"
    return Files.exists(path) || !Backups(path: path).all.isEmpty
  }

  /// Whether the state folder is where it was opened. One that was moved or removed meanwhile still takes what is written, and
  /// who opens the folder of that name next finds nothing of it. Always, where it was opened to be read.
  package var isInPlace: Bool {
    guard let directory = path.parentFolder else { return false }
    return lock.withLock { $0?.isNamed(in: directory) } ?? true
  }

  /// Makes a backup, ends everything that is open, and lets go of the folder; the next call fails. A store that is dropped
  /// without it counts as one whose process died: the next opening looks at every page.
  ///
  /// - Throws: `StoreError` where what is left can't be written; the store is closed all the same.
  public func close() throws(StoreError) {
    do {
      if database.options.isReadOnly {
        try database.connections.close()
      } else {
        // A journal that was left in order is one file.
        try database.connections.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
        try database.connections.close()
        // SQLite would lose its locks with the first other descriptor of the file that this process closes (fcntl(2)).
        try backup.withLock { _ in try Backups(path: path).makeOfClosed() }
      }
      let found = try Files.identity(of: path)
      lock.withLock { lock in
        lock?.leave(size: found.size, modified: found.modified)
        lock = nil
      }
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Makes a backup if the last one is older than the options say: for a quiet moment, since it copies the whole database.
  /// Returns whether one was made.
  @discardableResult
  package func backUpIfDue() throws(StoreError) -> Bool {
    do {
      return try backup.withLock { _ in
        let now = database.options.wallClock()
        // A clock that was set back doesn't postpone the next backup for years.
        if let last = Backups(path: path).all.first?.made, now >= last, now - last < database.options.backupInterval {
          return false
        }
        try Backups(path: path).make(of: database.connections)
        return true
      }
    } catch {
      throw StoreError(error, path: path)
    }
  }

  /// Which process has the store in `directory` open.
  ///
  /// - Parameter directory: The state folder.
  /// - Returns: The process that has it; nil: none.
  public static func holder(of directory: String) -> StoreHolder? { StoreLock.holder(of: directory) }

  // MARK: What it keeps

  /// The name of the database file.
  public var path: String { database.path }
  /// Budgets by name.
  public var budgets: BudgetRecords { BudgetRecords(database: database) }
  package var deliveries: DeliveryRecords { DeliveryRecords(database: database) }
  package var disk: DiskLedger { DiskLedger(database: database) }
  package var files: FileRecords { FileRecords(database: database) }
  package var history: HistoryRecords { HistoryRecords(database: database) }
  package var retention: JobRetention { JobRetention(database: database) }
  package var service: ServiceRecords { ServiceRecords(database: database) }
  var settings: StoreSettings { StoreSettings(database: database) }
}
