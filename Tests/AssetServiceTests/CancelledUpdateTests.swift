import AssetModel
import AssetStore
import Foundation
import ServiceMachines
import ServiceProtocol
import Testing

@testable import AssetService

/// A core with a journal on the disk, and executors that do what the service's do. It dies at a commit, and is made again
/// from what the journal has.
private struct JournalledWorld {
  static let app = "com.example.a"
  static let old = AppMachines.Facts(
    manifestHost: "old.example.com", limits: .init(allowance: 1 << 30, essentialAllowance: 1 << 30, domains: nil))
  static let new = AppMachines.Facts(
    manifestHost: "new.example.com", limits: .init(allowance: 1 << 20, essentialAllowance: 1 << 29, domains: nil))

  let store: AssetStore
  var journal: ServiceJournal
  var core: ServiceCore
  var clock = ServiceClock(.now())
  var events: [CoreEvent] = []
  var actions: [Action] = []
  /// On the disk.
  var versions: Set<String> = []
  var current: String?
  var files: Set<String> = []
  /// What the engine has finished, and whether it is a manifest: it outlives the service.
  var finished: [(download: String, isManifest: Bool)] = []
  /// Downloads that a recipient was called for.
  var told: Set<String> = []
  var commits = 0
  var diesAt: Int

  init(folder: String, diesAt: Int) throws {
    try FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    store = try AssetStore(opening: folder, options: .service)
    journal = ServiceJournal(store)
    self.diesAt = diesAt
    core = ServiceCoreTests.core()
  }

  /// Handles an event and all that follows from it.
  mutating func run(_ event: CoreEvent) throws {
    events.append(event)
    while true {
      if !events.isEmpty {
        try handle(events.removeFirst())
      } else if !actions.isEmpty {
        perform(actions.removeFirst())
      } else {
        return
      }
    }
  }

  private mutating func handle(_ event: CoreEvent) throws {
    let next = core.handle(event, now: .start)
    var further: [ServiceChange] = []
    for action in next {
      switch action {
      case .store(let app, let entry):
        var row = ScheduledDownload(
          value: DownloadValue(
            identifier: entry.download.identifier, uniqueIdentifier: entry.download.uniqueIdentifier, url: "",
            applicationGroupIdentifier: "", fileSize: 1))
        row.entry = entry
        further.append(journal.scheduled(app, row))
      case .remove(let app, let download), .withdrawDownload(let app, let download):
        further.append(.scheduled(app: app, identifier: download, value: nil))
      default: break
      }
    }
    try journal.commit(core.takeChanges(), of: core, clock: clock, further: further)
    commits += 1
    actions += next
    guard commits == diesAt else { return }
    // Killed: what the journal doesn't have is gone, and the engine's is looked up.
    events = [.restarted]
    actions = []
    journal = ServiceJournal(store)
    let state = try journal.load()
    core = try #require(state).core
    for one in finished { tellFinished(one.download, one.isManifest) }
  }

  private mutating func tellFinished(_ download: String, _ isManifest: Bool) {
    tell(.registry(.engineSettled(uniqueIdentifier: download, settlement: .finished(size: 1))))
    if isManifest { tell(.manifestFinished(download: download, digest: "d", size: 1)) }
  }

  private mutating func tell(_ event: AppEvent) { events.append(.app(Self.app, event)) }

  private mutating func perform(_ action: Action) {
    switch action {
    case .addTransfer(_, let download, _, _, let isManifest, _):
      let unique = download.uniqueIdentifier
      tell(.registry(.engineAdded(uniqueIdentifier: unique)))
      guard isManifest || download.identifier == "arrives" else { return }
      if !isManifest { files.insert(unique) }
      finished.append((unique, isManifest))
      tellFinished(unique, isManifest)
    case .startContentRun(_, let run, _, _, let version):
      let asked = version == "1" ? [] : ["arrives", "hangs", "later"]
      let downloads = asked.map { name in
        PlannedDownload(
          uniqueIdentifier: "\(version)-\(name)", identifier: name, isEssential: name != "later", size: 1,
          host: "example.com")
      }
      tell(.answered(run: run, accepted: downloads, rejected: []))
      events.append(.planner(.ended(run: run, runtime: .zero, end: .returned)))
      tell(.runEnded(run: run, end: .returned))
    case .placeVersion(_, let version):
      if versions.contains(version) { current = version }
      tell(.lifecycle(.versionPlaced(version: version)))
    case .keepVersions(_, let kept): versions = versions.filter { kept.contains($0) || $0 == current }
    case .withdrawDownload(_, let download), .deleteFile(_, let download): files.remove(download)
    case .call(_, _, let occurrence): told.insert(occurrence.uniqueIdentifier)
    case .inspect(_, let download, .inspected):
      tell(.ledger(.inspected(uniqueIdentifier: download, isMoved: false)))
    case .startCallbackRun(_, let run):
      tell(.router(.extensionReady(run: run)))
    default: break
    }
  }
}

@Suite(.timeLimit(.minutes(5))) struct CancelledUpdateTests {
  @Test(
    "Killed at any commit of an update that is cancelled, the old version is there as it was, and nothing else [B49]")
  func killedAtEachCommit() throws {
    var commits = Int.max
    var number = 0
    while number <= commits {
      let folder = NSTemporaryDirectory() + "cancelled-\(UUID().uuidString)"
      defer { try? FileManager.default.removeItem(atPath: folder) }
      var world = try JournalledWorld(folder: folder, diesAt: number)
      let app = JournalledWorld.app
      world.versions = ["1"]
      try world.run(.app(app, .placed(version: "1", kind: .install, facts: JournalledWorld.old)))
      // The placement itself wasn't written down: it is made again, as the user would.
      if world.core.apps[app] == nil {
        try world.run(.app(app, .placed(version: "1", kind: .install, facts: JournalledWorld.old)))
      }
      #expect(world.current == "1", "commit \(number)")
      world.versions.insert("2")
      try world.run(.app(app, .placed(version: "2", kind: .update, facts: JournalledWorld.new)))
      if number == 0 {
        let machines = try #require(world.core.apps[app])
        #expect(machines.lifecycle.active?.stage == .essentials && machines.facts == JournalledWorld.new)
        #expect(world.files == ["2-arrives"] && machines.ledger.entries.count == 1 && machines.gated.count == 3)
      }
      try world.run(.app(app, .lifecycle(.installationCancelled)))
      let machines = try #require(world.core.apps[app])
      #expect(machines.lifecycle.version == "1" && machines.lifecycle.phase == .launchable, "commit \(number)")
      #expect(!machines.lifecycle.gate.isClosed && machines.facts == JournalledWorld.old, "commit \(number)")
      #expect(world.current == "1" && world.versions == ["1"], "commit \(number): \(world.versions)")
      #expect(machines.ledger.entries.isEmpty && machines.gated.isEmpty && machines.failed.isEmpty, "commit \(number)")
      #expect(machines.registry.current.filter { !$0.isManifest }.isEmpty, "commit \(number)")
      #expect(world.told.isEmpty, "commit \(number): \(world.told)")
      #expect(machines.restrictions.remaining == machines.restrictions.limits.allowance, "commit \(number)")
      if number == 0 { commits = world.commits }
      number += 1
    }
    #expect(commits > 15)
  }
}
