import AssetModel
import Testing

@testable import ServiceMachines

@Suite(.timeLimit(.minutes(2))) struct PeriodicWakeTests {
  static let day = 86_400.0

  /// Moments of periodic wakes over `days`, in seconds.
  static func wakes(
    _ planner: inout WakePlanner, from: Double = 0, days: Double,
    each: (Double, inout WakePlanner) -> Void = { _, _ in }
  ) -> [Double] {
    var moments: [Double] = []
    var now = Instant(seconds: from)
    while let next = planner.nextDeadline, next.seconds < from + days * day {
      now = max(now, next)
      each(now.seconds, &planner)
      if planner.handle(.tick, now: now).contains(.periodicDue(app: "a")) { moments.append(now.seconds) }
    }
    return moments
  }

  @Test("Periodic wakes of an app that is never launched subside [B23]")
  func subside() {
    var planner = WakePlannerTests.planner()
    let moments = Self.wakes(&planner, days: 365)
    #expect((3...5).contains(moments.count))
    let gaps = zip(moments.dropFirst(), moments).map { $0 - $1 }
    #expect(gaps == gaps.sorted() && planner.apps["a"]?.nextPeriodic == nil)
    // A launch brings them back.
    _ = planner.handle(.launched(app: "a"), at: 366 * Self.day)
    #expect(planner.apps["a"]?.nextPeriodic != nil)
  }

  @Test("An interval that the user sets counts at once, for all apps or for one, until it is taken back [B3, L17]")
  func bySetting() throws {
    var planner = WakePlannerTests.planner(["a", "b"])
    let before = try #require(planner.apps["b"]?.nextPeriodic)
    var settings = ServiceSettings()
    settings.apps["a"] = .init(periodicInterval: .minutes(10))
    _ = planner.handle(.settingsChanged(settings), now: .start)
    let next = try #require(planner.apps["a"]?.nextPeriodic)
    #expect(next >= .start + .minutes(5) && next <= .start + .minutes(15))
    #expect(planner.apps["b"]?.nextPeriodic == before)
    #expect(planner.handle(.tick, now: next) == [.periodicDue(app: "a")])
    let second = try #require(planner.apps["a"]?.nextPeriodic)
    #expect(second - next == .minutes(10))
    settings.apps = [:]
    _ = planner.handle(.settingsChanged(settings), now: next)
    #expect(try #require(planner.apps["a"]?.nextPeriodic) - next > .hours(10))
  }

  @Test("The more an app is used, the more often it is woken [B22]")
  func byUse() {
    var counts: [Int] = []
    for launchesPerMonth in [1, 10, 60] {
      var planner = WakePlannerTests.planner()
      var launched = 0
      let moments = Self.wakes(&planner, days: 60) { now, planner in
        while Double(launched) / Double(launchesPerMonth) * 30 * Self.day <= now {
          _ = planner.handle(.launched(app: "a"), at: now)
          _ = planner.handle(.exited(app: "a"), at: now)
          launched += 1
        }
      }
      counts.append(moments.count)
    }
    #expect(counts == counts.sorted() && Set(counts).count == 3, "\(counts)")
  }

  @Test("While the app runs there is no periodic wake; it comes soon after the app has ended [B1]")
  func notInUse() throws {
    var planner = WakePlannerTests.planner()
    let due = try #require(planner.nextDeadline)
    _ = planner.handle(.launched(app: "a"), now: .start)
    #expect(planner.nextDeadline == nil)
    #expect(planner.handle(.tick, now: due + .hours(30)).isEmpty)
    _ = planner.handle(.exited(app: "a"), now: due + .hours(40))
    let next = try #require(planner.nextDeadline)
    #expect(next > due + .hours(40) && next <= due + .hours(40) + .minutes(10))
    #expect(planner.handle(.tick, now: next) == [.periodicDue(app: "a")])
  }

  @Test(
    "In low power and without a network periodic wakes wait, and don't all come in the same second afterwards [B3, B10]"
  )
  func held() {
    let apps = (0..<50).map { "a\($0)" }
    var planner = WakePlannerTests.planner(apps)
    _ = planner.handle(.conditionsChanged(.init(isLowPower: true)), at: 1)
    #expect(planner.nextDeadline == nil)
    let later = Instant(seconds: 3 * Self.day)
    #expect(planner.handle(.tick, now: later).isEmpty)
    _ = planner.handle(.conditionsChanged(.init()), now: later)
    let moments = planner.apps.values.compactMap(\.nextPeriodic)
    #expect(moments.allSatisfy { $0 >= later && $0 <= later + .minutes(30) })
    #expect(Set(moments).count > 45)
  }

  @Test("A wake that was missed while the machine slept is made up, spread over two hours [B3]")
  func missed() throws {
    var planner = WakePlannerTests.planner()
    let late = try #require(planner.nextDeadline) + .hours(9)
    #expect(planner.handle(.tick, now: late).isEmpty)
    let next = try #require(planner.nextDeadline)
    #expect(next >= late && next <= late + WakePlanner.makeUpWindow)
    #expect(planner.handle(.tick, now: next) == [.periodicDue(app: "a")])
  }

  @Test(
    "Without a manifest the next moment comes within hours, further away each time, and a launch doesn't put it off")
  func failed() throws {
    var planner = WakePlannerTests.planner()
    let due = try #require(planner.nextDeadline)
    #expect(planner.handle(.tick, now: due) == [.periodicDue(app: "a")])
    _ = planner.handle(.periodicFailed(app: "a"), now: due)
    let next = try #require(planner.nextDeadline)
    #expect(next >= due + .minutes(30) && next <= due + .minutes(150))
    _ = planner.handle(.launched(app: "a"), now: due + .minutes(1))
    _ = planner.handle(.exited(app: "a"), now: due + .minutes(2))
    #expect(planner.nextDeadline == next)
    #expect(planner.handle(.tick, now: next) == [.periodicDue(app: "a")])
    _ = planner.handle(.periodicFailed(app: "a"), now: next)
    #expect(try #require(planner.nextDeadline) >= next + .hours(1))
  }

  @Test("The first periodic wakes of many machines lie evenly over the day [B3]")
  func spread() {
    var hours = Array(repeating: 0, count: 24)
    for seed in 0..<4800 {
      var planner = WakePlanner(seed: UInt64(seed))
      _ = planner.handle(.installed(app: "a", version: "1"), at: 0)
      hours[Int((planner.nextDeadline?.seconds ?? 0) / 3600) % 24] += 1
    }
    #expect(hours.allSatisfy { $0 > 130 && $0 < 270 }, "\(hours)")
  }

  @Test("In quarantine the manifest is still asked for, since a changed one ends it")
  func quarantined() throws {
    var planner = WakePlannerTests.planner()
    for token in 1...12 {
      _ = planner.handle(.requested(WakePlannerTests.request(token: token, simulated: true)), at: 1)
      _ = planner.handle(.ended(run: Int64(token), runtime: .zero, end: .crashed), at: 1)
    }
    let due = try #require(planner.apps["a"]?.nextPeriodic)
    #expect(planner.apps["a"]?.quarantine?.until ?? .start > due)
    #expect(planner.handle(.tick, now: due) == [.periodicDue(app: "a")])
  }
}
