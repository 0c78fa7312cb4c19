import AssetModel
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
    // The engine's word comes later, and concerns nobody.
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
