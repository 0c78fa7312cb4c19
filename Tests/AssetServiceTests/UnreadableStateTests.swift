import AssetStore
import Foundation
import LinuxSystem
import ServiceMachines
import ServiceProtocol
import Testing

@testable import AssetService

/// Rows that this service didn't write: one that a later version wrote, or that an operator changed.
@Suite(.timeLimit(.minutes(1))) struct UnreadableStateTests {
  /// Two apps, each with a download, written down as the service does.
  private static func scene(_ body: (AssetStore) throws -> Void) throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-unreadable-")
    defer { Files.removeTree(folder) }
    let store = try AssetStore(opening: folder, options: .service)
    var journal = ServiceJournal(store)
    var core = ServiceCoreTests.core()
    for app in ["a", "b"] {
      _ = core.handle(.app(app, .placed(version: "1", kind: .install, facts: ServiceCoreTests.facts)), now: .start)
      let value = DownloadValue(
        identifier: "d", uniqueIdentifier: "d-of-\(app)", url: "https://example.com/d",
        applicationGroupIdentifier: "g", fileSize: 1)
      try store.service.commit([journal.scheduled(app, ScheduledDownload(value: value))])
    }
    try journal.commit(core.takeChanges(), of: core, clock: ServiceClock(.now()), further: [])
    try body(store)
    try store.close()
  }

  @Test("What can be read is; what can't is named and stays in the journal")
  func rows() throws {
    try Self.scene { store in
      try store.service.commit([
        .machine(app: "a", name: "lifecycle", state: Array("{}".utf8)),
        .scheduled(app: "b", identifier: "d-of-b", value: [9]),
      ])
      var journal = ServiceJournal(store)
      let state = try #require(try journal.load())
      #expect(state.core.apps.keys.sorted() == ["b"])
      #expect(state.downloads["b"] == nil && state.downloads["a"]?["d-of-a"] != nil)
      #expect(state.unreadable.count == 2)
      #expect(state.unreadable.contains("download d-of-b of b"))
      #expect(state.unreadable.contains { $0.hasPrefix("app a, which has to be installed again") })
      #expect(try store.service.machines().contains { $0.app == "a" && $0.name == "lifecycle" })
    }
  }

  @Test("An app that is installed again gets none of the deliveries that it had")
  func installedAgain() throws {
    try Self.scene { store in
      let left = Array(#"{"hasFile":true,"lostRecipients":0,"sequence":1,"state":{"due":{}}}"#.utf8)
      // As long as one may be.
      let name = String(repeating: "l", count: 64)
      try store.service.commit([
        .machine(app: "a", name: "lifecycle", state: Array("{}".utf8)),
        .delivery(app: "a", identifier: name, state: left), .delivery(app: "b", identifier: name, state: left),
      ])
      var journal = ServiceJournal(store)
      var core = try #require(try journal.load()).core
      #expect(core.apps["b"]?.ledger.entries.keys.sorted() == [name])
      _ = core.handle(.app("a", .placed(version: "1", kind: .install, facts: ServiceCoreTests.facts)), now: .start)
      try journal.commit(core.takeChanges(), of: core, clock: ServiceClock(.now()), further: [])
      var next = ServiceJournal(store)
      let again = try #require(try next.load())
      #expect(again.core.apps["a"]?.ledger.entries.isEmpty == true && again.unreadable.isEmpty)
    }
  }

  @Test(
    "Deliveries that an earlier service kept in one row are taken on, and have rows of their own from the next change")
  func deliveriesInside() throws {
    try Self.scene { store in
      var ledger = DeliveryLedger()
      _ = ledger.handle(.staged(uniqueIdentifier: "old", hasFile: false), now: .start)
      try store.service.commit([.machine(app: "a", name: "ledger", state: Array(JSONEncoder().encode(ledger)))])
      var journal = ServiceJournal(store)
      var core = try #require(try journal.load()).core
      #expect(core.apps["a"]?.ledger.entries.keys.sorted() == ["old"])
      let event = DeliveryLedger.Event.discarded(uniqueIdentifier: "old")
      _ = core.handle(.app("a", .ledger(event)), now: .start)
      try journal.commit(core.takeChanges(), of: core, clock: ServiceClock(.now()), further: [])
      var next = ServiceJournal(store)
      #expect(try next.load()?.core.apps["a"]?.ledger.entries.isEmpty == true)
    }
  }

  @Test("The service's own state is never taken for none", arguments: ["own", "progress"])
  func own(name: String) throws {
    try Self.scene { store in
      try store.service.commit([.machine(app: "", name: name, state: Array("{".utf8))])
      var journal = ServiceJournal(store)
      #expect(throws: ServiceJournal.Unreadable.self) { try journal.load() }
    }
  }

  @Test("A new journal has none") func new() throws {
    let folder = try Files.temporaryDirectory(in: "/tmp", prefix: "outrider-unreadable-")
    defer { Files.removeTree(folder) }
    var journal = ServiceJournal(try AssetStore(opening: folder, options: .service))
    let state = try journal.load()
    #expect(state.map { _ in true } == nil)
  }
}
