import Basics
import TestSupport
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct PoolMachineTests {
  private static let late = Duration.seconds(1000)

  private static func machine(_ size: Int, waiting: Int = 8, loans: Int = .max) -> PoolMachine {
    PoolMachine(size: size, maxWaiting: waiting, maxLoans: loans)
  }

  /// One whose plugins are loaded.
  private static func warm(_ size: Int, waiting: Int = 8, loans: Int = .max) -> PoolMachine {
    var pool = machine(size, waiting: waiting, loans: loans)
    #expect(pool.handle(.began, at: .zero) == (0..<size).map { .load(slot: $0) })
    for slot in 0..<size { #expect(pool.handle(.loaded(slot: slot), at: .zero) == []) }
    return pool
  }

  @Test("who asks first gets a plugin first") func isFair() {
    var pool = Self.warm(1)
    #expect(pool.handle(.asked(1, deadline: Self.late), at: .zero) == [.lend(slot: 0, to: 1)])
    #expect(pool.handle(.asked(2, deadline: Self.late), at: .zero) == [])
    #expect(pool.handle(.asked(3, deadline: Self.late), at: .zero) == [])
    #expect(pool.handle(.returned(slot: 0, .alive()), at: .zero) == [.lend(slot: 0, to: 2)])
    #expect(pool.handle(.returned(slot: 0, .alive()), at: .zero) == [.lend(slot: 0, to: 3)])
    #expect(pool.handle(.returned(slot: 0, .alive()), at: .zero) == [])
  }

  @Test("no more wait than may, and none longer than it wants to") func isBounded() {
    var pool = Self.warm(1, waiting: 1)
    _ = pool.handle(.asked(1, deadline: .seconds(1)), at: .zero)
    #expect(pool.handle(.asked(2, deadline: .seconds(2)), at: .zero) == [])
    #expect(pool.handle(.asked(3, deadline: .seconds(2)), at: .zero) == [.refuse(3, .full)])
    #expect(pool.nextDue == .seconds(2))
    #expect(pool.handle(.timeCame, at: .milliseconds(1999)) == [])
    #expect(pool.handle(.timeCame, at: .seconds(2)) == [.refuse(2, .timedOut)])
    #expect(pool.nextDue == nil)
    #expect(pool.handle(.asked(4, deadline: .seconds(9)), at: .seconds(3)) == [])
    #expect(pool.handle(.cancelled(4), at: .seconds(3)) == [.refuse(4, .cancelled)])
    #expect(pool.handle(.cancelled(1), at: .seconds(3)) == [], "it has its plugin")
  }

  @Test("crashes in borrowers' calls keep others waiting for a tenth of a second at most") func crashesOfBorrowers() {
    var pool = Self.warm(1)
    var (now, pauses) = (Duration.zero, [Duration]())
    for ticket in 1...20 {
      _ = pool.handle(.asked(UInt64(ticket), deadline: now + Self.late), at: now)
      _ = pool.handle(.returned(slot: 0, .dead), at: now)
      let due = pool.nextDue ?? .zero
      pauses.append(due - now)
      now = due
      #expect(pool.handle(.timeCame, at: now) == [.load(slot: 0)])
      _ = pool.handle(.loaded(slot: 0), at: now)
    }
    #expect(pauses.first == PoolMachine.soonest && pauses.max() == PoolMachine.latestAfterLoan, "\(pauses)")
  }

  @Test("one that has served is replaced at once, one that was no use later each time") func backsOff() {
    var pool = Self.warm(1)
    _ = pool.handle(.asked(1, deadline: Self.late), at: .zero)
    _ = pool.handle(.returned(slot: 0, .alive()), at: .zero)
    _ = pool.handle(.asked(2, deadline: Self.late), at: .zero)
    #expect(pool.handle(.returned(slot: 0, .dead), at: .zero) == [.load(slot: 0)])
    var (now, pauses) = (Duration.zero, [Duration]())
    for _ in 0..<13 {
      #expect(pool.handle(.loaded(slot: 0), at: now) == [])
      #expect(pool.handle(.died(slot: 0), at: now) == [])
      let due = pool.nextDue ?? .zero
      pauses.append(due - now)
      #expect(pool.handle(.timeCame, at: due - .nanoseconds(1)) == [])
      #expect(pool.handle(.timeCame, at: due) == [.load(slot: 0)])
      now = due
    }
    #expect(pauses.prefix(4) == [.milliseconds(10), .milliseconds(20), .milliseconds(40), .milliseconds(80)])
    #expect(pauses.last == PoolMachine.latest)
    // One that serves ends that.
    _ = pool.handle(.loaded(slot: 0), at: now)
    _ = pool.handle(.asked(3, deadline: now + Self.late), at: now)
    _ = pool.handle(.returned(slot: 0, .alive()), at: now)
    #expect(pool.handle(.died(slot: 0), at: now) == [.load(slot: 0)])
  }

  @Test("what its borrower ended says nothing against a plugin") func isNoFault() {
    var pool = Self.warm(1)
    _ = pool.handle(.asked(1, deadline: Self.late), at: .zero)
    #expect(pool.handle(.returned(slot: 0, .ended), at: .zero) == [.load(slot: 0)])
  }

  @Test("where no plugin can be loaded, each caller that waits is told") func loadFails() {
    var pool = Self.machine(2)
    _ = pool.handle(.began, at: .zero)
    _ = pool.handle(.asked(1, deadline: Self.late), at: .zero)
    #expect(pool.handle(.loadFailed(slot: 0), at: .zero) == [], "the other one may still serve it")
    #expect(pool.handle(.loadFailed(slot: 1), at: .zero) == [.refuse(1, .loadFailed)])
    #expect(pool.handle(.asked(2, deadline: Self.late), at: .zero) == [])
    #expect(pool.handle(.timeCame, at: .milliseconds(10)) == [.load(slot: 0)])
    #expect(pool.handle(.loaded(slot: 0), at: .milliseconds(12)) == [.lend(slot: 0, to: 2)])
  }

  @Test("the caller that was to get a dead one is the first to get another") func lendingFails() {
    var pool = Self.warm(2)
    #expect(pool.handle(.asked(1, deadline: Self.late), at: .zero) == [.lend(slot: 1, to: 1)])
    #expect(pool.handle(.lendingFailed(slot: 1), at: .zero) == [.lend(slot: 0, to: 1)])
  }

  @Test("after so many loans a plugin is replaced") func isReplaced() {
    var pool = Self.warm(1, loans: 2)
    _ = pool.handle(.asked(1, deadline: Self.late), at: .zero)
    #expect(pool.handle(.returned(slot: 0, .alive()), at: .zero) == [])
    _ = pool.handle(.asked(2, deadline: Self.late), at: .zero)
    #expect(pool.handle(.returned(slot: 0, .alive()), at: .zero) == [.end(slot: 0)])
    #expect(pool.handle(.ended(slot: 0), at: .zero) == [.load(slot: 0)])
  }

  @Test(
    "what is left is taken back, and what can't be costs the plugin",
    arguments: [
      (PoolMachine.Leftovers(), .nothing),
      (PoolMachine.Leftovers(holdings: 1), .takeBack),
      (PoolMachine.Leftovers(holdings: PoolMachine.Leftovers.maxTakenBack), .takeBack),
      (PoolMachine.Leftovers(holdings: PoolMachine.Leftovers.maxTakenBack + 1), .replace),
      (PoolMachine.Leftovers(handles: 1), .replace),
      (PoolMachine.Leftovers(handles: 1, holdings: 1), .replace),
      (PoolMachine.Leftovers(isBusy: true), .replace),
      (PoolMachine.Leftovers(holdings: 1, isBusy: true), .replace),
    ] as [(PoolMachine.Leftovers, PoolMachine.Leftovers.Remedy)])
  func leftovers(_ left: PoolMachine.Leftovers, _ remedy: PoolMachine.Leftovers.Remedy) {
    #expect(left.remedy == remedy)
    var pool = Self.warm(1)
    _ = pool.handle(.asked(1, deadline: Self.late), at: .zero)
    _ = pool.handle(.asked(2, deadline: Self.late), at: .zero)
    let effects = pool.handle(.returned(slot: 0, .alive(left)), at: .zero)
    switch remedy {
    case .nothing: #expect(effects == [.lend(slot: 0, to: 2)])
    case .takeBack:
      #expect(effects == [.takeBack(slot: 0)])
      #expect(pool.handle(.died(slot: 0), at: .zero) == [], "the taking back says so")
      #expect(pool.handle(.tookBack(slot: 0, isAlive: true), at: .zero) == [.lend(slot: 0, to: 2)])
      #expect(pool.handle(.tookBack(slot: 0, isAlive: true), at: .zero) == [])
    case .replace:
      #expect(effects == [.end(slot: 0)])
      #expect(pool.handle(.ended(slot: 0), at: .zero) == [.load(slot: 0)])
      #expect(pool.handle(.loaded(slot: 0), at: .zero) == [.lend(slot: 0, to: 2)])
    }
  }

  @Test("one that ends while it gives back what was left is replaced, and one that is worn out isn't asked for it")
  func takingBackEnds() {
    let left = PoolMachine.Leftovers(holdings: 3)
    var pool = Self.warm(1, loans: 2)
    _ = pool.handle(.asked(1, deadline: Self.late), at: .zero)
    #expect(pool.handle(.returned(slot: 0, .alive(left)), at: .zero) == [.takeBack(slot: 0)])
    #expect(pool.handle(.tookBack(slot: 0, isAlive: false), at: .zero) == [], "it was no use to the next one")
    #expect(pool.nextDue == .milliseconds(10))
    _ = pool.handle(.timeCame, at: .milliseconds(10))
    _ = pool.handle(.loaded(slot: 0), at: .milliseconds(10))
    for ticket in UInt64(2)...3 {
      #expect(pool.handle(.asked(ticket, deadline: Self.late), at: .seconds(1)) == [.lend(slot: 0, to: ticket)])
      let effects = pool.handle(.returned(slot: 0, .alive(left)), at: .seconds(1))
      #expect(effects == [ticket == 2 ? .takeBack(slot: 0) : .end(slot: 0)])
      _ = pool.handle(.tookBack(slot: 0, isAlive: true), at: .seconds(1))
    }
    var stopping = Self.warm(1)
    _ = stopping.handle(.asked(1, deadline: Self.late), at: .zero)
    _ = stopping.handle(.returned(slot: 0, .alive(left)), at: .zero)
    #expect(stopping.handle(.stopped, at: .zero) == [])
    #expect(stopping.handle(.tookBack(slot: 0, isAlive: true), at: .zero) == [.end(slot: 0)])
    #expect(stopping.handle(.ended(slot: 0), at: .zero) == [.drained])
  }

  @Test("stopping refuses who waits, and waits for who has a plugin and for loads") func stops() {
    var pool = Self.warm(3)
    _ = pool.handle(.asked(1, deadline: Self.late), at: .zero)
    _ = pool.handle(.died(slot: 1), at: .zero)
    _ = pool.handle(.timeCame, at: .seconds(1))
    #expect(pool.handle(.stopped, at: .seconds(1)) == [.end(slot: 0)])
    #expect(pool.handle(.asked(2, deadline: Self.late), at: .seconds(1)) == [.refuse(2, .stopped)])
    #expect(pool.handle(.ended(slot: 0), at: .seconds(1)) == [])
    #expect(pool.handle(.loaded(slot: 1), at: .seconds(1)) == [.end(slot: 1)])
    #expect(pool.handle(.returned(slot: 2, .alive()), at: .seconds(1)) == [.end(slot: 2)])
    #expect(pool.handle(.ended(slot: 2), at: .seconds(1)) == [])
    #expect(pool.handle(.ended(slot: 1), at: .seconds(1)) == [.drained])
    #expect(pool.handle(.stopped, at: .seconds(1)) == [])
  }

  @Test("whatever happens, each plugin has one borrower and each borrower one answer", arguments: 0..<40)
  func random(_ seed: Int) {
    var model = PoolModel(seed: UInt64(seed))
    if let complaint = model.complaint(steps: 3000) { Issue.record("seed \(seed): \(complaint)") }
  }
}

/// A pool's plugins and borrowers, made up: what the machine says is compared with what there is.
private struct PoolModel {
  var random: SeededGenerator
  var pool: PoolMachine
  let size: Int
  let maxWaiting: Int
  var now = Duration.zero
  var loading: Set<Int> = []
  var idle: Set<Int> = []
  var ending: Set<Int> = []
  var lent: [Int: UInt64] = [:]
  var takingBack: Set<Int> = []
  /// What has to be done with those that were given back in this step.
  var unclean: [Int: PoolMachine.Leftovers.Remedy] = [:]
  var waiting: [UInt64] = []
  var last: UInt64 = 0
  var isStopping = false
  var isDrained = false

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    size = 1 + random.below(4)
    maxWaiting = random.below(6)
    pool = PoolMachine(size: size, maxWaiting: maxWaiting, maxLoans: random.chance(2) ? .max : 1 + random.below(5))
  }

  mutating func complaint(steps: Int) -> String? {
    if let complaint = carryOut(.began) { return complaint }
    for step in 0..<steps {
      now += .microseconds(random.below(20_000))
      if let complaint = carryOut(event(step, of: steps)) { return complaint }
      if !idle.isEmpty, !waiting.isEmpty { return "a caller waits beside an idle plugin" }
      if waiting.count > max(maxWaiting, 0) + size { return "\(waiting.count) wait" }
      if let due = pool.nextDue, due <= now { return "something is due and not done" }
      let counts = pool.counts
      if counts.idle != idle.count || counts.lent != lent.count + takingBack.count || counts.loading != loading.count {
        return "\(counts)"
      }
      if isDrained, !(loading.isEmpty && idle.isEmpty && lent.isEmpty && takingBack.isEmpty && ending.isEmpty) {
        return "drained too early"
      }
    }
    // Every caller comes to its end.
    if let complaint = carryOut(.stopped) { return complaint }
    while let event = leftOver() { if let complaint = carryOut(event) { return complaint } }
    return isDrained && waiting.isEmpty ? nil : "it isn't drained, or \(waiting) still wait"
  }

  private func leftOver() -> PoolMachine.Event? {
    if let slot = loading.first { return .loadFailed(slot: slot) }
    if let slot = lent.keys.first { return .returned(slot: slot, .alive()) }
    if let slot = takingBack.first { return .tookBack(slot: slot, isAlive: true) }
    return ending.first.map { .ended(slot: $0) }
  }

  private mutating func event(_ step: Int, of steps: Int) -> PoolMachine.Event {
    switch random.below(12) {
    case 0...3:
      last += 1
      return .asked(last, deadline: now + .milliseconds(random.below(200)))
    case 4: return .cancelled(UInt64(random.below(Int(last) + 2)))
    case 5...6:
      guard let slot = loading.sorted().randomElement(using: &random) else { return .timeCame }
      return random.chance(4) ? .loadFailed(slot: slot) : .loaded(slot: slot)
    case 7...9:
      guard let slot = lent.keys.sorted().randomElement(using: &random) else { return .timeCame }
      if random.chance(20) { return .lendingFailed(slot: slot) }
      return .returned(slot: slot, random.chance(3) ? (random.chance(2) ? .dead : .ended) : .alive(leftovers()))
    case 10 where random.chance(2):
      // Also of one that gives nothing back.
      guard let slot = takingBack.sorted().randomElement(using: &random) else {
        return .tookBack(slot: random.below(size), isAlive: random.chance(2))
      }
      return .tookBack(slot: slot, isAlive: !random.chance(4))
    case 10:
      // Also of one that is long replaced.
      if random.chance(3) { return .died(slot: random.below(size)) }
      guard let slot = ending.sorted().randomElement(using: &random) else { return .timeCame }
      return .ended(slot: slot)
    default: return step > steps - 20 ? .stopped : .timeCame
    }
  }

  private mutating func leftovers() -> PoolMachine.Leftovers {
    guard random.chance(2) else { return PoolMachine.Leftovers() }
    return PoolMachine.Leftovers(
      handles: random.chance(4) ? 1 : 0, holdings: random.below(80), isBusy: random.chance(8))
  }

  private mutating func carryOut(_ event: PoolMachine.Event) -> String? {
    switch event {
    case .asked(let ticket, _): waiting.append(ticket)
    case .loaded(let slot):
      loading.remove(slot)
      idle.insert(slot)
    case .loadFailed(let slot): loading.remove(slot)
    case .returned(let slot, let result):
      lent[slot] = nil
      if case .alive(let left) = result {
        idle.insert(slot)
        unclean[slot] = left.remedy
      }
    case .tookBack(let slot, let isAlive): if takingBack.remove(slot) != nil, isAlive { idle.insert(slot) }
    case .lendingFailed(let slot):
      if let ticket = lent.removeValue(forKey: slot) { waiting.insert(ticket, at: 0) }
    case .died(let slot): idle.remove(slot)
    case .ended(let slot): ending.remove(slot)
    case .stopped: isStopping = true
    case .began, .cancelled, .timeCame: break
    }
    defer { unclean = [:] }
    for effect in pool.handle(event, at: now) {
      switch effect {
      case .takeBack(let slot):
        guard idle.remove(slot) != nil, unclean.removeValue(forKey: slot) == .takeBack else {
          return "\(event): takes back from \(slot), which no caller left anything in"
        }
        takingBack.insert(slot)
      case .load(let slot):
        if isStopping || idle.contains(slot) || lent[slot] != nil || !loading.insert(slot).inserted {
          return "\(event): loads into \(slot), which isn't empty"
        }
      case .lend(let slot, let ticket):
        guard idle.remove(slot) != nil else { return "\(event): lends \(slot), which isn't idle" }
        guard unclean[slot] ?? .nothing == .nothing else { return "\(event): lends \(slot) with what was left in it" }
        guard waiting.first == ticket else { return "\(event): \(ticket) is served before \(waiting)" }
        waiting.removeFirst()
        lent[slot] = ticket
      case .refuse(let ticket, _):
        guard let index = waiting.firstIndex(of: ticket) else { return "\(event): refuses \(ticket), who doesn't wait" }
        waiting.remove(at: index)
      case .end(let slot):
        guard idle.remove(slot) != nil else { return "\(event): ends \(slot), which isn't idle" }
        unclean[slot] = nil
        ending.insert(slot)
      case .drained:
        if isDrained { return "drained twice" }
        isDrained = true
      }
    }
    let kept = unclean.filter { $0.value != .nothing && idle.contains($0.key) }
    return kept.isEmpty ? nil : "\(event): keeps \(kept)"
  }
}
