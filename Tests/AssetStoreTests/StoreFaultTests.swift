import AssetModel
import Foundation
import Glibc
import LinuxSystem
import Synchronization
import TestSupport
import Testing

@testable import AssetStore

/// F-52 and F-54, as far as the store is concerned: files that rot, or belong to an app that goes.
@Suite(.ownThreads, .timeLimit(.minutes(1))) struct StoreFaultTests {
  typealias Proof = FinishedFile.Proof
  typealias Scene = FinishedFile

  static let bytes = FinishedFile.bytes

  // MARK: F-52

  @Test("F-52 a finished file is read on request, and a rotten byte is found wherever it is", arguments: Proof.allCases)
  func rots(proof: Proof) throws {
    let scene = try Scene(proof)
    #expect(try scene.store.files.verify(file: scene.file) == (proof == .none ? .unproved : .sound))
    for offset in [0, 150_000, UInt64(bytes.count - 1)] {
      try scene.rot(at: offset)
      let verdict = try scene.store.files.verify(file: scene.file)
      if proof == .none {
        #expect(verdict == .unproved, "what isn't known isn't claimed")
      } else {
        guard case .damaged(let why) = verdict else { throw verdict }
        #expect(why.contains("digest"))
      }
      try Self.bytes.withUnsafeBytes { all in
        let handle = try FileHandle(forUpdating: URL(fileURLWithPath: scene.path))
        try handle.write(contentsOf: Data(all))
        try handle.close()
      }
    }
    #expect(try scene.store.files.verify(file: scene.file) == (proof == .none ? .unproved : .sound))
    #expect(try scene.store.files.all().count == 1, "looking changes nothing")
  }

  private var bytes: Data { Self.bytes }

  enum Change: String, CaseIterable, Sendable {
    case shorter, longer, gone, replaced, link, directory, fifo, folderGone
  }

  @Test("F-52 the app changed, replaced or removed the file", arguments: Change.allCases) func changed(change: Change)
    throws
  {
    let scene = try Scene()
    let path = scene.path
    switch change {
    case .shorter: #expect(truncate(path, 1000) == 0)
    case .longer: #expect(truncate(path, 400_000) == 0)
    case .gone: unlink(path)
    case .replaced:
      // Kept open, or the new file could have the old one's inode.
      #expect(rename(path, path + "-old") == 0)
      try Self.bytes.write(to: URL(fileURLWithPath: path))
    case .link:
      #expect(rename(path, path + "-old") == 0)
      #expect(symlink(path + "-old", path) == 0)
    case .directory:
      #expect(rename(path, path + "-old") == 0)
      #expect(mkdir(path, 0o700) == 0)
    case .fifo:
      #expect(rename(path, path + "-old") == 0)
      #expect(mkfifo(path, 0o600) == 0)
    case .folderGone: Files.removeTree("\(scene.folder.path)/files")
    }
    let verdict = try scene.store.files.verify(file: scene.file)
    switch change {
    case .shorter, .longer: if case .damaged = verdict {} else { Issue.record("\(verdict)") }
    case .gone, .folderGone: #expect(verdict == .missing)
    case .replaced, .link, .directory, .fifo: #expect(verdict == .exchanged)
    }
  }

  @Test("F-52 a disk that doesn't give the bytes back is told as that, and memory is one buffer") func unreadable()
    throws
  {
    let scene = try Scene()
    for number in 1...4 {
      let files = FailingFiles(.init(number: number, happens: false))
      #expect(try scene.store.files.verify(file: scene.file, files: files) == .unreadable(EIO), "operation \(number)")
    }
    let reading = ReadingFiles()
    #expect(try scene.store.files.verify(file: scene.file, files: reading) == .sound)
    #expect(reading.largest.withLock { $0 } <= 256 << 10 && reading.opened.withLock { $0 } == 1)
    #expect(throws: StoreError.self) { _ = try scene.store.files.verify(file: 99) }
  }

  @Test("F-52 a damaged file is evicted, fetched once again, and told; a second time an operator has to look")
  func evicted() throws {
    let scene = try Scene()
    try scene.store.files.setPurgeable(false, file: scene.file)
    try scene.rot(at: 5)
    let eviction = try scene.store.removal.evict(file: scene.file, because: "its digest is wrong")
    #expect(!Files.exists(scene.path))
    var repair = scene.specification
    repair.transferClass = .prefetch
    #expect(eviction.fetchAgain == repair && eviction.file.id == scene.file)
    #expect(try scene.store.files.file(of: scene.job)?.state == .purged, "its size says what it costs")
    let event = try #require(try scene.store.history.events().last)
    #expect(event.kind == "evicted" && event.app == "app" && event.detail == "its digest is wrong")
    #expect(throws: StoreError.self) { _ = try scene.store.removal.evict(file: scene.file, because: "") }

    let second = try Scene.finish(repair, .sha256, in: scene.store)
    #expect(try scene.store.job(second)?.generation == 2)
    let file = try #require(try scene.store.files.file(of: second)).id
    #expect(try scene.store.files.verify(file: file) == .sound)
    #expect(try scene.store.removal.evict(file: file, because: "again").fetchAgain == nil)
    #expect(try scene.store.history.events().count == 2)
  }

  @Test("F-52 what is in use isn't evicted; what lies at its place instead isn't touched") func notEvicted() throws {
    let scene = try Scene()
    try scene.store.files.pin(file: scene.file, connection: 1, reason: "lease")
    #expect(throws: StoreError.wrongState("file \(scene.file) is in use")) {
      _ = try scene.store.removal.evict(file: scene.file, because: "")
    }
    try scene.store.files.unpinAll(connection: 1)
    try scene.store.deliveries.begin(of: scene.job, to: "app")
    #expect(throws: StoreError.self) { _ = try scene.store.removal.evict(file: scene.file, because: "") }
    _ = try scene.store.deliveries.acknowledge(of: scene.job, fileMoved: true)
    #expect(rename(scene.path, scene.path + "-old") == 0)
    try Data("precious".utf8).write(to: URL(fileURLWithPath: scene.path))
    #expect(try scene.store.removal.evict(file: scene.file, because: "exchanged").fetchAgain != nil)
    #expect(FileManager.default.contents(atPath: scene.path) == Data("precious".utf8))
    #expect(try scene.store.files.file(of: scene.job)?.state == .missing)
  }

  @Test("F-52 a crash at any operation of an eviction is finished at the next start") func interruptedEviction() throws
  {
    var number = 0
    var reached = true
    while reached {
      number += 1
      for happens in [false, true] {
        var scene = try Scene()
        let files = FailingFiles(.init(number: number, happens: happens))
        _ = try? scene.store.removal.evict(file: scene.file, because: "rotten", files: files)
        reached = files.operations >= number
        scene.store = try Self.reopened(scene)
        _ = try scene.store.removal.replayTombstones()
        #expect(try scene.store.removal.replayTombstones() == PurgeReport(), "a second time changes nothing")
        #expect(!Files.exists(scene.path), "operation \(number), \(happens)")
        #expect(try scene.store.files.file(of: scene.job)?.state == .purged)
        #expect(try scene.store.history.events().count == 1)
      }
    }
    #expect(number > 4)
  }

  /// Opened by another process, after one that died.
  static func reopened(_ scene: Scene) throws -> AssetStore {
    try scene.store.close()
    return try AssetStore(opening: scene.folder.path)
  }

  // MARK: F-54

  @Test("F-54 an app is uninstalled: its files go, marked or not, and no app is told; others keep theirs")
  func uninstalled()
    throws
  {
    let scene = try Scene()
    let directory = "\(scene.folder.path)/files"
    let kept = try Scene.finish(
      Scene.specification(.sha256, app: "other", name: "kept", in: directory), .sha256, in: scene.store)
    let inUse = try Scene.finish(Scene.specification(.sha256, name: "used", in: directory), .sha256, in: scene.store)
    try scene.store.files.setPurgeable(false, file: scene.file)
    try scene.store.deliveries.begin(of: inUse, to: "app")
    #expect(
      try scene.store.removal.uninstall(app: "app")
        == PurgeReport(freed: Int64(Self.bytes.count), removed: 1, skipped: 1))
    #expect(try Files.names(in: directory) == ["kept", "used"])
    #expect(try scene.store.deliveries.pending().map(\.job) == [kept, inUse])
    // Its process is gone now.
    _ = try scene.store.deliveries.recipientDied(of: inUse, fileMoved: false)
    #expect(try scene.store.removal.uninstall(app: "app").removed == 1)
    #expect(try scene.store.removal.uninstall(app: "app") == PurgeReport(), "a second time changes nothing")
    #expect(try Files.names(in: directory) == ["kept"])
    #expect(try scene.store.deliveries.pending().map(\.job) == [kept])
  }

  @Test("F-54 a crash at any operation of an uninstallation is finished at the next start") func interruptedUninstall()
    throws
  {
    var number = 0
    var reached = true
    while reached {
      number += 1
      for happens in [false, true] {
        var scene = try Scene()
        try Scene.finish(
          Scene.specification(.none, name: "second", in: "\(scene.folder.path)/files"), .none, in: scene.store)
        let files = FailingFiles(.init(number: number, happens: happens))
        _ = try? scene.store.removal.uninstall(app: "app", files: files)
        reached = files.operations >= number
        scene.store = try Self.reopened(scene)
        _ = try scene.store.removal.replayTombstones()
        #expect(try Files.names(in: "\(scene.folder.path)/files").isEmpty, "operation \(number), \(happens)")
        #expect(try scene.store.files.all().isEmpty && scene.store.deliveries.pending().isEmpty)
      }
    }
    #expect(number > 8)
  }

  @Test(
    "F-54 an update finds finished files of equal digest, after reading them",
    arguments: [Proof.sha256, .sha512, .chunks])
  func kept(proof: Proof) throws {
    let scene = try Scene(proof)
    var wanted = scene.specification
    wanted.identifier = "of the next version"
    wanted.url = "https://b.example/elsewhere"
    #expect(try scene.store.files.keptFile(for: wanted)?.id == scene.file)
    var other = wanted
    other.app = "another app"
    #expect(try scene.store.files.keptFile(for: other) == nil, "no oracle for what others have")
    var unproved = wanted
    (unproved.digest, unproved.chunks) = (nil, nil)
    #expect(try scene.store.files.keptFile(for: unproved) == nil)
    try scene.rot(at: 77)
    #expect(try scene.store.files.keptFile(for: wanted) == nil, "its row says so, its bytes don't")
  }

  @Test("F-54 a volume that is unmounted and comes back: its files are missing, and then they aren't") func unmounted()
    throws
  {
    let scene = try Scene()
    let directory = "\(scene.folder.path)/files"
    #expect(rename(directory, directory + "-away") == 0)
    #expect(try scene.store.removal.reconcile(staging: ["\(directory)/.outrider"]).missing.map(\.id) == [scene.file])
    #expect(try scene.store.files.all().isEmpty)
    #expect(try scene.store.removal.reconcile(staging: []) == Reconciliation(), "told once")
    #expect(rename(directory + "-away", directory) == 0)
    #expect(try scene.store.removal.reconcile(staging: []).returned.map(\.id) == [scene.file])
    #expect(try scene.store.files.all().map(\.id) == [scene.file])
    // Purged while it is away: not taken for deleted.
    let plan = try scene.store.files.all().map { PurgeCandidate($0, appIsLaunchable: false) }
    #expect(rename(directory, directory + "-away") == 0)
    #expect(try scene.store.removal.purge(plan).removed == 0)
    #expect(rename(directory + "-away", directory) == 0)
    #expect(try scene.store.removal.reconcile(staging: []).returned.map(\.id) == [scene.file])
  }
}

extension FileVerdict: Error {}

extension PurgeReport {
  init(freed: Int64 = 0, removed: Int = 0, skipped: Int = 0) {
    self.init()
    self.freed = freed
    self.removed = removed
    self.skipped = skipped
  }
}
