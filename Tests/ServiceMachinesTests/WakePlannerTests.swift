import AssetModel
import Testing

@testable import ServiceMachines

@Suite(.timeLimit(.minutes(2))) struct WakePlannerTests {
  typealias Effect = WakePlanner.Effect

  static func planner(_ apps: [String] = ["a"], settings: ServiceSettings = .init()) -> WakePlanner {
    var planner = WakePlanner(settings: settings, seed: 1)
    for app in apps { _ = planner.handle(.installed(app: app, version: "1"), at: 0) }
    return planner
  }

  static func request(
    _ app: String = "a", token: Int = 1, _ reason: WakeReason = .content(.install), digest: String = "d",
    gate: Bool = false, simulated: Bool = false
  ) -> WakeRequest {
    WakeRequest(
      app: app, token: token, reason: reason, manifestDigest: digest, isGateClosed: gate, isSimulated: simulated)
  }

  static func runs(_ effects: [Effect]) -> [Int64] {
    effects.compactMap { if case .wake(let grant) = $0 { grant.run } else { nil } }
  }

  static func refusal(_ effects: [Effect]) -> WakeRefusal? {
    effects.lazy.compactMap { if case .refuse(_, let refusal) = $0 { refusal } else { nil } }.first
  }

  @Test("Runtime is reserved before a run, and what was used replaces it afterwards [B18, B20]")
  func reserveAndReplace() {
    var planner = Self.planner()
    #expect(Self.runs(planner.handle(.requested(Self.request()), at: 1)) == [1])
    #expect(planner.apps["a"]?.runtime.reserved == WakePlanner.slice)
    _ = planner.handle(.ended(run: 1, runtime: .seconds(4), end: .returned), at: 9)
    #expect(planner.apps["a"]?.runtime.reserved == .zero && planner.apps["a"]?.runtime.charged == .seconds(4))
  }

  @Test("What was reserved is spent when the service dies in the middle [B18]")
  func crashGivesNoRuntime() {
    var planner = Self.planner()
    _ = planner.handle(.requested(Self.request()), at: 1)
    _ = planner.handle(.restarted, at: 2)
    #expect(planner.apps["a"]?.runtime.used == WakePlanner.slice && planner.runs.isEmpty)
  }

  @Test("A spent runtime refuses with the moment of its renewal, and is there again then [B19, X1]")
  func spent() {
    var planner = Self.planner()
    for token in 1...10 {
      let runs = Self.runs(planner.handle(.requested(Self.request(token: token)), at: 10))
      #expect(runs.count == 1)
      _ = planner.handle(.ended(run: runs[0], runtime: .seconds(60), end: .returned), at: 10)
    }
    let renewal = Instant(seconds: 10 + 86_400)
    #expect(
      Self.refusal(planner.handle(.requested(Self.request(token: 11)), at: 20))
        == WakeRefusal(reason: .runtimeSpent, until: renewal))
    #expect(planner.apps["a"]?.lastRefusal?.reason == .runtimeSpent)
    #expect(planner.handle(.tick, now: renewal).contains(.reconsider(app: "a")))
    #expect(Self.runs(planner.handle(.requested(Self.request(token: 12)), now: renewal)).count == 1)
  }

  @Test("A run that needs more gets more until the day's runtime is spent [B18]")
  func more() {
    var planner = Self.planner()
    _ = planner.handle(.requested(Self.request()), at: 1)
    for _ in 1...9 {
      #expect(planner.handle(.moreRequested(run: 1), at: 2) == [.extended(run: 1, runtime: .seconds(60))])
    }
    #expect(planner.handle(.moreRequested(run: 1), at: 2) == [.exhausted(run: 1)])
  }

  @Test("A simulated event's reset gives the whole runtime back [B26]")
  func reset() {
    var planner = Self.planner()
    _ = planner.handle(.requested(Self.request()), at: 1)
    _ = planner.handle(.ended(run: 1, runtime: .minutes(10), end: .runtimeBudgetExhausted), at: 2)
    #expect(Self.refusal(planner.handle(.requested(Self.request(token: 2)), at: 3))?.reason == .runtimeSpent)
    _ = planner.handle(.runtimeReset(app: "a"), at: 4)
    #expect(Self.runs(planner.handle(.requested(Self.request(token: 3)), at: 4)).count == 1)
  }

  @Test("A simulated event runs though what waited for its reset has used that up already [B26]")
  func simulatedAfterReset() throws {
    var settings = ServiceSettings()
    settings.apps["a"] = .init(dailyRuntime: .seconds(1))
    var planner = Self.planner()
    _ = planner.handle(.settingsChanged(settings), at: 0)
    func use(_ run: Int64) { _ = planner.handle(.ended(run: run, runtime: .milliseconds(20), end: .returned), at: 1) }
    _ = planner.handle(.requested(Self.request()), at: 1)
    use(1)
    let callbacks = WakeRequest(app: "a", token: 0, reason: .callbacks)
    #expect(Self.refusal(planner.handle(.requested(callbacks), at: 2))?.reason == .runtimeSpent)
    #expect(planner.handle(.runtimeReset(app: "a"), at: 3).contains(.reconsider(app: "a")))
    #expect(Self.runs(planner.handle(.requested(callbacks), at: 3)) == [2])
    // While that goes on and after it: the operator waits for this one.
    let simulated = WakeRequest(app: "a", token: 2, reason: .content(.periodic), isSimulated: true)
    #expect(planner.handle(.requested(simulated), at: 3).isEmpty)
    let effects = planner.handle(.ended(run: 2, runtime: .milliseconds(20), end: .returned), at: 4)
    let granted = effects.compactMap { if case .wake(let grant) = $0 { grant.runtime } else { nil } }
    #expect(granted == [.seconds(1)], "\(effects)")
    use(3)
    #expect(Self.refusal(planner.handle(.requested(Self.request(token: 3)), at: 5))?.reason == .runtimeSpent)
  }

  @Test("A much-used app has more runtime than a little-used one [B22]")
  func adaptive() {
    var planner = Self.planner(["much", "some", "never"])
    let day = 86_400.0
    for launch in 0..<16 { _ = planner.handle(.launched(app: "much"), at: 10 * day + Double(launch)) }
    _ = planner.handle(.launched(app: "some"), at: 10 * day)
    let now = Instant(seconds: 11 * day)
    #expect(planner.dailyRuntime(of: "much", now: now) == .minutes(15))
    #expect(planner.dailyRuntime(of: "some", now: now) == .minutes(10))
    #expect(planner.dailyRuntime(of: "never", now: now) == .seconds(150))
  }

  @Test("Low power and background activity switched off refuse, end what runs, and ask again afterwards [B10]")
  func situation() {
    for isPower in [true, false] {
      var planner = Self.planner()
      _ = planner.handle(.requested(Self.request()), at: 1)
      var off = ServiceSettings()
      off.isBackgroundActivityAllowed = false
      let reason: WakeRefusal.Reason = isPower ? .lowPower : .backgroundActivityOff
      let change: WakePlanner.Event = isPower ? .conditionsChanged(.init(isLowPower: true)) : .settingsChanged(off)
      #expect(planner.handle(change, at: 2) == [.end(run: 1, refusal: WakeRefusal(reason: reason))])
      #expect(Self.refusal(planner.handle(.requested(Self.request(token: 2)), at: 3))?.reason == reason)
      let back: WakePlanner.Event = isPower ? .conditionsChanged(.init()) : .settingsChanged(.init())
      #expect(planner.handle(back, at: 4).contains(.reconsider(app: "a")))
    }
  }

  @Test("Background activity switched off for one app leaves the others alone [B10]")
  func oneApp() {
    var settings = ServiceSettings()
    settings.apps["a"] = .init(isBackgroundActivityAllowed: false)
    var planner = Self.planner(["a", "b"], settings: settings)
    #expect(Self.refusal(planner.handle(.requested(Self.request("a")), at: 1))?.reason == .backgroundActivityOff)
    #expect(Self.runs(planner.handle(.requested(Self.request("b")), at: 1)).count == 1)
  }

  @Test("With content before the first launch switched off, the launch ends the refusal [B9]")
  func beforeLaunch() {
    var settings = ServiceSettings()
    settings.isContentBeforeLaunchAllowed = false
    var planner = Self.planner(settings: settings)
    #expect(Self.refusal(planner.handle(.requested(Self.request()), at: 1))?.reason == .contentBeforeLaunchOff)
    #expect(planner.handle(.launched(app: "a"), at: 2) == [.reconsider(app: "a")])
    #expect(Self.runs(planner.handle(.requested(Self.request(token: 2)), at: 3)).count == 1)
  }

  @Test("A crash quarantines the manifest, longer each time; a changed one and a new version end it at once")
  func quarantine() throws {
    var planner = Self.planner()
    var now = Instant(seconds: 1)
    var last = Duration.zero
    for failure in 1...6 {
      _ = planner.handle(.requested(Self.request(token: failure)), now: now)
      _ = planner.handle(.ended(run: Int64(failure), runtime: .seconds(1), end: .crashed), now: now)
      let quarantine = try #require(planner.apps["a"]?.quarantine)
      #expect(quarantine.failures == failure)
      let delay = quarantine.until - now
      #expect(delay > last && delay >= .minutes(11))
      last = delay
      let refusal = Self.refusal(planner.handle(.requested(Self.request(token: 100)), now: now))
      #expect(refusal == WakeRefusal(reason: .quarantined, until: quarantine.until))
      now = quarantine.until
    }
    let before = Instant(seconds: now.seconds - 1)
    var changed = planner
    #expect(Self.runs(changed.handle(.requested(Self.request(token: 7, digest: "e")), now: before)).count == 1)
    _ = planner.handle(.installed(app: "a", version: "2"), now: before)
    #expect(Self.runs(planner.handle(.requested(Self.request(token: 7)), now: before)).count == 1)
  }

  @Test("A refusal is told as long as what it was for lasts")
  func standingRefusal() throws {
    var planner = Self.planner()
    #expect(planner.standingRefusal("a", now: Instant(seconds: 1)) == nil)
    _ = planner.handle(.requested(Self.request(token: 1)), at: 1)
    _ = planner.handle(.ended(run: 1, runtime: .seconds(1), end: .crashed), at: 1)
    let refusal = Self.refusal(planner.handle(.requested(Self.request(token: 2)), at: 2))
    #expect(refusal?.reason == .quarantined && planner.standingRefusal("a", now: Instant(seconds: 3)) == refusal)
    let until = try #require(refusal?.until)
    #expect(planner.standingRefusal("a", now: until) == nil)
    var updated = planner
    _ = updated.handle(.installed(app: "a", version: "2"), at: 3)
    #expect(updated.standingRefusal("a", now: Instant(seconds: 3)) == nil)
    _ = planner.handle(.conditionsChanged(Conditions(isLowPower: true)), at: 3)
    _ = planner.handle(.requested(Self.request(token: 3)), at: 3)
    #expect(planner.standingRefusal("a", now: Instant(seconds: 4))?.reason == .lowPower)
    _ = planner.handle(.conditionsChanged(Conditions()), at: 4)
    #expect(planner.standingRefusal("a", now: Instant(seconds: 4)) == nil)
  }

  @Test(
    "What isn't the extension's fault quarantines nothing", arguments: RunEnd.allCases.filter { !$0.isFaultOfExtension }
  )
  func noFault(end: RunEnd) {
    var planner = Self.planner()
    _ = planner.handle(.requested(Self.request()), at: 1)
    _ = planner.handle(.ended(run: 1, runtime: .seconds(1), end: end), at: 2)
    #expect(planner.apps["a"]?.quarantine == nil)
  }

  @Test("Who waits at a gate goes first, and among the others the one that waited longest")
  func order() {
    var planner = Self.planner(["a", "b", "c", "d"])
    planner.settings.maxWakes = 1
    #expect(Self.runs(planner.handle(.requested(Self.request("a")), at: 1)) == [1])
    for app in ["a", "b", "c"] {
      #expect(planner.handle(.requested(Self.request(app, token: 2, .content(.periodic))), at: 2).isEmpty)
    }
    #expect(planner.handle(.requested(Self.request("d", token: 2, gate: true)), at: 3).isEmpty)
    var order: [String] = []
    for run in 1...4 {
      guard
        case .wake(let grant)? = planner.handle(.ended(run: Int64(run), runtime: .zero, end: .returned), at: 4).first
      else { break }
      order.append(grant.request.app)
    }
    #expect(order == ["d", "b", "c", "a"])
  }

  @Test("Callbacks that come while a run for callbacks ends get a run of their own [B13]")
  func callbacksAgain() {
    var planner = Self.planner()
    let callbacks = Self.request(token: 0, .callbacks)
    #expect(Self.runs(planner.handle(.requested(callbacks), at: 1)) == [1])
    #expect(planner.handle(.requested(callbacks), at: 2).isEmpty, "one run of an app at a time")
    #expect(Self.runs(planner.handle(.ended(run: 1, runtime: .zero, end: .returned), at: 3)) == [2])
  }

  @Test("Callbacks whose run the host couldn't make are asked for again after a few seconds, and not at once [B13]")
  func hostFailed() {
    var planner = Self.planner()
    let request = Self.request(token: 0, .callbacks)
    #expect(Self.runs(planner.handle(.requested(request), at: 1)) == [1])
    _ = planner.handle(.ended(run: 1, runtime: .zero, end: .hostFailed), at: 2)
    let until = Instant(seconds: 2) + WakePlanner.hostFailureDelay
    #expect(
      Self.refusal(planner.handle(.requested(request), at: 2)) == WakeRefusal(reason: .hostFailed, until: until))
    #expect(planner.nextDeadline == until)
    #expect(planner.handle(.tick, now: until) == [.reconsider(app: "a")])
    #expect(Self.runs(planner.handle(.requested(request), now: until)) == [2])
  }

  @Test("The same request again, because the service doesn't know whether it was made, is the same run")
  func again() {
    var planner = Self.planner()
    let first = planner.handle(.requested(Self.request()), at: 1)
    #expect(planner.handle(.requested(Self.request()), at: 2) == first)
  }
}
