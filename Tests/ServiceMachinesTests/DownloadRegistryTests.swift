import AssetModel
import TestSupport
import Testing

@testable import ServiceMachines

@Suite(.timeLimit(.minutes(2))) struct DownloadRegistryTests {
  typealias Effect = DownloadRegistry.Effect

  static let app = DownloadRegistry.Caller.app(connection: 1, isActive: true)
  static let awake = DownloadRegistry.Caller.extension(run: 5, isAnswering: false)

  static func code(_ effects: [Effect]) -> Int? {
    effects.lazy.compactMap { if case .refuse(_, let failure) = $0 { failure.code } else { nil } }.first
  }

  static func urgency(_ effects: [Effect]) -> DownloadRegistry.Urgency? {
    effects.lazy.compactMap { if case .setUrgency(_, let urgency) = $0 { urgency } else { nil } }.last
  }

  static func scheduled(_ name: String = "a", by caller: DownloadRegistry.Caller = app) -> DownloadRegistry {
    var registry = DownloadRegistry()
    _ = registry.handle(.schedule(call: 1, download: planned(name), caller: caller), at: 0)
    return registry
  }

  @Test("Scheduling queues a background download, by app or extension [B35, B40]")
  func schedules() {
    for caller in [Self.app, Self.awake] {
      var registry = DownloadRegistry()
      let effects = registry.handle(.schedule(call: 1, download: planned("a"), caller: caller), at: 0)
      #expect(effects.last == .accept(call: 1, uniqueIdentifier: "u-a"))
      #expect(registry.entry(identifier: "a")?.urgency == .background)
      #expect(registry.current.map(\.state) == [.waiting], "it is among the current downloads [B45]")
    }
  }

  @Test("A second download with the identifier of a scheduled one is refused with 100 [B36]")
  func oneIdentifier() {
    var registry = Self.scheduled()
    var other = planned("a")
    other.uniqueIdentifier = "u-other"
    #expect(Self.code(registry.handle(.schedule(call: 2, download: other, caller: Self.app), at: 1)) == 100)
    #expect(
      Self.code(registry.handle(.startForeground(call: 3, download: other, state: .created, caller: Self.app), at: 1))
        == 100)
    _ = registry.handle(.engineSettled(uniqueIdentifier: "u-a", settlement: .finished(size: 1)), at: 2)
    #expect(Self.code(registry.handle(.schedule(call: 4, download: other, caller: Self.app), at: 3)) == nil)
  }

  @Test(
    "While downloads(for:) runs nothing can be scheduled: 50 [B27]; essential never: 109 [B50]; switched off: 111 [B10]"
  )
  func refusals() {
    var registry = DownloadRegistry()
    let answering = DownloadRegistry.Caller.extension(run: 5, isAnswering: true)
    #expect(Self.code(registry.handle(.schedule(call: 1, download: planned("a"), caller: answering), at: 0)) == 50)
    let essential = planned("e", essential: true)
    #expect(Self.code(registry.handle(.schedule(call: 1, download: essential, caller: Self.app), at: 0)) == 109)
    #expect(
      Self.code(
        registry.handle(.startForeground(call: 1, download: essential, state: .created, caller: Self.app), at: 0))
        == 109)
    _ = registry.handle(.conditions(isBackgroundActivityAllowed: false), at: 0)
    #expect(Self.code(registry.handle(.schedule(call: 1, download: planned("a"), caller: Self.app), at: 0)) == 111)
    #expect(
      Self.code(
        registry.handle(.startForeground(call: 1, download: planned("a"), state: .created, caller: Self.app), at: 0))
        == nil)
  }

  @Test("A foreground download is refused to an extension with 50 and to an inactive process with 51 [B38]")
  func foregroundRefused() {
    var registry = DownloadRegistry()
    let inactive = DownloadRegistry.Caller.app(connection: 1, isActive: false)
    for (caller, code) in [(Self.awake, 50), (inactive, 51)] {
      #expect(
        Self.code(
          registry.handle(.startForeground(call: 1, download: planned("a"), state: .created, caller: caller), at: 0))
          == code)
    }
  }

  @Test("A promoted download stays in the foreground until the last process that wanted it disconnects [B37, B39]")
  func promotion() {
    var registry = Self.scheduled(by: Self.awake)
    let second = DownloadRegistry.Caller.app(connection: 2, isActive: true)
    let promote = { (caller: DownloadRegistry.Caller) in
      DownloadRegistry.Event.startForeground(call: 2, download: planned("a"), state: .waiting, caller: caller)
    }
    #expect(Self.urgency(registry.handle(promote(Self.app), at: 1)) == .foreground)
    #expect(registry.handle(promote(Self.app), at: 1) == [.accept(call: 2, uniqueIdentifier: "u-a")], "nothing happens")
    #expect(Self.urgency(registry.handle(promote(second), at: 1)) == nil)
    #expect(Self.urgency(registry.handle(.connectionLeft(1), at: 2)) == nil)
    #expect(Self.urgency(registry.handle(.connectionLeft(2), at: 2)) == .background)
  }

  @Test("Promotion starts what the user has paused; an essential download goes back to being essential [B37]")
  func promotionResumes() {
    var registry = DownloadRegistry()
    _ = registry.handle(
      .planned(downloads: [planned("e", essential: true), planned("b")], generation: 3), at: 0)
    _ = registry.handle(.pause(call: 1, uniqueIdentifier: "u-b"), at: 0)
    let effects = registry.handle(
      .startForeground(call: 2, download: planned("b"), state: .waiting, caller: Self.app), at: 1)
    #expect(effects.contains(.resume(uniqueIdentifier: "u-b")))
    // A copy without the essential mark is what clients may promote.
    _ = registry.handle(.startForeground(call: 3, download: planned("e"), state: .waiting, caller: Self.app), at: 1)
    #expect(registry.entry(identifier: "e")?.urgency == .foreground)
    _ = registry.handle(.connectionLeft(1), at: 2)
    #expect(registry.entry(identifier: "e")?.urgency == .essential)
    #expect(Self.urgency(registry.handle(.gateOpened(generation: 3), at: 3)) == .background)
  }

  @Test("Cancelling reports -999 once and may be repeated; unscheduled is 101, failed 103, unknown 113 [B44, B76, X7]")
  func cancelling() {
    var registry = Self.scheduled()
    let cancel = { (unique: String, state: DownloadRegistry.State) in
      DownloadRegistry.Event.cancel(call: 9, identifier: "a", uniqueIdentifier: unique, state: state, caller: Self.app)
    }
    #expect(registry.handle(cancel("u-a", .waiting), at: 1).contains(.cancel(uniqueIdentifier: "u-a")))
    #expect(registry.handle(cancel("u-a", .waiting), at: 1) == [.accept(call: 9, uniqueIdentifier: "u-a")])
    #expect(registry.current.isEmpty)
    let settled = DownloadRegistry.Event.engineSettled(uniqueIdentifier: "u-a", settlement: .cancelled)
    #expect(
      registry.handle(settled, at: 2).last
        == .settled(uniqueIdentifier: "u-a", identifier: "a", settlement: .cancelled))
    #expect(registry.handle(settled, at: 2).isEmpty)
    #expect(Self.code(registry.handle(cancel("u-a", .downloading), at: 3)) == 101)
    #expect(Self.code(registry.handle(cancel("u-never", .created), at: 3)) == 101)
    #expect(Self.code(registry.handle(cancel("u-never", .finished), at: 3)) == 101)
    #expect(Self.code(registry.handle(cancel("u-never", .waiting), at: 3)) == 113)
    #expect(Failure.cancelled.code == -999)
  }

  @Test("A failed download stays among the current ones, answers 103, and may be scheduled again [B45, B47, B76]")
  func failed() {
    var registry = Self.scheduled()
    _ = registry.handle(
      .engineSettled(uniqueIdentifier: "u-a", settlement: .failed(AppLifecycleTests.failure)), at: 1)
    #expect(registry.current.map(\.state) == [.failed])
    let events: [DownloadRegistry.Event] = [
      .cancel(call: 1, identifier: "a", uniqueIdentifier: "u-a", state: .failed, caller: Self.app),
      .startForeground(call: 1, download: planned("a"), state: .failed, caller: Self.app),
      .pause(call: 1, uniqueIdentifier: "u-a"),
    ]
    for event in events { #expect(Self.code(registry.handle(event, at: 2)) == 103) }
    #expect(Self.code(registry.handle(.schedule(call: 2, download: planned("a"), caller: Self.awake), at: 3)) == nil)
    #expect(registry.current.map(\.state) == [.waiting])
  }

  @Test(
    "Essential downloads have their urgency from the start; of those with a taken identifier each is rejected [B51, L3]"
  )
  func plannedOnes() {
    var registry = Self.scheduled("taken")
    var taken = planned("taken", essential: true)
    taken.uniqueIdentifier = "u-2"
    let effects = registry.handle(
      .planned(downloads: [planned("e", essential: true), taken, planned("b")], generation: 1), at: 1
    )
    #expect(registry.entry(identifier: "e")?.urgency == .essential)
    #expect(registry.entry(identifier: "b")?.urgency == .background)
    let rejected = effects.compactMap { if case .reject(let unique, let why) = $0 { (unique, why.code) } else { nil } }
    #expect(rejected.map(\.0) == ["u-2"] && rejected.map(\.1) == [100])
  }

  @Test("Manifests take no identifier from anybody, nor from each other [B4, B36]")
  func manifests() {
    var registry = Self.scheduled("taken")
    for generation in 1...2 {
      var manifest = planned("taken")
      manifest.uniqueIdentifier = "m-\(generation)"
      let effects = registry.handle(.plannedManifest(manifest, generation: generation, isAwaited: false), at: 1)
      #expect(effects.count == 2)
    }
    #expect(registry.entry(identifier: "taken")?.isManifest == false)
  }

  @Test("Who promotes all that is there promotes a manifest, too, unless a user waits for it anyway [B33, B37]")
  func promotedManifest() {
    var registry = DownloadRegistry()
    for (name, isAwaited) in [("now", true), ("later", false)] {
      let manifest = planned(name, essential: isAwaited)
      _ = registry.handle(.plannedManifest(manifest, generation: 1, isAwaited: isAwaited), at: 1)
      let effects = registry.handle(
        .startForeground(call: 1, download: manifest, state: .waiting, caller: Self.app), at: 2)
      #expect(effects.last == .accept(call: 1, uniqueIdentifier: "u-\(name)"))
      #expect(Self.urgency(effects) == (isAwaited ? nil : .foreground))
    }
  }

  @Test("What is abandoned is cancelled, and no app is told of its end")
  func abandoned() {
    var registry = Self.scheduled()
    let effects = registry.handle(.abandoned(uniqueIdentifier: "u-a"), at: 1)
    #expect(effects.last == .cancel(uniqueIdentifier: "u-a"))
    for settlement in [Settlement.cancelled, .finished(size: 1), .failed(AppLifecycleTests.failure)] {
      #expect(registry.handle(.engineSettled(uniqueIdentifier: "u-a", settlement: settlement), at: 2).isEmpty)
    }
    #expect(registry.handle(.abandoned(uniqueIdentifier: "u-a"), at: 3).isEmpty)
  }

  @Test("A paused installation pauses its downloads, and resumes all but those that were paused by themselves [B49]")
  func pausedInstallation() {
    var registry = Self.scheduled("outside")
    let names = ["x", "y"]
    _ = registry.handle(
      .planned(downloads: names.map { planned($0, essential: true) }, generation: 1), at: 1)
    _ = registry.handle(.pause(call: 1, uniqueIdentifier: "u-y"), at: 2)
    #expect(registry.handle(.pauseGeneration(1), at: 3) == [.pause(uniqueIdentifier: "u-x")])
    #expect(registry.handle(.pauseGeneration(1), at: 3).isEmpty)
    #expect(registry.handle(.resumeGeneration(1), at: 4) == [.resume(uniqueIdentifier: "u-x")])
  }

  @Test("After the service died unconfirmed commands are given again, and no download is in the foreground [B37]")
  func restarted() {
    var registry = Self.scheduled("known")
    _ = registry.handle(.engineAdded(uniqueIdentifier: "u-known"), at: 1)
    _ = registry.handle(.startForeground(call: 1, download: planned("new"), state: .created, caller: Self.app), at: 1)
    _ = registry.handle(
      .cancel(call: 2, identifier: "known", uniqueIdentifier: "u-known", state: .waiting, caller: Self.app), at: 1)
    let effects = registry.handle(.restarted, at: 2)
    #expect(effects.contains(.cancel(uniqueIdentifier: "u-known")))
    #expect(effects.contains(.add(planned("new"), urgency: .background, owner: .app, isPaused: false)))
    #expect(Self.urgency(effects) == .background)
  }

  @Test("Killed as the gate opens, it tells the engine again that essential downloads are background ones [B51]")
  func restartedAfterGate() {
    var registry = DownloadRegistry()
    _ = registry.handle(
      .planned(downloads: [planned("e", essential: true)], generation: 1), at: 1)
    _ = registry.handle(.engineAdded(uniqueIdentifier: "u-e"), at: 1)
    #expect(Self.urgency(registry.handle(.restarted, at: 2)) == nil)
    // Asked again meanwhile: its downloads belong to the first time.
    #expect(Self.urgency(registry.handle(.gateOpened(generation: 2), at: 3)) == .background)
    var again = DownloadRegistry(entries: registry.entries.values)
    #expect(Self.urgency(again.handle(.restarted, at: 4)) == .background)
  }

  @Test("Made again from its rows, it takes back from the engine what connections had promoted [B37]")
  func restartedFromRows() {
    var registry = Self.scheduled("x")
    _ = registry.handle(.engineAdded(uniqueIdentifier: "u-x"), at: 1)
    _ = registry.handle(.startForeground(call: 1, download: planned("x"), state: .waiting, caller: Self.app), at: 1)
    var again = DownloadRegistry(entries: registry.entries.values)
    let effects = again.handle(.restarted, at: 2)
    #expect(Self.urgency(effects) == .background)
    #expect(again.entries["u-x"]?.promotedBy == [])
  }

  @Test("Among 100,000 downloads an operation concerns one of them [B36, B37]", .timeLimit(.minutes(5)))
  func many() {
    var registry = DownloadRegistry()
    let count = 100_000
    let all = (0..<count).map { planned("\($0)") }
    #expect(registry.handle(.planned(downloads: all, generation: 1), at: 0).count == 2 * count)
    // An operation that looked at all of them would make 500 million looks of this.
    for number in 0..<5000 {
      let caller = DownloadRegistry.Caller.app(connection: Int64(number % 10), isActive: true)
      let promoted = registry.handle(
        .startForeground(call: 1, download: all[number], state: .waiting, caller: caller), at: 1)
      #expect(promoted.count == 3)
    }
    #expect((0..<10).map { registry.handle(.connectionLeft($0), at: 2).count } == Array(repeating: 1000, count: 10))
    for number in 0..<5000 {
      #expect(
        registry.handle(.engineSettled(uniqueIdentifier: "u-\(number)", settlement: .finished(size: 1)), at: 3).count
          == 2)
    }
    #expect(registry.entries.count == count - 5000)
  }
}
