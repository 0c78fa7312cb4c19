import AssetModel
import AssetStore
import Foundation
import GRDB
import LinuxSystem
import ServiceMachines
import ServiceProtocol
import Testing

@testable import AssetService
@testable import Downloads

/// The journal has a job of a download that can't be read for a while. That isn't a journal without the job.
@Suite(.timeLimit(.minutes(2))) struct UnreadableDownloadTests {
  fileprivate static let app = "com.example.a"

  private struct Scene {
    let folder: String
    let database: DatabaseQueue
    let service: AssetService
    let value: DownloadValue
    let job: JobID

    var key: Transfers.Key { .init(app: app, download: value.uniqueIdentifier) }

    /// A journal with one job in that state, which the engine begins nothing of: the service isn't started.
    init(_ state: JobState) async throws {
      folder = NSTemporaryDirectory() + "unreadable-\(UUID().uuidString)"
      let paths = ServicePaths(state: folder)
      for folder in [paths.store, paths.groups] { try Files.makeDirectories(folder, mode: 0o700) }
      try Containers(root: paths.groups).prepare("group.a")
      value = DownloadValue(
        identifier: "session", uniqueIdentifier: UUID().uuidString, url: "https://example.com/session",
        applicationGroupIdentifier: "group.a", fileSize: 100)
      let store = try AssetStore(opening: paths.store, options: .service)
      let specification = TransferPlan(groups: paths.groups, store: paths.store).specification(
        app, value, urgency: .background, owner: .app, budget: nil, domains: nil)
      let moment = StoredMoment(bootIdentifier: "b", boot: 1, wall: 1)
      job = try #require(try store.add([specification], now: moment)[0].job)
      var record = try #require(try store.job(job))
      record.state = state
      if state == .finished { record.finalSize = 100 }
      try store.commit([.job(record)])
      try store.close()
      database = try DatabaseQueue(path: "\(paths.store)/\(AssetStore.databaseName)")
      service = try AssetService(.init(paths: paths))
      try await service.take(value)
      try setReadable(false)
    }

    func setReadable(_ isReadable: Bool) throws {
      try execute("UPDATE jobs SET lastCause = \(isReadable ? "NULL" : "'?'")")
    }

    func execute(_ sql: String) throws { try database.write { try $0.execute(sql: sql) } }

    var jobs: Int? {
      get throws { try database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM jobs") } }
    }

    /// As the journal has it, readable or not.
    var state: Int64? {
      get throws { try database.read { try Int64.fetchOne($0, sql: "SELECT state FROM jobs") } }
    }

    func waitForCancellation() async throws {
      for _ in 0..<3000 {
        if try state == 5 { return }
        try await Task.sleep(for: .milliseconds(10))
      }
      Issue.record("the engine's job isn't cancelled")
    }

    func end() async throws {
      await service.stop()
      try database.close()
      Files.removeTree(folder)
    }
  }

  @Test("A download that is removed stays, with its file, until it is known whether the engine has let go of it")
  func removal() async throws {
    let scene = try await Scene(.paused)
    let file = try await scene.service.writeFile(of: scene.value)
    await scene.service.discard(scene.value)
    #expect(Files.exists(file))
    #expect(await scene.service.has(scene.value))
    #expect(await scene.service.isPostponed(scene.key))
    #expect(try scene.state != 5)
    // The timer has it tried again.
    try scene.setReadable(true)
    try await scene.waitForCancellation()
    #expect(Files.exists(file))
    await scene.service.applyEnd(of: scene.key)
    #expect(!Files.exists(file))
    #expect(await !scene.service.has(scene.value))
    #expect(await scene.service.isNothingPostponed)
    try await scene.end()
  }

  @Test("Orders to the engine wait, in their order, and nothing is reported as cancelled or added meanwhile")
  func orders() async throws {
    let scene = try await Scene(.paused)
    let (app, unique) = (Self.app, scene.value.uniqueIdentifier)
    await scene.service.perform([
      .addTransfer(
        app: app, download: scene.value.planned, urgency: .background, isPaused: false, isManifest: false, budget: nil),
      .setUrgency(app: app, download: unique, urgency: .foreground), .resumeTransfer(app: app, download: unique),
      .pauseTransfer(app: app, download: unique),
    ])
    #expect(await scene.service.isPostponed(scene.key))
    // What follows is held back though the journal can be read by now.
    try scene.setReadable(true)
    await scene.service.perform([.cancelTransfer(app: app, download: unique)])
    #expect(try scene.state == 1)
    await scene.service.tryPostponed()
    try await scene.waitForCancellation()
    #expect(await scene.service.isNothingPostponed)
    #expect(try scene.jobs == 1)
    try await scene.end()
  }

  @Test("The end of a transfer is told once the journal says how it ended")
  func end() async throws {
    let scene = try await Scene(.finished)
    let file = DownloadedFile(path: "", size: 100)
    await scene.service.happened(scene.key, .finished(file))
    #expect(await scene.service.isPostponed(scene.key))
    #expect(await scene.service.received(scene.value) == 0)
    await scene.service.tryPostponed()
    #expect(await scene.service.isPostponed(scene.key))
    #expect(await scene.service.received(scene.value) == 0)
    try await expectDelivered(scene)
  }

  @Test("An event of a job whose download can't be found out is kept until it can")
  func unattributed() async throws {
    let scene = try await Scene(.finished)
    await scene.service.happenedUnattributed(scene.job)
    #expect(await !scene.service.isNothingPostponed)
    await scene.service.tryPostponed()
    #expect(await !scene.service.isNothingPostponed)
    #expect(await scene.service.received(scene.value) == 0)
    try await expectDelivered(scene)
  }

  /// The journal can be read again, and the end of the download is told then.
  private func expectDelivered(_ scene: Scene) async throws {
    try scene.setReadable(true)
    await scene.service.tryPostponed()
    #expect(await scene.service.isNothingPostponed)
    #expect(await scene.service.received(scene.value) == 100)
    try await scene.end()
  }

  @Test("What ended before the service began is looked for until the journal answers")
  func reconciliation() async throws {
    let scene = try await Scene(.finished)
    try scene.execute("ALTER TABLE jobs RENAME TO hidden")
    await scene.service.reconcile()
    #expect(await !scene.service.isNothingPostponed)
    try scene.execute("ALTER TABLE hidden RENAME TO jobs")
    await scene.service.tryPostponed()
    #expect(await scene.service.isNothingPostponed)
    try await scene.end()
  }

  @Test("A file isn't taken for one that its recipient has while the journal can't say where it went")
  func inspection() async throws {
    let scene = try await Scene(.finished)
    await scene.service.perform([
      .inspect(app: Self.app, download: scene.value.uniqueIdentifier, then: .inspected)
    ])
    #expect(await scene.service.isPostponed(scene.key))
    try scene.setReadable(true)
    await scene.service.tryPostponed()
    #expect(await scene.service.isNothingPostponed)
    try await scene.end()
  }

  @Test("An undelivered file isn't purged while the engine may have something to do with it")
  func purging() async throws {
    let scene = try await Scene(.finished)
    let file = try await scene.service.writeFile(of: scene.value)
    await scene.service.setUndelivered(scene.value)
    let device = try Files.identity(of: file).device
    let shortage = SpaceShortage(
      directory: scene.folder, device: device, need: 1050, free: 1000, floor: 0, purgeUntil: 1050)
    let hasMade = await scene.service.makeRoom(shortage)
    #expect(!hasMade && Files.exists(file))
    #expect(await scene.service.has(scene.value))
    #expect(await !scene.service.isDiscarded(scene.value))
    try scene.setReadable(true)
    let makes = await scene.service.makeRoom(shortage)
    #expect(makes && !Files.exists(file))
    try await scene.end()
  }

  @Test("Apps and operators are answered with the error, and a name that may be taken isn't given again")
  func answers() async throws {
    let scene = try await Scene(.finished)
    let answer = await scene.service.perform(.explain(subject: scene.value.uniqueIdentifier))
    guard case .failure(let failure) = answer else {
      Issue.record("explained: \(answer)")
      return
    }
    #expect(failure.code == 73 && failure.remedy != nil)
    #expect(failure.message.contains("the download \(scene.value.uniqueIdentifier) of \(Self.app) can't be read"))
    await #expect(throws: UnreadableJournal.self) { try await scene.service.renewed(scene.value) }
    #expect(await scene.service.unused(scene.value) != scene.value.uniqueIdentifier)
    try scene.setReadable(true)
    #expect(try await scene.service.renewed(scene.value).uniqueIdentifier != scene.value.uniqueIdentifier)
    try await scene.end()
  }
}

extension AssetService {
  private var app: String { UnreadableDownloadTests.app }

  fileprivate func take(_ value: DownloadValue) throws {
    parts.thread.belongs(to: self)
    parts.downloads.insert(value, of: app)
  }

  fileprivate func writeFile(of value: DownloadValue) throws -> String {
    let path = parts.catalog.plan.path(of: value)
    try Data(repeating: 1, count: 100).write(to: URL(fileURLWithPath: path))
    return path
  }

  fileprivate func discard(_ value: DownloadValue) {
    parts.downloads[app]?[value.uniqueIdentifier]?.isDiscarded = true
    parts.files.discard(app, value.uniqueIdentifier)
  }

  fileprivate func setUndelivered(_ value: DownloadValue) {
    parts.downloads[app]?[value.uniqueIdentifier]?.isUndelivered = true
  }

  fileprivate func has(_ value: DownloadValue) -> Bool { parts.downloads[app]?[value.uniqueIdentifier] != nil }

  fileprivate func isDiscarded(_ value: DownloadValue) -> Bool {
    parts.downloads[app]?[value.uniqueIdentifier]?.isDiscarded == true
  }

  fileprivate func received(_ value: DownloadValue) -> Int64? {
    parts.downloads[app]?[value.uniqueIdentifier]?.transfer.received
  }

  fileprivate func isPostponed(_ key: Transfers.Key) -> Bool { parts.executor.retry.isWaiting(.download(key)) }
  fileprivate var isNothingPostponed: Bool { parts.executor.retry.isEmpty }
  fileprivate func tryPostponed() async { await parts.executor.tryPostponed() }
  fileprivate func perform(_ actions: [Action]) async { await parts.executor.perform(actions) }
  fileprivate func reconcile() async { await parts.events.reconcile() }
  fileprivate func happened(_ key: Transfers.Key, _ event: Transfers.Event) async {
    await parts.events.happened(key, event)
  }

  fileprivate func happenedUnattributed(_ id: JobID) {
    do {
      let key = try transfers.key(id)
      Issue.record("the job is known: \(key.map { "\($0)" } ?? "none")")
    } catch {
      parts.events.happened(id, .finished(DownloadedFile(path: "", size: 100)), error)
    }
  }

  fileprivate func applyEnd(of key: Transfers.Key) async { try? await parts.events.applyEnd(of: key) }
  fileprivate func renewed(_ value: DownloadValue) throws -> DownloadValue {
    try parts.requests.renewed(value, of: app)
  }

  /// As if an extension scheduled it again after the service forgot it.
  fileprivate func unused(_ value: DownloadValue) -> String {
    let known = parts.downloads[app]?.removeValue(forKey: value.uniqueIdentifier)
    defer { parts.downloads[app]?[value.uniqueIdentifier] = known }
    return parts.downloads.unused(value.uniqueIdentifier, of: app)
  }
}
