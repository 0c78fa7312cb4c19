import AssetModel
import AssetStore
import Foundation
import GRDB
import Glibc
import LinuxSystem
import TestSupport
import Testing

/// States in which a kill can leave the database's files, made by hand. Tests/DownloadsTests/KilledAtCallTests.swift finds them
/// by killing.
@Suite(.ownThreads, .timeLimit(.minutes(1))) struct InterruptedDatabaseTests {
  private static let count = 300

  private static func copy(_ name: String, from source: String, to target: String) throws {
    try FileManager.default.copyItem(atPath: "\(source)/\(name)", toPath: "\(target)/\(name)")
  }

  /// Killed in the middle of a checkpoint: the first page says how long the file is going to be, the log has the rest.
  private static func checkpointing() throws -> AssetStoreTests.Folder {
    let folder = try AssetStoreTests.Folder()
    let open = try AssetStoreTests.Folder()
    let store = try AssetStore(opening: open.path)
    _ = try store.add((0..<count).map { AssetStoreTests.specification("\($0)") }, now: AssetStoreTests.moment())
    let name = AssetStore.databaseName
    for file in [name, "\(name)-wal"] { try copy(file, from: open.path, to: folder.path) }
    try store.close()
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: folder.database))
    try handle.write(contentsOf: #require(FileManager.default.contents(atPath: open.database)).prefix(4096))
    try handle.close()
    #expect(try Files.identity(of: folder.database).size < Files.identity(of: open.database).size)
    return folder
  }

  @Test(
    "F-41 killed while the log is written back, the store opens with all of it", arguments: [true, false],
    [true, false])
  func checkpoint(looksFirst: Bool, readsBesideWrites: Bool) throws {
    let folder = try Self.checkpointing()
    if looksFirst {
      var options = AssetStore.Options()
      options.isReadOnly = true
      #expect(try AssetStore(opening: folder.path, options: options).job(JobID(Int64(Self.count))) != nil)
    }
    var options = AssetStore.Options()
    options.readsBesideWrites = readsBesideWrites
    let store = try AssetStore(opening: folder.path, options: options)
    #expect(store.recovery.wasChecked && store.recovery.damage == nil)
    #expect(try store.job(JobID(Int64(Self.count))) != nil)
    try store.close()
    #expect(try !AssetStore(opening: folder.path, options: options).recovery.wasChecked, "it was left in order")
  }

  @Test("no other user reads the journal, whoever may read its folder, and however it was made") func secrets() throws {
    let folder = try AssetStoreTests.Folder()
    #expect(chmod(folder.path, 0o755) == 0)
    func modes() throws -> Set<UInt32> {
      let names = try Files.names(in: folder.path).filter { $0.hasPrefix(AssetStore.databaseName) }
      #expect(names.count >= 3, "with its logs: \(names)")
      return Set(try names.map { try Files.identity(of: "\(folder.path)/\($0)").mode & 0o777 })
    }
    for isOlder in [false, true] {
      if isOlder { #expect(chmod(folder.database, 0o644) == 0) }
      let store = try AssetStore(opening: folder.path)
      _ = try store.add([AssetStoreTests.specification("\(isOlder)")], now: AssetStoreTests.moment())
      #expect(try modes() == [0o600])
      try store.close()
    }
  }

  /// Other than a kill does it: what the log lacks as well is missing, and said to be.
  @Test(
    "F-42 a file that is short, with a log that doesn't hold the rest, is damaged", arguments: [0, 1, 2, 3],
    [false, true])
  func logIsDamaged(kind: Int, readsBesideWrites: Bool) throws {
    let folder = try Self.checkpointing()
    let log = "\(folder.database)-wal"
    let size = Int(try Files.identity(of: log).size)
    switch kind {
    case 0: try FileManager.default.removeItem(atPath: log)
    case 1: #expect(truncate(log, off_t(size / 2)) == 0)
    case 2: #expect(truncate(log, 32) == 0)
    default:
      let handle = try FileHandle(forUpdating: URL(fileURLWithPath: log))
      try handle.seek(toOffset: UInt64(size / 2))
      try handle.write(contentsOf: Data("rotten".utf8))
      try handle.close()
    }
    var options = AssetStore.Options()
    options.readsBesideWrites = readsBesideWrites
    let error = #expect(throws: StoreError.self) { try AssetStore(opening: folder.path, options: options) }
    guard case .corrupt? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    options.startFresh = true
    let fresh = try AssetStore(opening: folder.path, options: options)
    #expect(fresh.recovery.copy != nil)
    try fresh.close()
  }

  @Test(
    "F-41 a change that a rollback journal takes back doesn't keep anybody out", arguments: [false, true],
    [false, true])
  func rollbackJournal(startFresh: Bool, readsBesideWrites: Bool) throws {
    let folder = try AssetStoreTests.Folder()
    let open = try AssetStoreTests.Folder()
    let store = try AssetStore(opening: open.path)
    _ = try store.add((0..<Self.count).map { AssetStoreTests.specification("\($0)") }, now: AssetStoreTests.moment())
    try store.close()
    // As releases before left it: a first database that wasn't in WAL mode yet.
    let queue = try DatabaseQueue(path: open.database)
    let name = AssetStore.databaseName
    try queue.inDatabase { try $0.execute(sql: "PRAGMA journal_mode = DELETE; PRAGMA cache_size = 1") }
    try queue.writeWithoutTransaction { database in
      try database.execute(sql: "BEGIN IMMEDIATE; UPDATE jobs SET lastError = hex(zeroblob(200))")
      for file in [name, "\(name)-journal"] { try Self.copy(file, from: open.path, to: folder.path) }
      try database.execute(sql: "ROLLBACK")
    }
    try queue.close()
    #expect(try Files.identity(of: "\(folder.database)-journal").size > 512)
    var looking = AssetStore.Options()
    looking.isReadOnly = true
    let error = #expect(throws: StoreError.self) { try AssetStore(opening: folder.path, options: looking) }
    #expect("\(error as Any)".contains("a change to it was interrupted"))
    var options = AssetStore.Options()
    options.startFresh = startFresh
    options.readsBesideWrites = readsBesideWrites
    let opened = try AssetStore(opening: folder.path, options: options)
    #expect(opened.recovery.wasChecked && opened.recovery.damage == nil)
    #expect(try opened.job(JobID(Int64(Self.count)))?.lastError == nil, "taken back")
    try opened.close()
  }

  @Test(
    "F-41 a process that died without closing is remembered until every page was looked at, whatever the next one does")
  func predecessor() throws {
    let folder = try AssetStoreTests.Folder()
    try AssetStore(opening: folder.path).close()
    let lock = "\(folder.path)/lock"
    // Written over something longer, and killed before the rest was cut off.
    try Data("77 5 fetch\n 123456789 outrider\n".utf8).write(to: URL(fileURLWithPath: lock))
    var store = try AssetStore(opening: folder.path)
    #expect(store.recovery.diedBefore == 77 && store.recovery.wasChecked)
    try store.close()
    store = try AssetStore(opening: folder.path)
    #expect(!store.recovery.wasChecked)
    try store.close()
    // It isn't known how it ended.
    #expect(truncate(lock, 0) == 0)
    store = try AssetStore(opening: folder.path)
    #expect(store.recovery.wasChecked)
    try store.close()
  }
}
