import AssetModel
import AssetStore
import DevelopmentOrigin
import Foundation
import Glibc
import LinuxSystem
import Testing

@testable import Downloads

/// F-42: the journal is lost or damaged while a job is half done, and its chunks are found by their digests.
@Suite(.serialized, .timeLimit(.minutes(2))) struct SalvageFaultTests {
  enum Damage: String, CaseIterable, Sendable { case torn, emptied, deleted, overwritten }
  enum Backup: String, CaseIterable, Sendable { case none, older, newest }

  private static func damage(_ database: String, _ kind: Damage) throws {
    switch kind {
    case .torn: #expect(truncate(database, 4096 * 5) == 0)
    case .emptied: #expect(truncate(database, 0) == 0)
    case .deleted: for suffix in ["", "-wal", "-shm"] { unlink(database + suffix) }
    case .overwritten:
      try Data((0..<40_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }).write(to: URL(fileURLWithPath: database))
    }
  }

  @Test(
    "F-42 the journal is torn, emptied, deleted or overwritten while a job is half done: only what is missing is asked for",
    arguments: Damage.allCases, Backup.allCases)
  func lostJournal(kind: Damage, backup: Backup) async throws {
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in nth == 1 ? .half : nil }
    }
    defer { origin.stop() }
    let state = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-state-")
    defer { Files.removeTree(state) }
    let database = "\(state)/\(AssetStore.databaseName)"
    var first: Harness?
    var specification: DownloadSpecification?
    do {
      let store = try AssetStore(opening: state)
      // Of a time when there was no such job.
      if backup == .older { try store.backUpIfDue() }
      let harness = try Harness(clock: TestClock(jumpsWhenIdle: false), store: store)
      first = harness
      let wanted = harness.specification(origin.url(Trial.path), .background, chunks: Trial.chunks)
      specification = wanted
      let events = harness.engine.events
      let id = try #require(try await harness.engine.add([wanted])[0].job)
      #expect(try await events.waiting(id).code == .retrying)
      await harness.engine.close()
      // Closing makes a backup of its own.
      try store.close()
      if backup != .newest { unlink(database + ".backup") }
      if backup == .older {
        #expect(rename(database + ".backup-previous", database + ".backup") == 0)
      } else {
        unlink(database + ".backup-previous")
      }
    }
    let harness = try #require(first)
    try Self.damage(database, kind)

    var options = AssetStore.Options()
    if kind != .deleted || backup != .none {
      let error = #expect(throws: StoreError.self) { try AssetStore(opening: state) }
      guard case .corrupt(database, let why, _)? = error else { throw Unexpected("\(String(describing: error))") }
      #expect(!why.isEmpty)
      options.startFresh = true
    }
    let store = try AssetStore(opening: state, options: options)
    #expect((store.recovery.backup != nil) == (backup != .none))
    #expect((store.recovery.damage != nil) == options.startFresh)
    #expect(try (store.job(app: "app", identifier: "file") != nil) == (backup == .newest))

    origin.reset()
    // Not taken up before there is a listener.
    let second = try Harness(folder: harness.folder, store: store) { $0.takesUpOpenJobs = false }
    let events = second.engine.events
    let result = try await second.engine.add([try #require(specification)])[0]
    let id: JobID
    switch result {
    case .added(let added, _): id = added
    case .alreadyScheduled(let known):
      id = known
      second.engine.resume(known)
    default: throw Unexpected("\(result)")
    }
    #expect(try await second.end(of: id, in: events).isFinished)
    await second.engine.close()
    #expect(second.contents() == Trial.bytes)
    #expect(origin.requests.map { $0.header("Range") } == ["bytes=\(2 << 20)-\(Trial.size - 1)"], "only the rest")
    #expect(second.staged.isEmpty)
    #expect(try store.deliveries.pending().count == 1, "one callback")
    try store.close()
  }

  /// What lies under the staging name when a job with a chunk list begins, and what is asked for then.
  private func fetch(
    files: any FileOperations = SystemFiles(), plant: (String, _ folder: String) throws -> Void
  ) async throws -> (harness: Harness, ranges: [String?]) {
    let folder = try Harness.folderWithStaging()
    try plant(Harness.staging(folder), folder)
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let harness = try Harness(folder: folder, files: files)
    let end = try await harness.fetch(
      harness.specification(origin.url(Trial.path), .background, chunks: Trial.chunks))
    #expect(end == .finished("\(folder)/file", Int64(Trial.size)), "\(end)")
    await harness.engine.close()
    #expect(harness.contents() == Trial.bytes)
    #expect(harness.staged.isEmpty)
    return (harness, origin.requests.map { $0.header("Range") })
  }

  private static let everything: [String?] = ["bytes=0-\(Trial.size - 1)"]

  enum Planted: String, CaseIterable, Sendable { case link, hardLink, fifo, foreignOwner, empty, noise }

  @Test(
    "F-42 what is planted under the staging name is never taken for chunks",
    arguments: Planted.allCases.filter { $0 != .foreignOwner })
  func planted(kind: Planted) async throws { try await isNotTaken(kind) }

  @Test(
    "F-42 what another program has put under the staging name is never taken for chunks",
    .enabled(if: geteuid() == 0, "only root can give a file away"))
  func plantedByOthers() async throws { try await isNotTaken(.foreignOwner) }

  private func isNotTaken(_ kind: Planted) async throws {
    var victim = ""
    let (harness, ranges) = try await fetch { place, folder in
      victim = "\(folder)/victim"
      // Every chunk of it would be right.
      try Trial.bytes.write(to: URL(fileURLWithPath: victim))
      switch kind {
      case .link: #expect(symlink(victim, place) == 0)
      case .hardLink: #expect(link(victim, place) == 0)
      case .fifo: #expect(mkfifo(place, 0o600) == 0)
      case .foreignOwner:
        try Trial.bytes.write(to: URL(fileURLWithPath: place))
        #expect(chown(place, 65534, 65534) == 0)
      case .empty: #expect(FileManager.default.createFile(atPath: place, contents: nil))
      case .noise:
        try Data(Content.pseudoRandom(seed: 1, count: Trial.size).bytes).write(to: URL(fileURLWithPath: place))
      }
    }
    #expect(ranges == Self.everything)
    #expect(FileManager.default.contents(atPath: victim) == Trial.bytes, "what was there stays as it is")
    #expect(try Files.identity(of: victim).inode != Files.identity(of: "\(harness.folder)/file").inode)
  }

  @Test("F-42 a file that is longer than its chunks: the surplus isn't handed over") func longer() async throws {
    let (_, ranges) = try await fetch { place, _ in
      try (Trial.bytes + Data("surplus".utf8)).write(to: URL(fileURLWithPath: place))
    }
    #expect(ranges.isEmpty, "all of it was there: \(ranges)")
  }

  @Test("F-42 wrong chunks, and a last one that is cut: those are asked for, no others") func wrongChunks() async throws
  {
    let (_, ranges) = try await fetch { place, _ in
      var data = Trial.bytes
      for chunk in [3, 4, 10] { data[chunk * Trial.chunkSize + 5] ^= 1 }
      try data.dropLast(1).write(to: URL(fileURLWithPath: place))
    }
    let size = Trial.chunkSize
    let last = (Trial.size - 1) / size * size
    #expect(
      ranges == [
        "bytes=\(3 * size)-\(5 * size - 1)", "bytes=\(10 * size)-\(11 * size - 1)", "bytes=\(last)-\(Trial.size - 1)",
      ])
  }

  @Test("F-42 a journal that counts generations anew finds the file of a later one") func laterGeneration() async throws
  {
    let (_, ranges) = try await fetch { _, folder in
      try Trial.bytes.prefix(1 << 20).write(
        to: URL(fileURLWithPath: Harness.staging(folder, generation: 3)))
      try Data("useless".utf8).write(to: URL(fileURLWithPath: Harness.staging(folder)))
    }
    #expect(ranges == ["bytes=\(1 << 20)-\(Trial.size - 1)"])
  }

  @Test("F-42 no descriptor is left when the file is looked for: its bytes aren't thrown away") func noDescriptor()
    async throws
  {
    // The third: after the two staging directories.
    let files = FaultyFiles(.open, 3, EMFILE)
    let (_, ranges) = try await fetch(files: files) { place, _ in try Trial.bytes.write(to: URL(fileURLWithPath: place))
    }
    #expect(ranges.isEmpty, "\(ranges)")
    #expect(files.count(.open) > 3)
  }

  @Test("F-42 chunks that are found are on the disk before the journal calls them durable") func durable() async throws
  {
    let folder = try Harness.folderWithStaging()
    try Trial.bytes.prefix(1 << 20).write(to: URL(fileURLWithPath: Harness.staging(folder)))
    let origin = try Origin { $0.resources[Trial.path] = Resource(Trial.content) }
    defer { origin.stop() }
    let files = FaultyFiles(.synchronizeData, 1, EIO)
    let harness = try Harness(folder: folder, clock: TestClock(jumpsWhenIdle: false), files: files)
    let events = harness.engine.events
    let id = try #require(
      try await harness.engine.add([harness.specification(origin.url(Trial.path), .background, chunks: Trial.chunks)])[
        0
      ]
      .job)
    #expect(try await events.waiting(id).code == .volume)
    #expect(try harness.journal.job(id)?.partial == nil, "nothing is durable that wasn't synchronised")
    #expect(origin.requests.isEmpty)
    harness.engine.resume(id)
    #expect(try await harness.end(of: id, in: events).isFinished)
    #expect(harness.contents() == Trial.bytes)
    await harness.engine.close()
  }

  enum Change: String, CaseIterable, Sendable { case shorter, longer, rotten }

  @Test("F-42 the file isn't what the journal says of its chunks any more", arguments: Change.allCases)
  func changedBehindItsBack(change: Change) async throws {
    let origin = try Origin {
      $0.resources[Trial.path] = Resource(Trial.content)
      $0.handler = { _, nth in nth == 1 ? .half : nil }
    }
    defer { origin.stop() }
    let first = try Harness(clock: TestClock(jumpsWhenIdle: false))
    let events = first.engine.events
    let id = try #require(
      try await first.engine.add([first.specification(origin.url(Trial.path), .background, chunks: Trial.chunks)])[0]
        .job)
    _ = try await events.waiting(id)
    await first.engine.close()
    let place = Harness.staging(first.folder)
    switch change {
    case .shorter: #expect(truncate(place, 1 << 20) == 0)
    case .longer: #expect(truncate(place, 9 << 20) == 0)
    case .rotten:
      let handle = try FileHandle(forUpdating: URL(fileURLWithPath: place))
      try handle.seek(toOffset: UInt64((2 << 20) - 1))
      try handle.write(contentsOf: Data([Trial.bytes[(2 << 20) - 1] ^ 1]))
      try handle.close()
    }
    origin.reset()
    let second = try Harness(
      folder: first.folder, journal: MemoryJournal(after: first.journal), clock: TestClock(boot: "the next boot")
    ) { $0.takesUpOpenJobs = false }
    let later = second.engine.events
    second.engine.resume(id)
    #expect(try await second.end(of: id, in: later) == .finished("\(first.folder)/file", Int64(Trial.size)))
    await second.engine.close()
    #expect(second.contents() == Trial.bytes)
    let from =
      switch change {
      case .shorter: 1 << 20
      case .longer: 2 << 20
      case .rotten: (2 << 20) - Trial.chunkSize
      }
    #expect(origin.requests.first?.header("Range") == "bytes=\(from)-\(Trial.size - 1)")
  }
}
