import Basics
import Sandbox
import TestSupport
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct WatchdogTests {
  private static let second = Duration.seconds(1)
  static let limits: Limits = {
    var limits = Limits(wallTime: .seconds(30), cpu: .seconds(10), memory: 1 << 20)
    limits.cpuTotal = .seconds(25)
    return limits
  }()

  static func calling(cores: Int = 2, at start: Duration = .zero) -> Watchdog {
    var dog = Watchdog(limits: limits, cores: cores, looksOften: false, now: start)
    dog.callBegan(at: start, cpu: .zero)
    return dog
  }

  @Test("A call that takes too long ends the run [B24]") func wallTimeEndsACall() {
    var dog = Self.calling(at: .seconds(100))
    #expect(dog.wallDeadline == .seconds(130))
    #expect(dog.tick(at: .milliseconds(129_999), cpu: .zero, memory: 0) == .none)
    #expect(dog.nextTick(after: .milliseconds(129_999)) == .seconds(130))
    #expect(dog.tick(at: .seconds(130), cpu: .zero, memory: 0) == .kill(.wallTimeExceeded(limit: .seconds(30))))
  }

  /// Its host was stopped, or the machine asleep, while the answer lay there.
  @Test func anAnswerThatIsThereIsInTime() {
    var dog = Self.calling()
    #expect(dog.tick(at: .seconds(40), cpu: .zero, memory: 0, hasAnswered: true) == .none)
    let cpu = Watchdog.Verdict.cpuTimeExceeded(limit: .seconds(10), used: .seconds(10))
    #expect(dog.tick(at: .seconds(40), cpu: .seconds(10), memory: 0, hasAnswered: true) == .kill(cpu))
    let memory = Watchdog.Verdict.memoryExceeded(limit: 1 << 20, used: 2 << 20)
    #expect(dog.tick(at: .seconds(40), cpu: .zero, memory: 2 << 20, hasAnswered: true) == .kill(memory))
    dog = Self.calling()
    #expect(dog.tick(at: .seconds(40), cpu: .zero, memory: 0) == .kill(.wallTimeExceeded(limit: .seconds(30))))
  }

  /// Stopped with its host from the second second to the hundredth.
  @Test func timeThatItStoodStillIsntThePlugins() {
    var dog = Self.calling()
    dog.stood(still: .seconds(2), until: .seconds(100))
    #expect(dog.wallDeadline == .seconds(128))
    #expect(dog.tick(at: .seconds(127), cpu: .zero, memory: 0) == .none)
    dog.callEnded(at: .seconds(127))
    #expect(dog.wall == .seconds(29) && dog.isAtWork)
    // Between calls, and before one began, there is nothing to give back.
    dog.stood(still: .seconds(127), until: .seconds(130))
    dog.callBegan(at: .seconds(200), cpu: .zero)
    dog.stood(still: .seconds(190), until: .seconds(201))
    #expect(dog.wallDeadline == .seconds(231))
    dog.end(at: .seconds(202))
    #expect(!dog.isAtWork)
  }

  @Test(
    "time in which the host made no look isn't the plugin's, and a look that is a little late changes nothing [H20]")
  func looksThatComeLate() {
    var dog = Self.calling()
    func look(_ now: Duration, cpu: Duration = .zero) -> Watchdog.Action {
      dog.checked(at: now)
      return dog.tick(at: now, cpu: cpu, memory: 0)
    }
    var now = Duration.zero
    for _ in 0..<20 {
      now += Watchdog.longestGap
      #expect(look(now) == .none)
    }
    #expect(dog.wallDeadline == .seconds(30) && dog.stood == .zero)
    // A machine that slept for an hour.
    now += .seconds(3600)
    #expect(look(now) == .none)
    #expect(dog.wallDeadline == .seconds(3630) && dog.stood == .seconds(3600))
    // Its server tells of a part of the same time afterwards.
    dog.stood(still: now - .seconds(1800), until: now)
    #expect(dog.wallDeadline == .seconds(3630))
    // CPU time counts as ever.
    let cpu = Watchdog.Verdict.cpuTimeExceeded(limit: .seconds(10), used: .seconds(11))
    var other = dog
    #expect(other.tick(at: now, cpu: .seconds(11), memory: 0) == .kill(cpu))
    while now < .seconds(3630) - Watchdog.longSampling {
      now += Watchdog.longSampling
      #expect(look(now) == .none)
    }
    #expect(look(.seconds(3630)) == .kill(.wallTimeExceeded(limit: .seconds(30))))
  }

  @Test("a gap that began before its call takes nothing from it") func looksBeforeTheCall() {
    var dog = Self.calling()
    dog.callEnded(at: .seconds(1))
    dog.callBegan(at: .seconds(9), cpu: .zero)
    dog.checked(at: .seconds(10))
    #expect(dog.wallDeadline == .seconds(40) && dog.stood == .seconds(1))
  }

  @Test("what a load's reading took is its time, however long its walls took to close", arguments: [1, 900])
  func readingIsTheLoads(milliseconds: Int) {
    var dog = Watchdog(limits: Self.limits, cores: 2, looksOften: true, now: .zero)
    let now = Duration.milliseconds(milliseconds)
    dog.callBegan(at: now, cpu: .zero, after: .seconds(30))
    dog.checked(at: now + .milliseconds(1))
    #expect(dog.stood == .zero && dog.wallDeadline == now)
    let verdict = Watchdog.Verdict.wallTimeExceeded(limit: .seconds(30))
    #expect(dog.tick(at: now + .milliseconds(1), cpu: .zero, memory: 0) == .kill(verdict))
  }

  @Test func wallTimeIsThatOfOneCall() {
    var dog = Self.calling()
    dog.callEnded(at: .seconds(29))
    dog.callBegan(at: .seconds(29), cpu: .zero)
    #expect(dog.tick(at: .seconds(58), cpu: .zero, memory: nil) == .none)
    dog.callEnded(at: .seconds(58))
    #expect(dog.wall == .seconds(58))
    #expect(dog.wallDeadline == nil)
    #expect(dog.tick(at: .seconds(58), cpu: .zero, memory: nil) == .none, "between calls no time is counted")
  }

  @Test func cpuTimeOfOneCall() {
    var dog = Self.calling()
    #expect(dog.tick(at: .seconds(5), cpu: .milliseconds(9999), memory: 0) == .none)
    let verdict = Watchdog.Verdict.cpuTimeExceeded(limit: .seconds(10), used: .seconds(10))
    #expect(dog.tick(at: .seconds(6), cpu: .seconds(10), memory: 0) == .kill(verdict))
  }

  @Test func anActivityGoesOnByTheClocksOfItsCall() {
    var dog = Self.calling()
    dog.callEnded(at: .seconds(10))
    var now = Duration.seconds(10)
    // Begun and ended again and again, with what is used in between.
    while now < .seconds(30) {
      dog.activityBegan(at: now, cpu: .zero)
      #expect(dog.wallDeadline == .seconds(30))
      #expect(dog.tick(at: now, cpu: .zero, memory: 0) == .none)
      dog.callEnded(at: now + .milliseconds(100))
      now += .milliseconds(101)
    }
    dog.activityBegan(at: now, cpu: .zero)
    #expect(dog.nextTick(after: now) == now)
    #expect(dog.tick(at: now, cpu: .zero, memory: 0) == .kill(.wallTimeExceeded(limit: .seconds(30))))
  }

  @Test("Every moment of a call is either the plugin's time or one in which it stood still, and told as such")
  func noTimeIsLost() {
    var random = SeededGenerator(seed: 20_261_125)
    for _ in 0..<200 {
      var dog = Watchdog(limits: Self.limits, cores: 2, looksOften: false, now: .zero)
      var (now, inside) = (Duration.zero, Duration.zero)
      for _ in 0..<random.below(6) {
        now += .milliseconds(random.below(50))
        let begin = now
        dog.callBegan(at: now, cpu: .zero)
        for _ in 0..<random.below(5) {
          let since = now
          now += .milliseconds(random.below(50))
          // It may have stood still since before the call.
          if random.chance(2) { dog.stood(still: max(since - .milliseconds(random.below(5)), .zero), until: now) }
          if random.chance(4) { dog.waitBegan(at: now) }
          if random.chance(4) { dog.waitEnded(at: now) }
        }
        dog.callEnded(at: now)
        inside += now - begin
      }
      #expect(dog.wall + dog.stood == inside)
      #expect(dog.wall >= .zero && dog.stood >= .zero)
    }
  }

  @Test func betweenActivitiesCPUTimeCounts() {
    var dog = Self.calling()
    #expect(dog.tick(at: .seconds(1), cpu: .seconds(4), memory: 0) == .none)
    dog.callEnded(at: .seconds(1))
    dog.activityBegan(at: .seconds(2), cpu: .seconds(9))
    #expect(
      dog.tick(at: .seconds(3), cpu: .seconds(10), memory: 0)
        == .kill(.cpuTimeExceeded(limit: .seconds(10), used: .seconds(10))))
  }

  @Test func timeAsleepIsNoTimeOfAnActivity() {
    var dog = Self.calling()
    dog.callEnded(at: Self.second)
    #expect(dog.tick(at: .seconds(2), cpu: .zero, memory: 0) == .freeze)
    dog.activityBegan(at: .seconds(1002), cpu: .zero)
    #expect(!dog.isFrozen)
    #expect(dog.wallDeadline == .seconds(1030))
    dog.callEnded(at: .seconds(1012))
    #expect(dog.wall == .seconds(11))
    dog.callBegan(at: .seconds(1012), cpu: .zero)
    #expect(dog.wallDeadline == .seconds(1042), "a call has all of its time")
  }

  @Test func cpuTimeOfTheRun() {
    var dog = Self.calling()
    for call in 1...2 {
      let now = Duration.seconds(10 * call)
      #expect(dog.tick(at: now, cpu: .seconds(9 * call), memory: 0) == .none)
      dog.callEnded(at: now)
      dog.callBegan(at: now, cpu: .seconds(9 * call))
    }
    let verdict = Watchdog.Verdict.cpuTimeExceeded(limit: .seconds(25), used: .seconds(25))
    #expect(dog.tick(at: .seconds(25), cpu: .milliseconds(24_999), memory: 0) == .none)
    #expect(dog.tick(at: .seconds(26), cpu: .seconds(25), memory: 0) == .kill(verdict))
  }

  @Test func aMeterThatGoesBackIsntBelieved() {
    var dog = Self.calling()
    _ = dog.tick(at: .seconds(1), cpu: .seconds(9), memory: 0)
    dog.callEnded(at: .seconds(1))
    dog.callBegan(at: .seconds(1), cpu: .seconds(2))
    #expect(dog.tick(at: .seconds(2), cpu: .seconds(18), memory: 0) == .none, "this call used 9, not 16")
  }

  @Test("A run that takes more memory than its limit is ended [B16]") func memory() {
    var dog = Self.calling()
    #expect(dog.tick(at: Self.second, cpu: .zero, memory: 1 << 20) == .none, "the limit itself is allowed")
    #expect(dog.tick(at: Self.second, cpu: .zero, memory: nil) == .none)
    let verdict = Watchdog.Verdict.memoryExceeded(limit: 1 << 20, used: 1 << 20 | 1)
    #expect(dog.tick(at: Self.second, cpu: .zero, memory: 1 << 20 | 1) == .kill(verdict))
    #expect(dog.peakMemory == 1 << 20 | 1)
  }

  @Test func memoryIsCheckedBetweenCallsToo() {
    var dog = Self.calling()
    dog.callEnded(at: Self.second)
    #expect(
      dog.tick(at: Self.second, cpu: .zero, memory: 2 << 20) == .kill(.memoryExceeded(limit: 1 << 20, used: 2 << 20)))
  }

  @Test func memoryIsTheCauseWhenAllIsOver() {
    var dog = Self.calling()
    #expect(
      dog.tick(at: .seconds(60), cpu: .seconds(60), memory: 2 << 20)
        == .kill(.memoryExceeded(limit: 1 << 20, used: 2 << 20)))
  }

  @Test func sleepsAfterItsGrace() {
    var dog = Watchdog(limits: Self.limits, cores: 1, looksOften: true, now: .zero)
    dog.callBegan(at: .zero, cpu: .zero)
    dog.callEnded(at: .seconds(5))
    let due = Duration.seconds(5) + Watchdog.graceBeforeFreeze
    #expect(dog.nextTick(after: .seconds(5)) == due)
    #expect(dog.tick(at: .seconds(5), cpu: .zero, memory: 0) == .none)
    #expect(dog.tick(at: due, cpu: .zero, memory: 0) == .freeze)
    #expect(dog.isFrozen)
    #expect(dog.nextTick(after: due) == nil, "one that sleeps costs nothing")
  }

  /// A runner that is stopped while it closes its walls would never close them, and no call would wake it.
  @Test(arguments: 1...4 as ClosedRange<UInt64>) func aRunnerThatClosesItsWallsIsNeverFrozen(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      var dog = Watchdog(limits: Self.limits, cores: 1, looksOften: .random(using: &random), now: .zero)
      var now = Duration.zero
      for _ in 0..<15 {
        now += .milliseconds(Int.random(in: 0...999, using: &random))
        if Bool.random(using: &random) { dog.stood(still: now - .milliseconds(5), until: now) }
        #expect(dog.tick(at: now, cpu: .zero, memory: nil) == .none)
        #expect(!dog.isAtWork && !dog.isFrozen && dog.nextTick(after: now) != nil)
      }
      dog.callBegan(at: now, cpu: .zero)
      #expect(dog.isAtWork && dog.wallDeadline == now + Self.limits.wallTime)
    }
  }

  @Test func wallsThatAreNeverClosedEndTheRun() {
    var dog = Watchdog(limits: Self.limits, cores: 1, looksOften: false, now: .zero)
    // However long the machine slept, that is one look.
    #expect(dog.tick(at: .seconds(86_400), cpu: .zero, memory: nil) == .none)
    var now = Duration.seconds(86_400)
    var looks = 1
    while let due = dog.nextTick(after: now), looks < 100 {
      now = due
      looks += 1
      guard dog.tick(at: now, cpu: .zero, memory: nil) == .none else { break }
    }
    #expect(looks == 20)
    #expect(
      dog.tick(at: now + .seconds(1), cpu: .zero, memory: nil)
        == .kill(.preparationTimeExceeded(limit: Watchdog.preparationLimit)))
  }

  @Test func aCallWithinTheGraceFindsItAwake() {
    var dog = Self.calling()
    dog.callEnded(at: Self.second)
    dog.callBegan(at: Self.second + .microseconds(500), cpu: .zero)
    #expect(dog.tick(at: Self.second + Watchdog.graceBeforeFreeze, cpu: .zero, memory: 0) == .none)
    #expect(!dog.isFrozen)
  }

  /// Suspended for a day, nothing counts; then a call has all of its time.
  @Test func sleepIsNoTime() {
    var dog = Self.calling()
    dog.callEnded(at: Self.second)
    #expect(dog.tick(at: .seconds(2), cpu: .zero, memory: 0) == .freeze)
    let day = Duration.seconds(86_400)
    #expect(dog.tick(at: day, cpu: .seconds(9), memory: 9 << 20) == .none)
    dog.callBegan(at: day, cpu: .zero)
    #expect(!dog.isFrozen)
    #expect(dog.wallDeadline == day + .seconds(30))
    #expect(dog.tick(at: day + .seconds(29), cpu: .zero, memory: 0) == .none)
    dog.callEnded(at: day + .seconds(29))
    #expect(dog.wall == .seconds(30))
  }

  @Test func theFirstVerdictStands() {
    var dog = Self.calling()
    #expect(dog.tick(at: .seconds(30), cpu: .zero, memory: 0) == .kill(.wallTimeExceeded(limit: .seconds(30))))
    dog.end(at: .seconds(30))
    #expect(dog.tick(at: .seconds(31), cpu: .seconds(99), memory: 9 << 20) == .none)
    #expect(dog.nextTick(after: .seconds(31)) == nil)
    dog.callBegan(at: .seconds(32), cpu: .zero)
    dog.callEnded(at: .seconds(99))
    #expect(dog.tick(at: .seconds(99), cpu: .zero, memory: 9 << 20) == .none)
    #expect(dog.wall == .seconds(30))
    #expect(dog.wallDeadline == nil)
  }

  @Test(arguments: [(true, Watchdog.longSampling), (false, Watchdog.shortSampling)])
  func samples(_ hasCgroup: Bool, _ sampling: Duration) {
    var dog = Watchdog(limits: Self.limits, cores: 4, looksOften: !hasCgroup, now: .zero)
    dog.callBegan(at: .zero, cpu: .zero)
    #expect(dog.nextTick(after: .zero) == sampling)
  }

  /// Calls shorter than the sampling, one right after the other.
  @Test(arguments: [true, false]) func shortCallsDontPutOffTheNextSample(_ hasCgroup: Bool) throws {
    let step = Duration.microseconds(400)
    var dog = Watchdog(limits: Self.limits, cores: 1, looksOften: !hasCgroup, now: .zero)
    var now = Duration.zero
    var samples = 0
    for index in 0..<1000 {
      if index.isMultiple(of: 2) { dog.callBegan(at: now, cpu: .zero) } else { dog.callEnded(at: now) }
      let due = try #require(dog.nextTick(after: now))
      now += step
      if due <= now {
        #expect(dog.tick(at: now, cpu: .zero, memory: 0) == .none)
        samples += 1
      }
    }
    // 400 ms: a sample every 1 ms or 10 ms, but for what the calls' own rhythm rounds up.
    #expect(samples >= (hasCgroup ? 35 : 130))
  }

  @Test func asksInTimeForTheLastOfTheCPUTime() {
    var dog = Self.calling(cores: 4)
    #expect(dog.tick(at: .seconds(3), cpu: .milliseconds(9_980), memory: 0) == .none)
    #expect(dog.nextTick(after: .seconds(3)) == .seconds(3) + .milliseconds(5), "four cores burn 20 ms in 5")
  }
}
