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
  static func ask(_ core: inout ServiceCore, _ actions: [Action]) throws -> Int64 {
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

  @Test("A delegate hears how far each download is, the manifest among them [B28, B33]")
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
    #expect(kinds(manifest) == [.began, .progress, .paused])
    let download = PlannedDownload(uniqueIdentifier: "u", identifier: "x", size: 9, host: "example.com")
    _ = core.handle(.app("a", .schedule(call: 1, download: download, caller: .operator)), now: .start)
    #expect(kinds("u") == [.began, .progress, .paused])
  }

  @Test("The manifest is essential for an installation alone, and urgent wherever somebody waits for it [B33, B50]")
  func manifestOfPeriodicRequest() throws {
    var core = Self.core()
    let install = core.handle(.app("a", .placed(version: "1", kind: .install, facts: Self.facts)), now: .start)
    func manifest(_ actions: [Action]) throws -> (isEssential: Bool, urgency: DownloadRegistry.Urgency) {
      try #require(
        actions.lazy.compactMap {
          if case .addTransfer(_, let download, let urgency, _, true, _) = $0 {
            (download.isEssential, urgency)
          } else {
            nil
          }
        }.first)
    }
    #expect(try manifest(install) == (true, .essential))
    let run = try Self.ask(&core, install)
    _ = core.handle(.app("a", .answered(run: run, accepted: [], rejected: [])), now: .start)
    _ = core.handle(.app("a", .runEnded(run: run, end: .returned)), now: .start)
    _ = core.handle(.app("a", .lifecycle(.versionPlaced(version: "1"))), now: .start)
    let periodic = AppEvent.lifecycle(.requested(.periodic, isSimulated: false))
    #expect(try manifest(core.handle(.app("a", periodic), now: .start)) == (false, .background))
    let simulated = AppEvent.lifecycle(.requested(.periodic, isSimulated: true))
    #expect(try manifest(core.handle(.app("a", simulated), now: .start)) == (false, .essential))
  }

  @Test(
    "What an extension schedules as soon as it fails is asked for some dozen times a day, and no more [B13, B47]"
  )
  func retriesForEver() throws {
    var core = Self.core()
    let install = core.handle(.app("a", .placed(version: "1", kind: .install, facts: Self.facts)), now: .start)
    let run = try Self.ask(&core, install)
    for event in [
      AppEvent.answered(run: run, accepted: [], rejected: []), .runEnded(run: run, end: .returned),
      .lifecycle(.versionPlaced(version: "1")), .launched,
    ] { _ = core.handle(.app("a", event), now: .start) }
    var (now, requests, scheduled) = (Instant.start, 0, 0)
    var actions: [Action] = []
    func tell(_ event: AppEvent) { actions += core.handle(.app("a", event), now: now) }
    func schedule() {
      scheduled += 1
      let download = PlannedDownload(uniqueIdentifier: "u\(scheduled)", identifier: "x", size: 9, host: "e.com")
      let caller = DownloadRegistry.Caller.extension(run: 1, isAnswering: false)
      tell(.schedule(call: UInt64(scheduled), download: download, caller: caller))
    }
    schedule()
    while now < .start + .hours(24) {
      let taken = actions
      actions = []
      for case .addTransfer("a", let download, _, _, false, _) in taken {
        requests += 1
        let failure = Failure(domain: Failure.networkDomain, code: -1013, message: "401")
        tell(.registry(.engineAdded(uniqueIdentifier: download.uniqueIdentifier)))
        tell(.registry(.engineSettled(uniqueIdentifier: download.uniqueIdentifier, settlement: .failed(failure))))
        schedule()
      }
      if actions.isEmpty {
        guard let next = core.nextDeadline else { break }
        now = max(next, now + .milliseconds(1))
        actions += core.handle(.tick, now: now)
      }
    }
    #expect((20...40).contains(requests) && scheduled == requests + 1, "\(requests) \(scheduled)")
    // Whoever waits for one at a screen doesn't wait.
    let extensions = DownloadRegistry.Caller.extension(run: 1, isAnswering: false)
    func hold(_ name: String) -> PlannedDownload {
      var download = PlannedDownload(uniqueIdentifier: "", identifier: name, size: 9, host: "e.com")
      for number in 1...3 {
        download.uniqueIdentifier = "\(name)\(number)"
        tell(.schedule(call: 5000, download: download, caller: extensions))
        guard number < 3 else { break }
        tell(
          .registry(
            .engineSettled(uniqueIdentifier: download.uniqueIdentifier, settlement: .failed(.framework(204, "")))))
      }
      #expect(core.apps["a"]?.pace.start(of: download.uniqueIdentifier) == now + .seconds(10))
      actions = []
      return download
    }
    let wanted = hold("y")
    let app = DownloadRegistry.Caller.app(connection: 1, isActive: true)
    tell(.startForeground(call: 9999, download: wanted, state: .waiting, caller: app))
    let added = actions.compactMap { if case .addTransfer(_, _, let urgency, _, _, _) = $0 { urgency } else { nil } }
    #expect(added == [.foreground] && core.apps["a"]?.pace.start(of: "y3") == nil)
    // What is cancelled while it waits doesn't begin later.
    _ = hold("z")
    tell(.registry(.engineSettled(uniqueIdentifier: "z3", settlement: .cancelled)))
    #expect(core.apps["a"]?.pace.start(of: "z3") == nil)
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
