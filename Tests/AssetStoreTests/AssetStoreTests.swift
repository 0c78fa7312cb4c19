import AssetModel
import AssetStore
import Foundation
import LinuxSystem
import TestSupport
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(1))) struct AssetStoreTests {
  final class Folder {
    let path: String
    init(in root: String = "/tmp") throws { path = try Files.temporaryDirectory(in: root, prefix: "outrider-store-") }
    deinit { Files.removeTree(path) }
    var database: String { "\(path)/\(AssetStore.databaseName)" }
  }

  static func moment(_ second: Int64 = 0) -> StoredMoment {
    StoredMoment(bootIdentifier: "boot", boot: second * 1_000_000_000, wall: second * 1_000_000_000)
  }

  static func specification(_ identifier: String = "file", app: String = "app", url: String = "https://a.example/file")
    -> DownloadSpecification
  {
    DownloadSpecification(
      app: app, identifier: identifier, url: url, headers: [Download.Header(name: "X-A", value: "b\tc ü")],
      transferClass: .essential,
      isEssential: true, priority: -7, declaredSize: 123_456_789_012,
      digest: ContentDigest(.sha512, bytes: [UInt8](repeating: 9, count: 64)),
      chunks: ChunkList(chunkSize: 4 << 20, totalSize: 9 << 20, digests: [UInt8](repeating: 3, count: 96)),
      mirrors: ["https://b.example/file", "https://c.example/ü"], directory: "/a/b",
      fileName: "c", allowedDomains: ["*.example.com", "b"], budget: nil)
  }

  @Test func aJobComesBackAsItWas() throws {
    let folder = try Folder()
    var expected: JobRecord?
    do {
      let store = try AssetStore(opening: folder.path)
      let id = try #require(try store.add([Self.specification("../../x\0y \u{202e}ü")], now: Self.moment(5))[0].job)
      var job = try #require(try store.job(id))
      #expect(
        job == JobRecord(id: id, specification: Self.specification("../../x\0y \u{202e}ü"), enqueued: Self.moment(5)))
      job.transferClass = .foreground
      job.generation = 3
      job.partial = Partial(
        stagingName: "name",
        entity: Entity(
          strongTag: "\"x\"", weakTag: "\"w\"", lastModified: "then", total: 77, coding: "gzip",
          finalURL: "https://b.example/",
          reprDigest: ContentDigest(.sha256, bytes: [UInt8](repeating: 1, count: 32))),
        checkpoints: (1...4).map {
          Partial.Checkpoint(offset: $0 << 23, tailDigest: [UInt8](repeating: UInt8($0), count: 32))
        },
        verifiedChunks: [7], bootIdentifier: "boot", device: .max, inode: 1 << 63)
      job.history.fruitlessAttempts = 4
      job.history.triedBareRange = true
      job.history.highWater = 1 << 40
      job.history.honouredRedirect = true
      job.history.bannedSources = 1 << 63 | 2
      job.receivedBytes = 99
      job.wait = StoredWait(since: Self.moment(6), length: 77)
      job.lastProgress = Self.moment(7)
      job.noteError("no\nluck", .httpStatus(503))
      job.publishedInode = .max
      job.finalSize = 5
      try store.commit([
        .job(job),
        .origin(
          OriginRecord(
            origin: "https://a.example:443", retryAfter: job.wait, retryAfterValue: "9", rangeCondition: .ifMatch,
            rangeConditionWait: job.wait)),
      ])
      expected = job
      try store.close()
    }
    let store = try AssetStore(opening: folder.path)
    let id = try #require(expected?.id)
    #expect(try store.job(id) == expected)
    #expect(
      try store.origins() == [
        OriginRecord(
          origin: "https://a.example:443", retryAfter: expected?.wait, retryAfterValue: "9", rangeCondition: .ifMatch,
          rangeConditionWait: expected?.wait)
      ])
    var summaries: [JobSummary] = []
    try store.forEachOpenJob { summaries.append($0) }
    #expect(
      summaries.map(\.id) == [id] && summaries[0].wait == expected?.wait
        && summaries[0].origin == "https://a.example:443")
  }

  @Test func duplicatesAreDecidedInOneTransaction() throws {
    let folder = try Folder()
    var options = AssetStore.Options()
    options.maxOpenJobsPerApp = 3
    let store = try AssetStore(opening: folder.path, options: options)
    let results = try store.add(
      [
        Self.specification(), Self.specification(), Self.specification(url: "https://b.example/"),
        Self.specification("2"), Self.specification("3"),
        Self.specification("4"), Self.specification(app: "other"),
      ], now: Self.moment())
    let first = try #require(results[0].job)
    #expect(
      results[1] == .alreadyScheduled(first) && results[2] == .conflict(first) && results[5] == .tooMany(limit: 3))
    #expect(results[3].job != nil && results[4].job != nil && results[6].job != nil)
    var job = try #require(try store.job(first))
    job.state = .cancelled
    try store.commit([.job(job)])
    #expect(
      try store.add([Self.specification(url: "https://b.example/")], now: Self.moment())[0].job != nil,
      "a settled one is no duplicate")
  }

  @Test func whoElseHasAFileMayChange() throws {
    let folder = try Folder()
    let store = try AssetStore(opening: folder.path)
    var specification = Self.specification()
    let id = try #require(try store.add([specification], now: Self.moment())[0].job)
    var job = try #require(try store.job(id))
    job.history.bannedSources = 2
    try store.commit([.job(job)])
    #expect(try store.add([specification], now: Self.moment())[0] == .alreadyScheduled(id))
    #expect(try store.job(id)?.history.bannedSources == 2)
    specification.mirrors = ["https://d.example/"]
    #expect(try store.add([specification], now: Self.moment())[0] == .alreadyScheduled(id))
    #expect(try store.job(id)?.specification == specification)
    #expect(try store.job(id)?.history.bannedSources == 0, "it was said of another one")
    specification.mirrors = Array(repeating: "https://d.example/", count: 17)
    guard case .invalid = try store.add([specification], now: Self.moment())[0] else {
      Issue.record("seventeen mirrors")
      return
    }
  }

  @Test func anOlderGenerationAndASettledJobStayAsTheyAre() throws {
    let folder = try Folder()
    let store = try AssetStore(opening: folder.path)
    let id = try #require(try store.add([Self.specification()], now: Self.moment())[0].job)
    var job = try #require(try store.job(id))
    job.generation = 5
    try store.commit([.job(job)])
    var late = job
    late.generation = 4
    late.receivedBytes = 1000
    try store.commit([.job(late)])
    #expect(try store.job(id) == job)
    job.state = .failed(TransferFailure(.digestMismatch, status: 200, hop: 2, errno: 5, detail: "why"))
    try store.commit([.job(job)])
    var afterwards = job
    afterwards.state = .finished
    try store.commit([.job(afterwards), .job(afterwards)])
    #expect(try store.job(id) == job)
    #expect(try store.deliveries.pending() == [id], "due once")
    let specification = job.specification
    try store.deliveries.acknowledge(app: specification.app, identifier: "another")
    #expect(try store.deliveries.pending() == [id])
    try store.deliveries.acknowledge(app: specification.app, identifier: specification.identifier)
    try store.commit([.job(afterwards)])
    #expect(try store.deliveries.pending().isEmpty, "what was acknowledged once isn't due again")
  }

  @Test func budgetsAreNeverPromisedTwice() throws {
    let folder = try Folder()
    let store = try AssetStore(opening: folder.path)
    // 1 MiB is the manifest's.
    try store.budgets.set("app", allows: 250 + (1 << 20))
    func sized(_ name: String) -> DownloadSpecification {
      DownloadSpecification(
        app: "app", identifier: name, url: "https://a.example/", transferClass: .essential, isEssential: true,
        declaredSize: 100, directory: "/", fileName: "f",
        budget: "app")
    }
    let results = try store.add([sized("1"), sized("2"), sized("3")], now: Self.moment())
    #expect(results[0].job != nil && results[1].job != nil && results[2] == .allowance(missing: 50))
    let first = try #require(results[0].job)
    var job = try #require(try store.job(first))
    job.receivedBytes = 40
    try store.commit([.job(job)])
    job.state = .cancelled
    try store.commit([.job(job)])
    // 40 are charged, 100 reserved: 110 are left.
    #expect(try store.add([sized("3"), sized("4")], now: Self.moment())[1] == .allowance(missing: 90))
  }

  @Test func theSecondProcessIsToldWhoHoldsIt() throws {
    let folder = try Folder()
    let store = try AssetStore(opening: folder.path)
    // flock tells two descriptions of one process apart as well.
    let error = #expect(throws: StoreError.self) { try AssetStore(opening: folder.path) }
    guard case .heldBy(getpid(), _, 1..., folder.path)? = error else { throw error ?? StoreError.newer(path: "") }
    var options = AssetStore.Options()
    options.isReadOnly = true
    let reader = try AssetStore(opening: folder.path, options: options)
    #expect(try reader.job(JobID(1)) == nil)
    try store.close()
  }

  @Test(arguments: ["lock", AssetStore.databaseName], [true, false])
  func whatIsNoFileIsRefused(name: String, isPipe: Bool) throws {
    let folder = try Folder()
    let path = "\(folder.path)/\(name)"
    #expect(isPipe ? mkfifo(path, 0o600) == 0 : mkdir(path, 0o700) == 0)
    for startFresh in [false, true] {
      var options = AssetStore.Options()
      options.startFresh = startFresh
      let error = #expect(throws: StoreError.self) { try AssetStore(opening: folder.path, options: options) }
      guard case .unusable(path, _, _)? = error else { throw error ?? StoreError.newer(path: "") }
    }
    #expect(AssetStore.holder(of: folder.path) == nil)
  }

  @Test("what SQLite keeps beside the database has to be a file, too", arguments: ["-wal", "-shm"])
  func folderBesideIt(suffix: String) throws {
    let folder = try Folder()
    try AssetStore(opening: folder.path).close()
    unlink(folder.database + suffix)
    try #require(mkdir(folder.database + suffix, 0o700) == 0)
    let error = #expect(throws: StoreError.self) { try AssetStore(opening: folder.path) }
    guard case .unusable(folder.database + suffix, _, _)? = error else { throw error ?? StoreError.newer(path: "") }
  }

  @Test("of a database that is gone no copy is kept, nor named") func gone() throws {
    let folder = try Folder()
    try AssetStore(opening: folder.path).close()
    unlink(folder.database)
    try Data([1]).write(to: URL(fileURLWithPath: folder.database + "-wal"))
    for _ in 0..<2 {
      let error = #expect(throws: StoreError.self) { try AssetStore(opening: folder.path) }
      guard case .corrupt(_, _, "")? = error else { throw error ?? StoreError.newer(path: "") }
    }
    #expect(try Files.names(in: folder.path).allSatisfy { !$0.contains("damaged") })
  }

  @Test(arguments: 0..<6) func damageIsKeptAndTold(kind: Int) throws {
    let folder = try Folder()
    do {
      let store = try AssetStore(opening: folder.path)
      _ = try store.add((0..<200).map { Self.specification("\($0)") }, now: Self.moment())
      try store.close()
    }
    var data = try #require(FileManager.default.contents(atPath: folder.database))
    switch kind {
    case 0:
      data = Data(
        "this is no database at all, and it is long enough to be looked at as one ............................".utf8)
    case 1: data = data.prefix(data.count / 2)
    case 2: for index in stride(from: 4096, to: data.count, by: 64) { data[index] ^= 0xff }
    case 3: data[30] ^= 0xff
    case 4: data = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    default: for index in 100..<4096 { data[index] = 0 }
    }
    try data.write(to: URL(fileURLWithPath: folder.database))
    let error = #expect(throws: StoreError.self) { try AssetStore(opening: folder.path) }
    guard case .corrupt(_, _, let copy)? = error else { throw error ?? StoreError.newer(path: "") }
    #expect(FileManager.default.contents(atPath: copy) == data, "a copy is kept")
    try FileManager.default.removeItem(atPath: copy)
    var looking = AssetStore.Options()
    looking.isReadOnly = true
    #expect(throws: StoreError.self) { try AssetStore(opening: folder.path, options: looking) }
    #expect(!Files.exists(copy), "who only looks writes nothing")
    #expect(throws: StoreError.self) { try AssetStore(opening: folder.path) }
    #expect(FileManager.default.contents(atPath: folder.database) == data, "nothing is changed")
    var options = AssetStore.Options()
    options.startFresh = true
    // The backup that closing made takes its place; without one, an empty database does.
    let restored = try AssetStore(opening: folder.path, options: options)
    #expect(restored.recovery.copy == copy && restored.recovery.backup != nil)
    #expect(try restored.job(JobID(200)) != nil)
    try restored.close()
    // One that can't be read doesn't hide the one before it.
    try FileManager.default.removeItem(atPath: "\(folder.database).backup")
    #expect(symlink("\(AssetStore.databaseName).backup-previous", "\(folder.database).backup") == 0)
    try data.write(to: URL(fileURLWithPath: folder.database))
    let older = try AssetStore(opening: folder.path, options: options)
    #expect(older.recovery.backup?.hasSuffix("backup-previous") == true)
    #expect(try older.job(JobID(200)) != nil)
    try older.close()
    for suffix in ["backup", "backup-previous"] {
      try? FileManager.default.removeItem(atPath: "\(folder.database).\(suffix)")
    }
    try data.write(to: URL(fileURLWithPath: folder.database))
    let fresh = try AssetStore(opening: folder.path, options: options)
    #expect(fresh.recovery.damage != nil && fresh.recovery.backup == nil)
    #expect(try fresh.job(JobID(1)) == nil)
  }

  @Test func foldersThatCantBeUsed() throws {
    let folder = try Folder()
    #expect(throws: StoreError.self) { try AssetStore(opening: "\(folder.path)/missing") }
    _ = FileManager.default.createFile(atPath: "\(folder.path)/file", contents: nil)
    #expect(throws: StoreError.self) { try AssetStore(opening: "\(folder.path)/file") }
    try FileManager.default.createDirectory(atPath: "\(folder.path)/open", withIntermediateDirectories: false)
    chmod("\(folder.path)/open", 0o777)
    #expect(throws: StoreError.self) { try AssetStore(opening: "\(folder.path)/open") }
  }

  /// Random changes, against a dictionary; reopened again and again.
  @Test(arguments: 1...5 as ClosedRange<UInt64>) func agreesWithItsModel(seed: UInt64) throws {
    var state = seed
    func random(_ limit: UInt64) -> UInt64 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return (state >> 33) % limit
    }
    let folder = try Folder()
    var store = try AssetStore(opening: folder.path)
    var model: [JobID: JobRecord] = [:]
    for step in 0..<400 {
      switch random(6) {
      case 0, 1:
        let specification = Self.specification("\(random(20))", app: "app\(random(3))")
        let open = model.values.first { $0.specification == specification && !$0.state.isTerminal }
        let result = try store.add([specification], now: Self.moment(Int64(step)))[0]
        if let open {
          #expect(result == .alreadyScheduled(open.id), "seed \(seed), step \(step)")
        } else {
          let id = try #require(result.job)
          let generation =
            model.values.filter { $0.specification == specification }.max { $0.id < $1.id }?.generation ?? 0
          model[id] = JobRecord(
            id: id, specification: specification, generation: generation + 1, enqueued: Self.moment(Int64(step)))
        }
      case 2 where random(4) == 0:
        try store.close()
        store = try AssetStore(opening: folder.path)
      default:
        guard
          var job = model.values.sorted(by: { $0.id < $1.id }).dropFirst(Int(random(UInt64(max(1, model.count))))).first
        else { continue }
        let old = job
        job.generation = max(1, job.generation + Int(random(3)) - 1)
        job.receivedBytes = Int64(random(1000))
        job.state = [.open, .paused, .verified, .finished, .cancelled][Int(random(5))]
        try store.commit([.job(job)])
        if !old.state.isTerminal, job.generation >= old.generation { model[job.id] = job }
      }
    }
    for (id, job) in model { #expect(try store.job(id) == job, "seed \(seed)") }
    #expect(
      Set(try store.deliveries.pending()) == Set(model.values.filter { $0.state == .finished }.map(\.id)))
  }
}
