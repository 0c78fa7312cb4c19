import Basics
import Sandbox
import TestSupport
import Testing

@testable import PluginHost

/// A runner and its clock, made up: what the watchdog says is compared with what really happened.
private struct Simulation {
  var random: SeededGenerator
  var dog: Watchdog
  let limits: Limits
  let cores: Int
  let sampling: Duration
  var now = Duration.zero
  var cpu = Duration.zero
  var memory = 0
  /// When the open call began, and the CPU time then.
  var call: (since: Duration, cpu: Duration)?
  /// What the call under way may take.
  private var callLimit = Duration.zero

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    var limits = Limits(
      wallTime: .milliseconds(1 + random.below(200)), cpu: .milliseconds(1 + random.below(100)),
      memory: 1 + random.below(1000))
    limits.cpuTotal = .milliseconds(1 + random.below(300))
    self.limits = limits
    cores = 1 + random.below(8)
    let hasCgroup = random.chance(2)
    sampling = hasCgroup ? Watchdog.longSampling : Watchdog.shortSampling
    dog = Watchdog(limits: limits, cores: cores, looksOften: !hasCgroup, now: .zero)
  }

  /// Lets time pass; a runner that sleeps burns none of it.
  mutating func advance(to later: Duration, load: Int) {
    if !dog.isFrozen { cpu += (later - now) * cores * load / 100 }
    now = later
  }

  /// Runs until a verdict or for so many steps; nil when everything was right.
  mutating func complaint(steps: Int) -> String? {
    begin()
    for _ in 0..<steps {
      let load = random.below(101)
      if random.chance(5) { memory = random.below(limits.memory * 2) * (random.chance(3) ? 1 : 0) / 2 }
      let event = now + .microseconds(random.below(60_000))
      guard let due = dog.nextTick(after: now) else {
        guard dog.isFrozen else { return "no tick is due, but nothing sleeps" }
        advance(to: event, load: load)
        begin()
        continue
      }
      if due < now { return "a tick is due in the past" }
      if due > now + max(sampling, Watchdog.graceBeforeFreeze) { return "a tick is due later than sampling allows" }
      if event < due {
        advance(to: event, load: load)
        if call == nil { begin() } else { finish() }
        continue
      }
      advance(to: due, load: load)
      if random.chance(20) { memory = limits.memory + 1 }
      let measured = random.chance(10) ? nil : memory
      let action = dog.tick(at: now, cpu: cpu, memory: measured)
      if let complaint = check(action, measured) { return complaint }
      if case .kill = action {
        dog.end(at: now)
        return dog.tick(at: now + limits.wallTime, cpu: cpu * 2, memory: .max) == .none ? nil : "a second verdict"
      }
    }
    return nil
  }

  private mutating func begin() {
    // Some callers give their calls less time, or more, which they don't get.
    let given: Duration? = random.chance(3) ? limits.wallTime * (random.below(20) + 1) / 10 : nil
    callLimit = min(given ?? limits.wallTime, limits.wallTime)
    dog.callBegan(at: now, cpu: cpu, limit: given)
    call = (now, cpu)
  }

  private mutating func finish() {
    dog.callEnded(at: now)
    call = nil
  }

  private func check(_ action: Watchdog.Action, _ measured: Int?) -> String? {
    let used = call.map { cpu - $0.cpu } ?? .zero
    let wall = call.map { now - $0.since } ?? .zero
    let isOver =
      measured.map { $0 > limits.memory } ?? false
      || call != nil && (used >= limits.cpu || cpu >= limits.cpuTotal || wall >= callLimit)
    switch action {
    case .none: return isOver ? "let live at \(now)" : nil
    case .freeze: return isOver || call != nil ? "put to sleep at \(now)" : nil
    case .kill(.preparationTimeExceeded): return "killed for its walls in or after a call"
    case .kill(.memoryExceeded(let limit, let used)):
      return limit == limits.memory && used == measured && used > limit ? nil : "killed for \(used) of \(limit) bytes"
    case .kill(.wallTimeExceeded(let limit, let isCallers)):
      // Ticks are asked at the deadline itself, so nothing is over it.
      return limit == callLimit && wall == limit && isCallers == (limit < limits.wallTime)
        ? nil : "killed after \(wall) of \(limit)"
    case .kill(.cpuTimeExceeded(let limit, let shown)):
      let isOfCall = limit == limits.cpu && shown == used
      let isOfRun = limit == limits.cpuTotal && shown == cpu
      guard shown >= limit, isOfCall || isOfRun else { return "killed for \(shown) of \(limit)" }
      // At most what all cores burn from one sample to the next.
      return isOfCall && shown - limit > sampling * cores ? "killed too late, for \(shown) of \(limit)" : nil
    }
  }
}

@Suite(.timeLimit(.minutes(1))) struct WatchdogPropertyTests {
  /// Never before a limit, always at the tick that finds one reached, and no tick is further away than the sampling.
  @Test func killsInTimeAndNotBefore() {
    var killed = 0
    for seed in 0..<3000 as Range<UInt64> {
      var simulation = Simulation(seed: seed)
      if let complaint = simulation.complaint(steps: 300) { Issue.record("seed \(seed): \(complaint)") }
      if simulation.dog.nextTick(after: simulation.now) == nil, !simulation.dog.isFrozen { killed += 1 }
    }
    #expect(killed > 1000)
  }
}
