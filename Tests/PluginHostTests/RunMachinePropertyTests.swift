import Basics
import HostProtocol
import Testing

@testable import PluginHost

/// A run with callers and a runner that are made up. What the machine says is held against what any run promises.
private struct MadeUpRun {
  var random: SeededGenerator
  var machine: RunMachine
  let isHostile: Bool
  var nextTicket: UInt64 = 1
  /// Tickets whose callers wait, in the order in which they asked.
  var waiting: [UInt64] = [RunMachineTests.loader]
  /// The call that the runner has, and its id.
  var current: (ticket: UInt64, id: UInt64)?
  var lastID: UInt64 = 1
  var activities = 0
  /// Whether everything on the service channel has been handled since the last answer.
  var isDrained = false
  var isTurnDue = false
  var cause: Outcome?
  var isStopped = false
  /// Whether the threads were asked, and the process isn't killed yet.
  var isAsking = false
  var loads = 0
  var ends = 0
  var complaint: String?

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    isHostile = random.chance(2)
    machine = RunMachine(loader: RunMachineTests.loader, frameBytes: 1 << 20)
  }

  mutating func complain(_ text: String) { complaint = complaint ?? text }

  /// nil when everything was as promised.
  mutating func run(steps: Int) -> String? {
    for _ in 0..<steps where complaint == nil { send(event()) }
    send(.gone(verdict: Outcome(.crashed, "at the end")))
    if !waiting.isEmpty { complain("\(waiting) were told nothing") }
    if ends != 1 { complain("it ended \(ends) times") }
    ask()
    if !waiting.isEmpty { complain("a call after the end isn't answered") }
    return complaint
  }

  private mutating func ask() {
    waiting.append(nextTicket)
    let call = RunMachineTests.call(nextTicket)
    nextTicket += 1
    send(.asked(call))
  }

  private mutating func event() -> RunEvent {
    if isHostile, random.chance(20) {
      return RunMachineTests.events.sorted { $0.key < $1.key }.filter {
        !["asked", "reported", "gone", "cancelled call", "turnCame"].contains($0.key) && !$0.key.hasPrefix("tookOver")
      }[random.below(RunMachineTests.events.count - 8)].value
    }
    if random.chance(150) { return .kill(Outcome(.wallTimeExceeded, "\(random.below(1000))")) }
    if random.chance(400) { return .gone(verdict: Outcome(.crashed, "\(random.below(1000))")) }
    if random.chance(4) {
      waiting.append(nextTicket)
      nextTicket += 1
      return .asked(RunMachineTests.call(nextTicket - 1))
    }
    if machine.isFree, random.chance(3) {
      // Some calls that were answered without the machine, and perhaps one more that wasn't yet.
      let last = lastID + UInt64(random.below(4))
      guard random.chance(2) else {
        lastID = last
        return .tookOver(last: last, call: nil)
      }
      waiting.append(nextTicket)
      nextTicket += 1
      lastID = last + 1
      return .tookOver(last: lastID, call: RunMachineTests.call(nextTicket - 1))
    }
    if random.chance(100), let ticket = waiting.randomElement(using: &random) { return .cancelled(ticket) }
    if isTurnDue, random.chance(2) {
      isTurnDue = false
      return .turnCame
    }
    if isAsking {
      return random.chance(3)
        ? .threadsOverdue
        : random.chance(2) ? .threadsAsked(random.below(3)) : .threadTold(UInt32(random.below(3)), name: "")
    }
    switch machine.phase {
    case .closingWalls(let preparation):
      if !preparation.isReady, random.chance(2) { return .ready(id: 0) }
      if !preparation.hasHandle { return .handleArrived }
      return .wallsClosed(failure: nil, id: 0)
    case .loading: return RunMachineTests.loaded()
    default: break
    }
    switch random.below(4) {
    case 0: return .activityBegan
    case 1 where activities > 0: return .activityEnded
    case 2: return .controlChanged(isEngaged: random.chance(2), isWaiting: random.chance(2))
    default:
      guard case .calling = machine.phase, let current else { return .serviceDrained }
      return random.chance(10)
        ? .missing(isData: random.chance(2), id: current.id) : .returned(RunMachineTests.result, id: current.id)
    }
  }

  private mutating func send(_ event: RunEvent) {
    let wasEnded = machine.phase.report != nil
    let before = machine.phase.cause
    let effects = machine.handle(event)
    if let before, machine.phase.cause != before { complain("the cause changed") }
    if before == nil { cause = machine.phase.cause }
    if wasEnded, effects.contains(where: { if case .refuse = $0 { false } else { true } }) {
      complain("something is done after the end")
    }
    if before == nil, machine.phase.cause == nil {
      if case .activityBegan = event { activities += 1 }
      if case .activityEnded = event { activities -= 1 }
      if case .returned = event { isDrained = false }
      if case .serviceDrained = event { isDrained = true }
    }
    for effect in effects { perform(effect) }
  }

  private mutating func tell(_ ticket: UInt64) {
    guard let index = waiting.firstIndex(of: ticket) else { return complain("\(ticket) is told twice, or never asked") }
    waiting.remove(at: index)
  }

  private mutating func perform(_ effect: RunEffect) {
    if isStopped {
      switch effect {
      case .askThreads, .kill, .shutDownControl, .report, .unwatch, .refuse, .end: break
      default: complain("\(effect.name) after the cause is known")
      }
    }
    switch effect {
    case .load:
      loads += 1
      if loads > 1 { complain("it is loaded twice") }
    case .completeLoad: tell(RunMachineTests.loader)
    case .begin(let frame, _, _):
      if current != nil { complain("two calls at a time") }
      if waiting.contains(RunMachineTests.loader) { complain("a call before the plugin is loaded") }
      if frame.id != lastID + 1 { complain("the id \(frame.id) follows \(lastID)") }
      lastID = frame.id
      guard case .calling(let call) = machine.phase else { return complain("a call begins in no call") }
      if let first = waiting.first, first != call.ticket { complain("\(call.ticket) goes before \(first)") }
      current = (call.ticket, frame.id)
    case .adopt(let call):
      if current != nil { complain("two calls at a time") }
      if let first = waiting.first, first != call.ticket { complain("\(call.ticket) goes before \(first)") }
      current = (call.ticket, lastID)
    case .complete(let call, let result):
      if current?.ticket != call.ticket { complain("an answer to another call") }
      if case .success = result, activities > 0 || !isDrained { complain("a result is handed over too early") }
      current = nil
      tell(call.ticket)
    case .refuse(let ticket, _):
      if ticket == current?.ticket, machine.phase.report == nil { complain("a call under way is refused") }
      tell(ticket)
    case .scheduleTurn: isTurnDue = true
    case .resume: if !machine.phase.isIdle { complain("clocks are resumed in a call") }
    case .stop:
      if isStopped { complain("it is stopped twice") }
      isStopped = true
    case .report(let found, _):
      isStopped = true
      isAsking = false
      if found != cause { complain("the report has another cause") }
      send(.reported(.empty(found)))
    case .end(let report):
      ends += 1
      if report.outcome != cause { complain("it ends for another cause") }
    case .askThreads:
      if isAsking { complain("threads are asked twice") }
      isAsking = true
    case .kill: isAsking = false
    case .openMeters, .drainService, .becomeIdle, .countWait, .shutDownControl, .unwatch: break
    }
  }
}

@Suite(.timeLimit(.minutes(1))) struct RunMachinePropertyTests {
  @Test(
    "whatever happens in which order, every caller is told once, calls go one at a time, and the first cause wins",
    arguments: 0..<20 as Range<UInt64>)
  func promises(batch: UInt64) {
    for seed in batch * 25..<batch * 25 + 25 {
      var run = MadeUpRun(seed: seed)
      let complaint = run.run(steps: 400)
      #expect(complaint == nil, "seed \(seed)")
    }
  }
}
