import AssetModel
import Foundation
import GRDB
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import AssetStore

/// F-67 and F-57, as far as the database is concerned: older, newer and half migrated ones, and numbers at their ends.
@Suite(.ownThreads, .timeLimit(.minutes(1))) struct MigrationTests {
  private static let firstVersion = "1: jobs, origins, deliveries"

  /// A database as the first version left it: open jobs, one with a partial file, a settled one that is due, a budget.
  private static func makeFirstVersion(_ path: String) throws {
    let queue = try DatabaseQueue(path: path)
    try Schema.migrator.migrate(queue, upTo: firstVersion)
    var history = Packer()
    for number in [3, 0, 0, 1, 0, 0, 1, 0] as [Int64] { history.append(number) }
    history.append(1 << 20)
    var checkpoints = Packer()
    checkpoints.append(1 as Int64)
    checkpoints.append(2 << 20 as Int64)
    checkpoints.append([UInt8](repeating: 7, count: 32))
    var none = Packer()
    none.append(0 as Int64)
    try queue.write { database in
      for number in 1...3 as ClosedRange<Int64> {
        try database.execute(
          sql: """
            INSERT INTO jobs (id, app, identifier, url, origin, headers, requestedClass, isEssential, priority, declaredSize,
              directory, fileName, budget, class, generation, state, stagingName, strongTag, total, finalURL, checkpoints,
              verifiedChunks, partialBoot, device, inode, rest, history, received, enqueuedBoot, enqueuedAt, enqueuedWall,
              progressBoot, progressAt, progressWall, publishedInode, finalSize)
            VALUES (?, ?, ?, 'https://a.example/f', 'https://a.example:443', ?, 3, 0, 5, 4194304, ?, ?, 'app', 3, 2, ?,
              'staged', '"tag"', 4194304, 'https://a.example/f', ?, x'', 'boot', 1, 2, 2097152, ?, 2097200, 'boot', 1, 2,
              'boot', 3, 4, 99, 4194304)
            """,
          arguments: [
            number, Data("app".utf8), Data("file\(number)".utf8), Data(none.bytes), Data("/files".utf8),
            Data("file\(number)".utf8), number == 3 ? 3 : number - 1, Data(checkpoints.bytes), Data(history.bytes),
          ])
      }
      try database.execute(sql: "INSERT INTO deliveries (job, generation) VALUES (3, 2)")
      try database.execute(
        sql: "INSERT INTO origins VALUES ('https://a.example:443', 'boot', 1, 2, 86400, NULL, NULL, NULL, NULL, NULL)")
      try database.execute(
        sql: "INSERT INTO budgets (name, allowed, charged, reserved) VALUES ('app', 100000000, 6291600, 1)")
    }
    try queue.close()
  }

  @Test("a new database has the tables that the migrations lead to")
  func newTables() throws {
    let folder = NSTemporaryDirectory() + "outrider-tables-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try Tables.create(at: "\(folder)/new")
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["new"], "the log goes with the connection")
    #expect(throws: DatabaseError.self) { try Tables.create(at: folder) }
    let (new, migrated) = (try DatabaseQueue(path: "\(folder)/new"), try DatabaseQueue())
    #expect(try new.read { try String.fetchOne($0, sql: "PRAGMA journal_mode") } == "wal")
    try Schema.migrator.migrate(migrated)
    func tables(_ queue: DatabaseQueue) throws -> Set<String> {
      try queue.read { database in
        let rows = try Row.fetchAll(database, sql: "SELECT name, sql FROM sqlite_schema")
        let text = rows.map { row in
          let words = (row["sql"] as String? ?? "").split { $0.isWhitespace }.joined(separator: " ")
          return "\(row["name"] as String): \(words)".replacing(" ,", with: ",").replacing("( ", with: "(").replacing(
            " )", with: ")")
        }
        let identifier = try Int.fetchOne(database, sql: "PRAGMA application_id") ?? 0
        let migrations = try String.fetchAll(
          database, sql: "SELECT identifier FROM grdb_migrations ORDER BY identifier")
        return Set(text + migrations + ["\(identifier)"])
      }
    }
    let (found, expected) = (try tables(new), try tables(migrated))
    #expect(found.count > 40)
    #expect(found.symmetricDifference(expected).sorted() == [])
    #expect(try new.read(Schema.migrator.hasCompletedMigrations))
  }

  private static func expectJobs(_ store: AssetStore) throws {
    let job = try #require(try store.job(JobID(1)))
    #expect(
      job.specification.identifier == "file1" && job.specification.budget == "app" && !job.specification.isManifest)
    #expect(job.state == .open && job.generation == 2 && job.receivedBytes == 2_097_200)
    #expect(job.partial?.durableOffset == 2 << 20 && job.partial?.entity.strongTag == "\"tag\"")
    #expect(job.history.fruitlessAttempts == 3 && job.history.triedBareRange && job.history.highWater == 1 << 20)
    #expect(job.reservedBytes == 4_194_304 - 2_097_200, "what is still to come is reserved")
    #expect(try store.job(JobID(2))?.state == .paused)
    #expect(try store.deliveries.pending() == [JobID(3)])
    let rangeless = StoredWait(since: StoredMoment(bootIdentifier: "boot", boot: 1, wall: 2), length: 86400)
    #expect(try store.origins() == [OriginRecord(origin: "https://a.example:443", rangeless: rangeless)])
    let budget = try #require(try store.budgets.budget("app"))
    #expect(budget.charged == 6_291_600 && budget.reserved == 2 * (4_194_304 - 2_097_200))
    var open = 0
    try store.forEachOpenJob { _ in open += 1 }
    #expect(open == 2)
    #expect(
      try store.add([LedgerTests.sized("new", 1)], now: AssetStoreTests.moment())[0].job == JobID(4), "and it works")
  }

  @Test("F-67 a database of the first version is opened with every job in it") func upgrade() throws {
    let folder = try AssetStoreTests.Folder()
    try Self.makeFirstVersion(folder.database)
    let store = try AssetStore(opening: folder.path)
    try Self.expectJobs(store)
    try store.close()
    try Self.expectClosed(folder)
  }

  @Test("F-67 rows of before the causes of failures have their sentences, and no cause") func withoutCauses() throws {
    let folder = try AssetStoreTests.Folder()
    try Self.makeFirstVersion(folder.database)
    let queue = try DatabaseQueue(path: folder.database)
    try Schema.migrator.migrate(queue, upTo: "8: methods and bodies")
    try queue.write { database in
      try database.execute(
        sql: """
          UPDATE jobs SET lastError = 'the server answered 404', waitBoot = 'boot', waitAt = 1, waitWall = 2,
            waitLength = 3 WHERE id = 1;
          UPDATE jobs SET state = 4, failureReason = 'challenge', failureStatus = 401, failureHop = 1,
            failureDetail = 'https://a asks for a credential (basic), and nobody gave it' WHERE id = 2;
          """)
    }
    try queue.close()
    let store = try AssetStore(opening: folder.path)
    let open = try #require(try store.job(JobID(1)))
    #expect(open.lastError == "the server answered 404" && open.lastCause == nil && open.wait?.length == 3)
    #expect(
      try store.job(JobID(2))?.state
        == .failed(
          TransferFailure(
            .challenge, status: 401, hop: 1, detail: "https://a asks for a credential (basic), and nobody gave it")))
    try store.close()
  }

  private static func expectClosed(_ folder: AssetStoreTests.Folder) throws {
    let again = try AssetStore(opening: folder.path)
    #expect(try again.job(JobID(4)) != nil)
    try again.close()
  }

  @Test("F-67 who only reads is told that a database is older, and changes nothing") func older() throws {
    let folder = try AssetStoreTests.Folder()
    try Self.makeFirstVersion(folder.database)
    let before = FileManager.default.contents(atPath: folder.database)
    var options = AssetStore.Options()
    options.isReadOnly = true
    let error = #expect(throws: StoreError.self) { try AssetStore(opening: folder.path, options: options) }
    guard case .unusable(folder.database, "it was made by an older Outrider", _)? = error else {
      throw error ?? StoreError.newer(path: "")
    }
    #expect(FileManager.default.contents(atPath: folder.database) == before)
    let store = try AssetStore(opening: folder.path)
    try Self.expectJobs(store)
    try store.close()
    try AssetStore(opening: folder.path, options: options).close()
  }

  @Test("F-67 a migration that is interrupted in its middle has not been, and is made at the next start")
  func interrupted() throws {
    let folder = try AssetStoreTests.Folder()
    try Self.makeFirstVersion(folder.database)
    let copied = try AssetStoreTests.Folder()
    let queue = try DatabaseQueue(path: folder.database)
    try queue.writeWithoutTransaction { database in
      try database.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA cache_size = 1; PRAGMA cache_spill = 1")
      try database.inTransaction {
        try database.execute(
          sql: """
            ALTER TABLE jobs ADD COLUMN isManifest INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE jobs ADD COLUMN reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0);
            UPDATE jobs SET reserved = 5, received = 0, url = 'https://wrong.example/' || hex(zeroblob(3000));
            DELETE FROM deliveries;
            """)
        // What is on the disk at this moment is what a crash leaves.
        for suffix in ["", "-wal"] where Files.exists(folder.database + suffix) {
          try FileManager.default.copyItem(atPath: folder.database + suffix, toPath: copied.database + suffix)
        }
        return .rollback
      }
    }
    try queue.close()
    #expect(try Files.identity(of: copied.database + "-wal").size > 4096, "some of it had reached the disk")
    let store = try AssetStore(opening: copied.path)
    try Self.expectJobs(store)
    try store.close()
  }

  @Test(
    "F-67 a database of a newer version is refused clearly, and not touched", arguments: [false, true], [false, true])
  func downgrade(startsFresh: Bool, readsBesideWrites: Bool) throws {
    let folder = try AssetStoreTests.Folder()
    do {
      let store = try AssetStore(opening: folder.path)
      _ = try store.add([LedgerTests.sized("a", 1)], now: AssetStoreTests.moment())
      try store.close()
    }
    let queue = try DatabaseQueue(path: folder.database)
    try queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('4: of the future')") }
    try queue.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    try queue.close()
    let before = FileManager.default.contents(atPath: folder.database)
    var options = AssetStore.Options()
    options.startFresh = startsFresh
    options.readsBesideWrites = readsBesideWrites
    let left = try Files.identity(of: folder.database)
    // As that version leaves it when it is done.
    try Data("closed \(left.size) \(left.modified)\n".utf8).write(to: URL(fileURLWithPath: "\(folder.path)/lock"))
    let error = #expect(throws: StoreError.self) { try AssetStore(opening: folder.path, options: options) }
    #expect(error == .newer(path: folder.database))
    #expect(error?.description.contains("newer Outrider") == true)
    #expect(FileManager.default.contents(atPath: folder.database) == before, "nothing is changed")
    #expect(try Files.names(in: folder.path).allSatisfy { !$0.contains("damaged") })
    options.isReadOnly = true
    #expect(throws: StoreError.newer(path: folder.database)) { try AssetStore(opening: folder.path, options: options) }
  }

  @Test("F-57 the store refuses numbers that can't be meant, and takes the others of the same call") func numbers()
    throws
  {
    let folder = try AssetStoreTests.Folder()
    let store = try AssetStore(opening: folder.path)
    try store.budgets.set("app", allows: .max)
    let largest = DownloadSpecification.largestSize
    var specifications = [.min, -1, largest + 1, .max, 0, largest, nil].map { (size: Int64?) in
      LedgerTests.sized("\(size ?? 7)", size)
    }
    for priority in [Int.min, -101, 101, .max] {
      var specification = LedgerTests.sized("priority \(priority)", 1)
      specification.priority = priority
      specifications.append(specification)
    }
    let results = try store.add(specifications, now: AssetStoreTests.moment())
    for (index, result) in results.enumerated() {
      if case .invalid(let why) = result {
        #expect(!(4...6).contains(index) && !why.isEmpty)
      } else {
        #expect((4...6).contains(index) && result.job != nil, "\(result)")
      }
    }
    // Reservations of any size are refused or booked, and never end the process.
    let id = try #require(results[4].job)
    for bytes in [Int64.max, .min, -1, 0, .max - 1] { _ = try? store.reserve(bytes, for: id) }
    let budget = try #require(try store.budgets.budget("app"))
    #expect(budget.available() >= 0 && budget.available(forManifest: true) >= 0)
    #expect(try store.add([LedgerTests.sized("last", 1)], now: AssetStoreTests.moment()).count == 1)
  }

  @Test("F-57 any numbers in a budget: what is available stays within 0 and what is allowed") func budgets() {
    let numbers: [Int64] = [0, 1, 1 << 20, (1 << 20) + 1, .max - 1, .max]
    for allowed in numbers {
      for charged in numbers {
        for reserved in numbers {
          for manifest in numbers {
            let budget = Budget(
              allowed: allowed, charged: charged, reserved: reserved, manifestCharged: manifest,
              manifestReserved: reserved)
            #expect((0...allowed).contains(budget.available()))
            #expect((0...max(allowed, 1 << 20)).contains(budget.available(forManifest: true)))
          }
        }
      }
    }
  }

  @Test("F-57 any numbers of a volume: no sum overflows") func space() {
    let numbers: [Int64] = [0, 1, 512 << 20, .max - 1, .max]
    let policy = FreeSpacePolicy()
    for need in numbers + [.min, -1] {
      for free in numbers {
        for reserved in numbers {
          for total in numbers {
            let isAllowed = policy.allows(
              need: need, free: free, reserved: DiskReservation(bytes: reserved), total: total, freeInodes: nil)
            #expect(!isAllowed || free >= reserved && free >= need)
            #expect(policy.purgeTarget(need: need, total: total) >= max(need, policy.floor(total: total)))
          }
        }
      }
    }
  }
}
