import AssetModel
import Foundation
import Glibc
import LinuxSystem
import Synchronization
import TestSupport
import Testing

@testable import AssetStore

/// F-53, as far as the store is concerned: files that are in use when they are to go.
@Suite(.ownThreads, .timeLimit(.minutes(1))) struct PurgeFaultTests {
  typealias Scene = FinishedFile

  @Test("F-53 a file that is open is purged; who has it open reads it to its end") func open() throws {
    let scene = try Scene()
    let reader = try FileHandle(forReadingFrom: URL(fileURLWithPath: scene.path))
    let plan = try scene.store.files.all().map { PurgeCandidate($0, appIsLaunchable: false) }
    #expect(try scene.store.removal.purge(plan).freed == Int64(FinishedFile.bytes.count))
    #expect(!Files.exists(scene.path))
    #expect(try reader.readToEnd() == FinishedFile.bytes)
  }

  @Test(
    "F-53 a lease, a handle or a callback that begins after the plan was made keeps its file",
    arguments: [
      "lease", "handle", "callback",
    ])
  func pinned(kind: String) throws {
    let scene = try Scene()
    let plan = try scene.store.files.all().map { PurgeCandidate($0, appIsLaunchable: false) }
    if kind == "callback" {
      try scene.store.deliveries.begin(of: scene.job, to: "app")
    } else {
      try scene.store.files.pin(file: scene.file, connection: 7, reason: kind)
    }
    #expect(try scene.store.removal.purge(plan) == PurgeReport(skipped: 1))
    #expect(Files.exists(scene.path))
    // The one who held it died: nothing holds it any more.
    if kind == "callback" {
      #expect(try scene.store.deliveries.recipientDied(of: scene.job, fileMoved: false) == .again)
    } else {
      try scene.store.files.unpinAll(connection: 7)
    }
    #expect(try scene.store.removal.purge(plan).removed == 1)
    #expect(!Files.exists(scene.path))
  }

  @Test("F-53 a deletion that failed isn't tried again while an app has the file", arguments: ["pin", "callback"])
  func pinnedAfterAFailure(kind: String) throws {
    let scene = try Scene()
    let plan = try scene.store.files.all().map { PurgeCandidate($0, appIsLaunchable: false) }
    var number = 0
    // At the unlink itself: what comes before it opens and looks.
    repeat {
      number += 1
    } while try scene.store.removal.purge(plan, files: FailingFiles(.init(number: number, happens: false)))
      .failure == nil
    #expect(Files.exists(scene.path))
    if kind == "pin" {
      try scene.store.files.pin(file: scene.file, connection: 7, reason: "lease")
    } else {
      try scene.store.deliveries.begin(of: scene.job, to: "app")
    }
    #expect(try scene.store.removal.purge([]).skipped == 1)
    #expect(Files.exists(scene.path))
    #expect(try scene.store.files.all().count == 1)
    #expect(try scene.store.removal.purge([]) == PurgeReport(), "it is forgotten")
  }

  @Test("F-53 a file is pinned at every operation of its deletion: it is there, or the pin is refused") func racing()
    throws
  {
    for number in 1...8 {
      let scene = try Scene()
      let plan = try scene.store.files.all().map { PurgeCandidate($0, appIsLaunchable: false) }
      let refused = Mutex(false)
      let (store, file) = (scene.store, scene.file)
      let files = FailingFiles(before: number) {
        do { try store.files.pin(file: file, connection: 7, reason: "lease") } catch {
          refused.withLock { $0 = true }
        }
      }
      let report = try scene.store.removal.purge(plan, files: files)
      if files.operations < number { break }
      #expect(refused.withLock { $0 } == (report.removed == 1), "operation \(number)")
      #expect(Files.exists(scene.path) == (report.removed == 0))
    }
  }

  @Test("F-53 the service dies with pins and a plan: the next one has no pins, and nothing is half done") func died()
    throws
  {
    var scene = try Scene()
    try scene.store.files.pin(file: scene.file, connection: 7, reason: "lease")
    scene.store = try StoreFaultTests.reopened(scene)
    let plan = try scene.store.files.all().map { PurgeCandidate($0, appIsLaunchable: false) }
    #expect(plan.count == 1 && !plan[0].isPinned)
    #expect(try scene.store.removal.purge(plan).removed == 1)
  }

  @Test("F-53 a directory that can't be opened doesn't keep the files of the others") func oneOfMany() throws {
    let scene = try Scene()
    let other = "\(scene.folder.path)/other"
    mkdir(other, 0o700)
    try Scene.finish(Scene.specification(.none, name: "second", in: other), .none, in: scene.store)
    var plan = try scene.store.files.all().map { PurgeCandidate($0, appIsLaunchable: false) }
    // The directory of the first is another thing now.
    #expect(rename("\(scene.folder.path)/files", "\(scene.folder.path)/away") == 0)
    #expect(symlink("\(scene.folder.path)/away", "\(scene.folder.path)/files") == 0)
    plan.sort { $0.name < $1.name }
    #expect(try scene.store.removal.purge(plan).removed == 1)
    #expect(!Files.exists("\(other)/second"))
    #expect(Files.exists("\(scene.folder.path)/away/file"), "no link is followed")
    #expect(try scene.store.files.file(of: scene.job)?.state == .missing)
  }

  @Test("F-53 a file that can't be deleted keeps no other, and is tried again") func stuck() throws {
    let scene = try Scene()
    let directory = "\(scene.folder.path)/files"
    try Scene.finish(Scene.specification(.none, name: "second", in: directory), .none, in: scene.store)
    let plan = try scene.store.files.all().sorted { $0.id < $1.id }.map { PurgeCandidate($0, appIsLaunchable: false) }
    let first = try scene.store.removal.purge([plan[0]], files: FailingFiles(.init(number: 1, happens: false)))
    #expect(first.failure?.code == EIO && first.removed == 0 && Files.exists(scene.path))
    let eviction = try scene.store.removal.evict(
      file: try #require(plan[1].file), because: "rotten", files: FailingFiles(.init(number: 1, happens: false)))
    #expect(
      eviction.fetchAgain != nil && !Files.exists("\(directory)/second"), "it is fetched again whatever another does")
    let last = try scene.store.removal.replayTombstones()
    #expect(last == PurgeReport(freed: Int64(FinishedFile.bytes.count), removed: 1) && !Files.exists(scene.path))
  }

  @Test("F-53 an orphan that has found its job since isn't purged") func adopted() throws {
    let scene = try Scene()
    let staging = "\(scene.folder.path)/staging"
    mkdir(staging, 0o700)
    try FinishedFile.bytes.write(to: URL(fileURLWithPath: "\(staging)/partial"))
    let orphans = try scene.store.removal.reconcile(staging: [staging]).orphans
    #expect(orphans.map(\.name) == ["partial"])
    let id = try #require(
      try scene.store.add(
        [Scene.specification(.chunks, name: "new", in: "\(scene.folder.path)/files")], now: AssetStoreTests.moment())[0]
        .job)
    var job = try #require(try scene.store.job(id))
    job.partial = Partial(stagingName: "partial", entity: Entity(finalURL: ""), bootIdentifier: "", device: 0, inode: 0)
    try scene.store.commit([.job(job)])
    #expect(try scene.store.removal.purge(orphans) == PurgeReport(skipped: 1))
    #expect(Files.exists("\(staging)/partial"))
    job.state = .cancelled
    try scene.store.commit([.job(job)])
    #expect(try scene.store.removal.purge(orphans).removed == 1)
  }
}
