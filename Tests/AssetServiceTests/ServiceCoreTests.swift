import AssetModel
import AssetStore
import Foundation
import ServiceMachines
import Testing

@testable import AssetService

@Suite(.timeLimit(.minutes(2))) struct ServiceCoreTests {
  static let facts = AppMachines.Facts(
    manifestHost: "example.com", limits: .init(allowance: 1 << 30, essentialAllowance: 1 << 30, domains: nil))

  static func added(_ actions: [Action]) -> [String] {
    actions.compactMap { action in
      if case .addTransfer(_, let download, _, _, true, _) = action { download.uniqueIdentifier } else { nil }
    }
  }

  static func core() -> ServiceCore {
    ServiceCore(planner: WakePlanner(seed: 1), settings: ServiceSettings(), conditions: Conditions())
  }

  @Test("An update that arrives while the first manifest is on its way fetches its own at once [B4]")
  func manifestOfUpdate() {
    var core = Self.core()
    let first = Self.added(
      core.handle(.app("a", .placed(version: "1", kind: .install, facts: Self.facts)), now: .start))
    let actions = core.handle(.app("a", .placed(version: "2", kind: .update, facts: Self.facts)), now: .start)
    let second = Self.added(actions)
    #expect(first.count == 1 && second.count == 1 && first != second)
    #expect(actions.contains(.cancelTransfer(app: "a", download: first[0])))
    // The engine's word comes later, and concerns no app.
    let late = core.handle(
      .app("a", .registry(.engineSettled(uniqueIdentifier: first[0], settlement: .cancelled))), now: .start)
    #expect(late.isEmpty)
    #expect(core.apps["a"]?.lifecycle.active?.stage == .manifest)
  }

  @Test("Another preferred language asks every app's extension; one that is known for the first time doesn't [B1]")
  func languageChange() {
    var core = Self.core()
    _ = core.handle(.app("a", .placed(version: "1", kind: .install, facts: Self.facts)), now: .start)
    let generation = core.apps["a"]?.lifecycle.active?.generation ?? 0
    _ = core.handle(
      .app(
        "a",
        .lifecycle(.manifestFailed(generation: generation, failure: .framework(1, "no")))), now: .start)
    _ = core.handle(.app("a", .lifecycle(.versionPlaced(version: "1"))), now: .start)
    #expect(core.apps["a"]?.lifecycle.active == nil)
    _ = core.handle(.conditions(Conditions(language: "de-DE")), now: .start)
    #expect(core.apps["a"]?.lifecycle.active?.kind != .languageChange)
    let same = core.handle(.conditions(Conditions(language: "de-DE")), now: .start)
    #expect(Self.added(same).isEmpty)
    _ = core.handle(.conditions(Conditions(language: "fr")), now: .start)
    #expect(core.apps["a"]?.lifecycle.active?.kind == .languageChange)
  }

  /// Lets the manifest arrive that is on its way; returns the run that asks the extension then.
  private static func ask(_ core: inout ServiceCore, _ actions: [Action]) throws -> Int64 {
    let manifest = try #require(added(actions).first)
    let settled = DownloadRegistry.Event.engineSettled(uniqueIdentifier: manifest, settlement: .finished(size: 9))
    _ = core.handle(.app("a", .registry(settled)), now: .start)
    let more = core.handle(.app("a", .manifestFinished(download: manifest, digest: manifest, size: 9)), now: .start)
    return try #require(
      more.compactMap { if case .startContentRun(_, let run, _, _, _) = $0 { run } else { nil } }.first)
  }

  @Test("A run that was granted to an app that has gone since gives its turn back, so that others are woken [B10]")
  func runOfRemovedApp() throws {
    var core = Self.core()
    let install = core.handle(.app("a", .placed(version: "1", kind: .install, facts: Self.facts)), now: .start)
    let run = try Self.ask(&core, install)
    #expect(core.planner.runs.count == 1)
    _ = core.handle(.app("a", .lifecycle(.removalRequested)), now: .start)
    _ = core.handle(.app("a", .lifecycle(.removed)), now: .start)
    #expect(core.apps["a"] == nil)
    // It was to begin after that.
    _ = core.handle(.app("a", .runEnded(run: run, end: .hostFailed)), now: .start)
    #expect(core.planner.runs.isEmpty)
  }

  @Test("Who asks for control of an app that is removed is refused, before the removal has ended and after it [B67]")
  func controlOfRemovedApp() {
    var core = Self.core()
    _ = core.handle(.app("a", .placed(version: "1", kind: .install, facts: Self.facts)), now: .start)
    func ask(_ connection: Int64) -> [Action] {
      let claim = ExclusiveControl.Claim(holder: .connection(connection), token: 1)
      return core.handle(.app("a", .control(.requested(claim, timeout: nil))), now: .start)
    }
    func isRefused(_ connection: Int64, _ actions: [Action]) -> Bool {
      let claim = ExclusiveControl.Claim(holder: .connection(connection), token: 1)
      return actions.contains(.controlRefused(app: "a", claim: claim, refusal: .appRemoved))
    }
    _ = ask(1)
    #expect(ask(2).isEmpty)
    let removal = core.handle(.app("a", .lifecycle(.removalRequested)), now: .start)
    #expect(isRefused(2, removal) && !isRefused(1, removal))
    _ = core.handle(.app("a", .lifecycle(.removed)), now: .start)
    #expect(isRefused(3, ask(3)))
  }

  @Test("A delegate hears that what its app's removal cancelled has failed with -999, before the rows are gone [B30]")
  func delegateOfRemovedApp() throws {
    var core = Self.core()
    _ = core.handle(.app("a", .placed(version: "1", kind: .install, facts: Self.facts)), now: .start)
    let observing = EventRouter.Event.observing(recipient: .connection(1), isObserving: true)
    _ = core.handle(.app("a", .router(observing)), now: .start)
    for name in ["x", "y"] {
      let download = PlannedDownload(uniqueIdentifier: "u\(name)", identifier: name, size: 9, host: "example.com")
      _ = core.handle(.app("a", .schedule(call: 1, download: download, caller: .operator)), now: .start)
    }
    let settled = DownloadRegistry.Event.engineSettled(uniqueIdentifier: "uy", settlement: .finished(size: 9))
    _ = core.handle(.app("a", .registry(settled)), now: .start)
    let removal = core.handle(.app("a", .lifecycle(.removalRequested)), now: .start)
    let called = try #require(
      removal.firstIndex { action in
        guard case .call("a", .connection(1), let occurrence) = action else { return false }
        return occurrence.uniqueIdentifier == "ux" && occurrence.kind == .failed
      })
    let removed = try #require(removal.firstIndex(of: .removeApp(app: "a")))
    #expect(called < removed)
    #expect(removal.count { if case .call = $0 { true } else { false } } == 1, "the other one had finished")
    let failures = removal[..<called].compactMap { action -> Failure? in
      if case .recordFailure("a", "ux", let failure) = action { failure } else { nil }
    }
    #expect(failures.map(\.code) == [-999] && failures.map(\.domain) == [Failure.networkDomain])
  }

  private static func transfers(_ actions: [Action]) -> [String] {
    actions.compactMap {
      if case .addTransfer(_, let download, _, _, false, _) = $0 { download.uniqueIdentifier } else { nil }
    }
  }

  @Test("A file that waits to be handed over isn't fetched again because the extension didn't know of it [B36]")
  func askedForAgain() throws {
    var core = Self.core()
    let install = core.handle(.app("a", .placed(version: "1", kind: .install, facts: Self.facts)), now: .start)
    let first = try Self.ask(&core, install)
    func answer(_ run: Int64, _ unique: String) -> [Action] {
      let download = PlannedDownload(uniqueIdentifier: unique, identifier: "x", size: 10, host: "example.com")
      return core.handle(.app("a", .answered(run: run, accepted: [download], rejected: [])), now: .start)
        + core.handle(.app("a", .runEnded(run: run, end: .returned)), now: .start)
    }
    #expect(Self.transfers(answer(first, "u1")) == ["u1"])
    let settled = DownloadRegistry.Event.engineSettled(uniqueIdentifier: "u1", settlement: .finished(size: 10))
    _ = core.handle(.app("a", .registry(settled)), now: .start)
    let opened = core.handle(.app("a", .lifecycle(.versionPlaced(version: "1"))), now: .start)
    // No app can be told for now.
    for case .startCallbackRun(_, let run) in opened {
      _ = core.handle(.app("a", .runEnded(run: run, end: .hostFailed)), now: .start)
    }
    #expect(core.apps["a"]?.ledger.isUnknownToAnswer("x") == true)

    let periodic = core.handle(.app("a", .lifecycle(.requested(.periodic, isSimulated: true))), now: .start)
    let second = try Self.ask(&core, periodic)
    let refused = answer(second, "u2")
    #expect(Self.transfers(refused).isEmpty)
    let codes = refused.flatMap { action -> [Int32] in
      if case .reportRejected(_, let downloads) = action { downloads.map(\.code) } else { [] }
    }
    #expect(codes == [100])
  }

  @Test("No delegate hears how far the manifest is: for them it would never end [B28]")
  func manifestOnItsWay() throws {
    var core = Self.core()
    let install = core.handle(.app("a", .placed(version: "1", kind: .install, facts: Self.facts)), now: .start)
    let manifest = try #require(Self.added(install).first)
    let observing = EventRouter.Event.observing(recipient: .connection(1), isObserving: true)
    _ = core.handle(.app("a", .router(observing)), now: .start)
    func kinds(_ unique: String) -> [EventRouter.Kind] {
      let events: [AppEvent] = [
        .registry(.engineStarted(uniqueIdentifier: unique)), .received(download: unique, bytes: 5, added: 5, total: 9),
        .registry(.engineWaiting(uniqueIdentifier: unique)),
      ]
      return events.flatMap { core.handle(.app("a", $0), now: .start) }.compactMap { action in
        if case .notify(_, _, let occurrence) = action { occurrence.kind } else { nil }
      }
    }
    #expect(kinds(manifest) == [])
    let download = PlannedDownload(uniqueIdentifier: "u", identifier: "x", size: 9, host: "example.com")
    _ = core.handle(.app("a", .schedule(call: 1, download: download, caller: .operator)), now: .start)
    #expect(kinds("u") == [.began, .progress, .paused])
  }

  @Test("A manifest that the allow list refuses is kept as failed, so that the extension is told of it [B63]")
  func refusedManifest() throws {
    var core = Self.core()
    var facts = Self.facts
    facts.limits.domains = ["other.example.org"]
    let actions = core.handle(.app("a", .placed(version: "1", kind: .install, facts: facts)), now: .start)
    #expect(Self.added(actions).isEmpty)
    let stored = try #require(
      actions.firstIndex {
        if case .store("a", let entry) = $0 { entry.isManifest && entry.state == .failed } else { false }
      })
    let failed = try #require(
      actions.firstIndex { if case .recordFailure("a", _, let failure) = $0 { failure.code == 202 } else { false } })
    // The row has to be there before its failure is written to it.
    #expect(stored < failed)
    _ = core.handle(.app("a", .lifecycle(.versionPlaced(version: "1"))), now: .start)
    #expect(core.apps["a"]?.lifecycle.gate.isClosed == false)
    #expect(core.apps["a"]?.ledger.entries.count == 1)
  }

  @Test("A manifest that exceeds the allowance fails and opens the gate [B62]")
  func manifestBeyondAllowance() throws {
    var core = Self.core()
    var facts = Self.facts
    facts.limits.essentialAllowance = 1 << 20
    let install = core.handle(.app("a", .placed(version: "1", kind: .install, facts: facts)), now: .start)
    let manifest = try #require(Self.added(install).first)
    let whole = core.handle(
      .app("a", .received(download: manifest, bytes: 1 << 20, added: 1 << 20, total: nil)), now: .start)
    #expect(!whole.contains(.cancelTransfer(app: "a", download: manifest)))
    let more = core.handle(
      .app("a", .received(download: manifest, bytes: (1 << 20) + 1, added: 1, total: nil)), now: .start)
    #expect(more.contains(.cancelTransfer(app: "a", download: manifest)))
    let codes = more.compactMap { if case .recordFailure(_, manifest, let failure) = $0 { failure.code } else { nil } }
    #expect(Set(codes) == [204])
    _ = core.handle(.app("a", .lifecycle(.versionPlaced(version: "1"))), now: .start)
    #expect(core.apps["a"]?.lifecycle.gate.isClosed == false)
  }

  @Test("An app has so many scheduled downloads that the journal takes what is kept of them, and no more")
  func tooMany() throws {
    var core = Self.core()
    _ = core.handle(.app("a", .placed(version: "1", kind: .install, facts: Self.facts)), now: .start)
    func schedule(_ number: Int) -> [Action] {
      let download = PlannedDownload(
        uniqueIdentifier: UUID().uuidString, identifier: "d\(number)", size: nil, host: "example.com")
      return core.handle(
        .app("a", .schedule(call: UInt64(number), download: download, caller: .operator)), now: .start)
    }
    for number in 0..<DownloadRegistry.maxScheduled {
      #expect(!schedule(number).contains { if case .reply(_, .failure) = $0 { true } else { false } })
    }
    let refused = schedule(DownloadRegistry.maxScheduled).compactMap { action -> Int? in
      if case .reply(_, .failure(let failure)) = action { failure.code } else { nil }
    }
    #expect(refused == [102])
    let machines = try #require(core.apps["a"])
    // One answer may bring half as many again, because it is validated as a whole.
    let longest = ServiceRecords.longestValue * 2 / 3
    #expect(try JSONEncoder().encode(machines.restrictions).count < longest)
    #expect(try JSONEncoder().encode(machines.budgets.keys.sorted()).count < longest)
  }

  @Test("A run that never began gives its place among the wakes back")
  func runThatNeverBegan() {
    var core = Self.core()
    let manifest = Self.added(
      core.handle(.app("a", .placed(version: "1", kind: .install, facts: Self.facts)), now: .start))
    let settled = DownloadRegistry.Event.engineSettled(uniqueIdentifier: manifest[0], settlement: .finished(size: 9))
    _ = core.handle(.app("a", .registry(settled)), now: .start)
    let actions = core.handle(
      .app("a", .manifestFinished(download: manifest[0], digest: "d", size: 9)), now: .start)
    #expect(actions.contains { if case .startContentRun = $0 { true } else { false } })
    #expect(core.planner.runs.count == 1)
    _ = core.handle(.app("a", .runEnded(run: 1, end: .hostFailed)), now: .start)
    #expect(core.planner.runs.isEmpty)
  }
}
