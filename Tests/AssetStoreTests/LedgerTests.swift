import AssetModel
import Foundation
import LinuxSystem
import TestSupport
import Testing

@testable import AssetStore

@Suite(.ownThreads, .timeLimit(.minutes(1))) struct LedgerTests {
  static func sized(
    _ name: String, _ size: Int64?, in directory: String = "/", isManifest: Bool = false
  ) -> DownloadSpecification {
    DownloadSpecification(
      app: "app", identifier: name, url: "https://a.example/", transferClass: .essential, isEssential: true,
      declaredSize: size, directory: directory, fileName: "f", budget: "app", isManifest: isManifest)
  }

  @Test func aManifestIsAlwaysLetIn() throws {
    let folder = try AssetStoreTests.Folder()
    let store = try AssetStore(opening: folder.path)
    try store.budgets.set("app", allows: 3 << 20)
    let now = AssetStoreTests.moment()
    let results = try store.add(
      [Self.sized("all", 2 << 20), Self.sized("more", 1), Self.sized("m", 1 << 20, isManifest: true)], now: now)
    #expect(results[0].job != nil && results[1] == .allowance(missing: 1) && results[2].job != nil)
    // It used all that there is; the next manifest may come nevertheless, within its part.
    var manifest = try #require(try store.job(JobID(2)))
    manifest.receivedBytes = 1 << 20
    manifest.state = .finished
    try store.commit([.job(manifest)])
    #expect(try store.budgets.budget("app")?.manifestCharged == 1 << 20)
    let again = try store.add(
      [Self.sized("m2", (1 << 20) + 1, isManifest: true), Self.sized("m2", nil, isManifest: true)], now: now)
    #expect(again[0] == .allowance(missing: 1) && again[1].job != nil)
  }

  @Test("A manifest has its part once, however often it asks for more [F-66]") func aManifestHasOnePart() throws {
    let folder = try AssetStoreTests.Folder()
    let store = try AssetStore(opening: folder.path)
    try store.budgets.set("app", allows: 0)
    let id = try #require(try store.add([Self.sized("m", nil, isManifest: true)], now: AssetStoreTests.moment())[0].job)
    var job = try #require(try store.job(id))
    job.receivedBytes = 700_000
    try store.commit([.job(job)])
    #expect(try store.reserve(1, for: id) == 1, "all of it was reserved when it was added")
    job.receivedBytes = 1 << 20
    try store.commit([.job(job)])
    #expect(try store.reserve(300_000, for: id) == 300_000)
    // What else there is may be a manifest's as well.
    try store.budgets.set("app", allows: (1 << 20) + 300_000)
    #expect(try store.reserve(300_001, for: id) == 1)
    #expect(try store.reserve(300_000, for: id) == nil)
    #expect(try store.budgets.budget("app")?.manifestReserved == 300_000)
  }

  @Test func moreIsReservedBeforeItIsUsed() throws {
    let folder = try AssetStoreTests.Folder()
    let store = try AssetStore(opening: folder.path)
    try store.budgets.set("app", allows: 100 + (1 << 20))
    let id = try #require(try store.add([Self.sized("a", 60)], now: AssetStoreTests.moment())[0].job)
    #expect(try store.reserve(41, for: id) == 1)
    #expect(try store.reserve(40, for: id) == nil)
    #expect(try store.budgets.budget("app")?.available() == 0)
    var job = try #require(try store.job(id))
    job.receivedBytes = 70
    try store.commit([.job(job)])
    #expect(try store.budgets.budget("app")?.reserved == 30)
    job.state = .failed(TransferFailure(.gone, detail: ""))
    try store.commit([.job(job)])
    #expect(try store.budgets.budget("app")?.available() == 30)
    #expect(throws: StoreError.self) { _ = try store.reserve(1, for: id) }
  }

  @Test func theDiskIsBookedPerVolume() throws {
    let folder = try AssetStoreTests.Folder()
    var store = try AssetStore(opening: folder.path)
    let device = try Files.identity(of: folder.path).device
    _ = try store.add(
      [Self.sized("a", 60, in: folder.path), Self.sized("b", 40, in: folder.path)], now: AssetStoreTests.moment())
    #expect(try store.disk.reservation(device: device) == DiskReservation(bytes: 100, inodes: 2))
    var job = try #require(try store.job(JobID(1)))
    job.state = .cancelled
    try store.commit([.job(job)])
    // Another boot: the volumes are looked at again.
    try store.settings.set("boot", to: "another")
    try store.close()
    store = try AssetStore(opening: folder.path)
    #expect(try store.disk.reservation(device: device) == DiskReservation(bytes: 40, inodes: 1))
  }

  @Test("A boot that an earlier version wrote down with the end of its line is the same one")
  func sameBoot() throws {
    let folder = try AssetStoreTests.Folder()
    var store = try AssetStore(opening: folder.path)
    _ = try store.add([Self.sized("a", 60, in: folder.path)], now: AssetStoreTests.moment())
    let boot = try #require(try store.settings["boot"])
    #expect(boot == BootIdentifier.current)
    for (written, isLookedAtAgain) in [(boot + "\n", false), (boot, false), ("another", true)] {
      try store.database.write { try $0.execute(sql: "UPDATE jobs SET volume = 4711") }
      try store.settings.set("boot", to: written)
      try store.close()
      store = try AssetStore(opening: folder.path)
      #expect(try store.disk.reservation(device: 4711).bytes == (isLookedAtAgain ? 0 : 60), "\(written)")
    }
  }

  @Test func namesAreTheirBytes() throws {
    let folder = try AssetStoreTests.Folder()
    let store = try AssetStore(opening: folder.path)
    let names = ["e\u{301}", "\u{e9}", "a", "A", "a\0", "a\0b", "../x", "\u{202e}x", ""]
    let results = try store.add(names.map { Self.sized($0, 1) }, now: AssetStoreTests.moment())
    #expect(results.allSatisfy { $0.job != nil })
    for (name, result) in zip(names, results) {
      #expect(try store.job(app: "app", identifier: name)?.id == result.job)
    }
    var other = Self.sized("a", 1)
    other.fileName = "e\u{301}"
    other.identifier = "new"
    let first = try #require(try store.add([other], now: AssetStoreTests.moment())[0].job)
    other.fileName = "\u{e9}"
    #expect(
      try store.add([other], now: AssetStoreTests.moment()) == [.conflict(first)], "canonically equivalent isn't equal")
    #expect(throws: StoreError.tooLong(field: "identifier", bytes: 65_536, limit: 1024)) {
      _ = try store.add(
        [Self.sized("good", 1), Self.sized(String(repeating: "x", count: 65_536), 1)], now: AssetStoreTests.moment())
    }
    #expect(try store.job(app: "app", identifier: "good") == nil)
  }

  @Test func aNameUsedAgainContinuesItsGenerations() throws {
    let folder = try AssetStoreTests.Folder()
    let store = try AssetStore(opening: folder.path)
    for generation in 1...3 {
      let id = try #require(try store.add([Self.sized("a", 1)], now: AssetStoreTests.moment())[0].job)
      var job = try #require(try store.job(id))
      #expect(job.generation == generation)
      job.state = .cancelled
      try store.commit([.job(job)])
    }
  }

  @Test func historiesAreBounded() throws {
    let folder = try AssetStoreTests.Folder()
    var options = AssetStore.Options()
    options.keptEvents = 5
    options.keptRuns = 3
    let store = try AssetStore(opening: folder.path, options: options)
    let id = try #require(try store.add([Self.sized("a", 1)], now: AssetStoreTests.moment())[0].job)
    for number in 0..<30 as Range<Int64> {
      try store.commit([
        .attempt(Attempt(wall: number, duration: 1, bytes: 2, status: 503, outcome: "no"), id)
      ])
      try store.history.record(
        StoredEvent(wall: number, app: "app", kind: "k", detail: String(repeating: "ü", count: 5000)))
      try store.history.record(
        ExtensionRun(app: "app", wall: number, request: "r", outcome: "o", duration: 1, cpu: 1, memory: 1, detail: ""))
    }
    #expect(try store.history.attempts(of: id).map(\.wall) == Array(10..<30))
    #expect(try store.history.events().map(\.wall) == Array(25..<30))
    #expect(try store.history.events().allSatisfy { $0.detail.utf8.count == 4096 })
    #expect(try store.history.runs(of: "app").map(\.wall) == Array(27..<30))
  }

  @Test("What is over is forgotten by number and by age, but for what the service still has a row of")
  func forgetsUnscheduled() throws {
    let folder = try AssetStoreTests.Folder()
    let store = try AssetStore(opening: folder.path)
    var ids: [JobID] = []
    for number in 0..<10 {
      let specification = AssetStoreTests.specification("\(number)", app: "app")
      ids += try store.add([specification], now: AssetStoreTests.moment(Int64(number))).compactMap(\.job)
    }
    for id in ids where id != ids[1] {
      var job = try #require(try store.job(id))
      job.state = .finished
      job.publishedInode = UInt64(id.number)
      job.finalSize = 1
      try store.commit([.job(job)])
    }
    try store.service.commit([.scheduled(app: "app", identifier: "0", value: [1])])
    func files() throws -> Int { try ids.count { try store.files.finished(of: $0) != nil } }
    func left() throws -> [Int] { try ids.indices.filter { try store.job(ids[$0]) != nil } }
    #expect(try store.retention.forgetUnscheduled(app: "app", keeping: 5, before: 0) == 3)
    #expect(try left() == [0, 1, 5, 6, 7, 8, 9], "the open one and the one with a row stay")
    #expect(try files() == 6 && store.deliveries.pending().count == 6)
    #expect(try store.retention.forgetUnscheduled(app: "app", keeping: 5, before: 7_000_000_000) == 2)
    #expect(try left() == [0, 1, 7, 8, 9])
    try store.service.commit([.scheduled(app: "app", identifier: "0", value: nil)])
    #expect(try store.retention.forgetUnscheduled(app: "app", keeping: 0, before: 0) == 4)
    #expect(try store.retention.forgetUnscheduled(app: "other", keeping: 0, before: .max) == 0)
    #expect(try left() == [1])
  }

  @Test func forgetsWhatWasSettledAndTold() throws {
    let folder = try AssetStoreTests.Folder()
    let store = try AssetStore(opening: folder.path)
    let names = (0..<10).map { "\($0)" }
    let ids = try store.add(
      (names + ["other"]).map { AssetStoreTests.specification($0, app: $0 == "other" ? "other" : "app") },
      now: AssetStoreTests.moment()
    ).compactMap(\.job)
    for id in ids where id != ids[3] {
      var job = try #require(try store.job(id))
      job.state = .finished
      job.publishedInode = UInt64(id.number)
      job.finalSize = 1
      try store.commit([.job(job)])
    }
    #expect(try store.deliveries.pending().count == 10)
    #expect(try store.retention.forgetSettled(app: "app", keeping: 4) == 5)
    #expect(try store.deliveries.pending() == [ids[10]], "another app's are still due")
    #expect(try ids.map { try store.job($0) != nil }.filter { $0 }.count == 6)
    #expect(try store.job(ids[3])?.state == .open, "what is open stays")
    #expect(try ids.count { try store.files.finished(of: $0) != nil } == 5)
    #expect(try store.retention.forgetSettled(app: "app", keeping: 4) == 0)
    #expect(try store.retention.forgetSettled(app: "app", keeping: 0, sparing: [ids[8], ids[6]]) == 2)
    #expect(try store.job(ids[8]) != nil && store.job(ids[6]) != nil && store.job(ids[9]) == nil)
    #expect(try store.retention.forgetSettled(app: "app", keeping: 0) == 2, "what was spared once isn't for ever")
  }

  @Test func whatHappenedToADownloadLast() throws {
    let folder = try AssetStoreTests.Folder()
    let store = try AssetStore(opening: folder.path)
    let events = [(7, "a"), (8, "b"), (7, "c")].map {
      StoredEvent(wall: 1, app: "app", job: JobID($0.0), kind: $0.1, detail: "d")
    }
    try store.history.record(events)
    try store.history.record([])
    #expect(try store.history.lastEvent(of: JobID(7)) == events[2] && store.history.lastEvent(of: JobID(9)) == nil)
    #expect(try store.history.events() == events)
  }

  @Test func whoHasItIsSeenFromOutside() throws {
    let folder = try AssetStoreTests.Folder()
    #expect(AssetStore.holder(of: folder.path) == nil)
    let store = try AssetStore(opening: folder.path)
    #expect(AssetStore.holder(of: folder.path)?.pid == getpid())
    try store.close()
    #expect(AssetStore.holder(of: folder.path) == nil)
  }
}
