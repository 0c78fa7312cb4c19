import HostProtocol
import Testing

@testable import PluginHost

/// A machine in each phase, and what it says for each event.
@Suite(.timeLimit(.minutes(1))) struct RunMachineTests {
  /// No call's ticket.
  static let loader = UInt64.max
  static let image = RunnerMessage.LoadedImage(abiVersion: 0, name: "", isSwift: false, entryPoints: [])
  static let result = RunnerMessage.CallResult(value: .signed(5))
  static let report = RunReport.empty(Outcome(.returned, ""))

  static func call(_ ticket: UInt64) -> PluginCall {
    PluginCall(
      call: .function(symbol: "abs", signature: "i32(i32)", arguments: [.signed(-5)]),
      signature: try? CallSignature(parsing: "i32(i32)"), ticket: ticket)
  }

  static func loaded(id: UInt64 = 1, isUnchanged: Bool = true) -> RunEvent {
    .loaded(image, isUnchanged: isUnchanged, path: "/p.so", id: id)
  }

  private static let phases = ["closingWalls", "loading", "idle", "calling", "holding", "ending", "ended"]

  /// What leads to a phase. The call has the ticket 1 and, being the first, the id 2.
  static func machine(in phase: String) -> RunMachine {
    var machine = RunMachine(loader: loader, frameBytes: 1 << 20)
    let ways: [String: [RunEvent]] = [
      "closingWalls": [.handleArrived],
      "loading": [.wallsClosed(failure: nil, id: 0)],
      "idle": [loaded()],
      "calling": [.asked(call(1))],
      "holding": [.returned(result, id: 2)],
    ]
    for name in phases {
      for event in ways[name] ?? [] { _ = machine.handle(event) }
      if name == phase { return machine }
      // The end is reached from a plugin at rest.
      if name == "idle", phase == "ending" || phase == "ended" { break }
    }
    _ = machine.handle(.kill(Outcome(.returned, "")))
    if phase == "ended" { _ = machine.handle(.reported(report)) }
    return machine
  }

  static let events: [String: RunEvent] = [
    "handleArrived": .handleArrived, "ready": .ready(id: 0), "ready 7": .ready(id: 7),
    "wallsClosed": .wallsClosed(failure: nil, id: 0), "wallsClosed 7": .wallsClosed(failure: nil, id: 7),
    "wallsFailed": .wallsClosed(failure: Outcome(.wallUnavailable, "x"), id: 0),
    "loaded": loaded(), "loaded 7": loaded(id: 7), "loaded, changed": loaded(isUnchanged: false),
    "loadFailed": .loadFailed("x", id: 1), "loadFailed 7": .loadFailed("x", id: 7),
    "returned": .returned(result, id: 2), "returned 7": .returned(result, id: 7),
    "returned, misfit": .returned(.init(value: .void), id: 2),
    "missing": .missing(isData: false, id: 2), "missing 7": .missing(isData: false, id: 7),
    "data": .missing(isData: true, id: 2), "violated": .violated(.unexpected("x")), "serviceDrained": .serviceDrained,
    "activityBegan": .activityBegan, "activityEnded": .activityEnded,
    "controlChanged": .controlChanged(isEngaged: true, isWaiting: true), "asked": .asked(call(2)),
    "tookOver": .tookOver(last: 5, call: call(1)), "tookOver, answered": .tookOver(last: 5, call: nil),
    "tookOver, earlier": .tookOver(last: 0, call: call(1)), "turnCame": .turnCame, "cancelled load": .cancelled(loader),
    "cancelled call": .cancelled(1),
    "cancelled 7": .cancelled(7), "kill": .kill(Outcome(.memoryExceeded, "x")),
    "exhausted": .descriptorsExhausted("x"), "gone": .gone(verdict: Outcome(.crashed, "x")),
    "reported": .reported(report), "time": .kill(Outcome(.wallTimeExceeded, "x")), "threadsAsked": .threadsAsked(0),
    "threadTold": .threadTold(1, name: "x"), "threadsOverdue": .threadsOverdue,
  ]

  /// In the order of `phases`. `=`: nothing. `!`: the run ends for a violation of the protocol. Otherwise the effects, and the
  /// phase that follows where it is another.
  private static let table: [(event: String, cells: [String])] = [
    ("handleArrived", ["=", "=", "=", "=", "=", "kill", "="]),
    ("ready", ["openMeters", "!", "!", "!", "!", "=", "="]),
    ("ready 7", ["!", "!", "!", "!", "!", "=", "="]),
    ("wallsClosed", ["load > loading", "!", "!", "!", "!", "=", "="]),
    ("wallsClosed 7", ["!", "!", "!", "!", "!", "=", "="]),
    ("wallsFailed", ["stop kill > wallUnavailable", "!", "!", "!", "!", "=", "="]),
    ("loaded", ["!", "completeLoad becomeIdle > idle", "!", "!", "!", "=", "="]),
    ("loaded 7", ["!", "!", "!", "!", "!", "=", "="]),
    ("loaded, changed", ["!", "stop kill > loadFailed", "!", "!", "!", "=", "="]),
    ("loadFailed", ["stop kill > loadFailed", "stop kill > loadFailed", "!", "!", "!", "=", "="]),
    ("loadFailed 7", ["!", "!", "!", "!", "!", "=", "="]),
    ("returned", ["!", "!", "!", "drainService > holding", "!", "=", "="]),
    ("returned 7", ["!", "!", "!", "!", "!", "=", "="]),
    ("returned, misfit", ["!", "!", "!", "!", "!", "=", "="]),
    ("missing", ["!", "!", "!", "complete becomeIdle > idle", "!", "=", "="]),
    ("missing 7", ["!", "!", "!", "!", "!", "=", "="]),
    ("data", ["!", "!", "!", "complete becomeIdle > idle", "!", "=", "="]),
    ("violated", ["!", "!", "!", "!", "!", "=", "="]),
    ("serviceDrained", ["=", "=", "=", "=", "complete becomeIdle > idle", "=", "="]),
    ("activityBegan", ["countWait", "countWait", "resume countWait", "countWait", "countWait", "=", "="]),
    ("activityEnded", ["!", "!", "!", "!", "!", "=", "="]),
    ("controlChanged", ["countWait", "countWait", "resume countWait", "countWait", "countWait", "=", "="]),
    ("asked", ["=", "=", "begin > calling", "=", "=", "=", "refuse"]),
    ("tookOver", ["=", "=", "adopt > calling", "=", "=", "=", "="]),
    ("tookOver, answered", ["=", "=", "=", "=", "=", "=", "="]),
    ("tookOver, earlier", ["=", "=", "=", "=", "=", "=", "="]),
    ("turnCame", ["=", "=", "=", "=", "=", "=", "="]),
    ("cancelled load", ["stop kill > cancelled", "stop kill > cancelled", "=", "=", "=", "=", "="]),
    ("cancelled call", ["=", "=", "=", "stop kill > cancelled", "stop kill > cancelled", "=", "="]),
    ("cancelled 7", ["=", "=", "=", "=", "=", "=", "="]),
    ("kill", Array(repeating: "stop kill > memoryExceeded", count: 5) + ["=", "="]),
    ("exhausted", Array(repeating: "stop kill shutDownControl > hostFailed", count: 5) + ["=", "="]),
    ("gone", Array(repeating: "report > crashed", count: 5) + ["report", "="]),
    ("reported", ["=", "=", "=", "=", "=", "unwatch end > ended", "="]),
    (
      "time",
      [
        "stop kill > wallTimeExceeded", "stop askThreads > wallTimeExceeded", "stop kill > wallTimeExceeded",
        "stop askThreads > wallTimeExceeded", "stop askThreads > wallTimeExceeded", "=", "=",
      ]
    ),
    ("threadsAsked", ["=", "=", "=", "=", "=", "=", "="]),
    ("threadTold", ["!", "!", "!", "!", "!", "=", "="]),
    ("threadsOverdue", ["=", "=", "=", "=", "=", "=", "="]),
  ]

  private static func name(of phase: RunPhase) -> String {
    switch phase {
    case .closingWalls: "closingWalls"
    case .loading: "loading"
    case .idle: "idle"
    case .calling: "calling"
    case .holding: "holding"
    case .ending(let ending): ending.cause.kind.rawValue
    case .ended: "ended"
    }
  }

  @Test func everyEventInEveryPhase() {
    #expect(Set(Self.table.map(\.event)) == Set(Self.events.keys), "the table has a row for each event")
    for (event, cells) in Self.table {
      #expect(cells.count == Self.phases.count)
      for (phase, cell) in zip(Self.phases, cells) {
        guard let what = Self.events[event] else { continue }
        var machine = Self.machine(in: phase)
        let before = Self.name(of: machine.phase)
        let effects = machine.handle(what).map(\.name).joined(separator: " ")
        let after = Self.name(of: machine.phase)
        var found = effects.isEmpty ? "=" : effects
        if after != before { found += " > \(after)" }
        let expected = cell == "!" ? "stop kill > protocolViolation" : cell
        #expect(found == expected, "\(event) while \(phase)")
      }
    }
  }

  @Test("walls that are closed before the server tells of the runner wait for its handle") func earlyWalls() {
    for failure in [nil, Outcome(.wallUnavailable, "x")] {
      var machine = RunMachine(loader: 1, frameBytes: 1 << 20)
      #expect(machine.handle(.ready(id: 0)).map(\.name) == ["openMeters"])
      #expect(machine.handle(.ready(id: 0)).map(\.name) == ["stop", "kill"], "once only")
      machine = RunMachine(loader: 1, frameBytes: 1 << 20)
      #expect(machine.handle(.wallsClosed(failure: failure, id: 0)).isEmpty)
      #expect(machine.phase.isClosingWalls)
      #expect(machine.handle(.handleArrived).map(\.name) == (failure == nil ? ["load"] : ["stop", "kill"]))
    }
    var machine = RunMachine(loader: 1, frameBytes: 1 << 20)
    _ = machine.handle(.wallsClosed(failure: nil, id: 0))
    #expect(machine.handle(.wallsClosed(failure: nil, id: 0)).map(\.name) == ["stop", "kill"], "once only")
  }

  @Test("a result is handed over once all that the call began is over, and all that it sent before is handled")
  func holding() {
    var machine = Self.machine(in: "calling")
    _ = machine.handle(.activityBegan)
    _ = machine.handle(.returned(Self.result, id: 2))
    #expect(machine.handle(.serviceDrained).isEmpty)
    _ = machine.handle(.activityBegan)
    #expect(machine.handle(.activityEnded).map(\.name) == ["countWait"])
    #expect(machine.handle(.activityEnded).map(\.name) == ["countWait", "complete", "becomeIdle"])
    #expect(machine.phase.isIdle)
    // Over before what was sent is handled.
    machine = Self.machine(in: "holding")
    _ = machine.handle(.activityBegan)
    #expect(machine.handle(.activityEnded).map(\.name) == ["countWait"])
    #expect(machine.handle(.serviceDrained).map(\.name) == ["complete", "becomeIdle"])
  }

  @Test(
    "a wait for exclusive control counts as the plugin's time in a content request, and outside an activity",
    arguments: [
      false, true,
    ]) func waits(isContentRequest: Bool)
  {
    var machine = Self.machine(in: "idle")
    var call = Self.call(1)
    if isContentRequest {
      call.call = .contentRequest(kind: .install, manifest: "", remaining: -1, essentialRemaining: -1)
      call.signature = nil
    }
    _ = machine.handle(.asked(call))
    func countsWait(_ effects: [RunEffect]) -> Bool? {
      for case .countWait(let counts) in effects { return counts }
      return nil
    }
    #expect(countsWait(machine.handle(.controlChanged(isEngaged: true, isWaiting: true))) == false)
    #expect(countsWait(machine.handle(.activityBegan)) == !isContentRequest)
    #expect(countsWait(machine.handle(.controlChanged(isEngaged: true, isWaiting: false))) == false)
  }

  @Test("a call that doesn't fit a frame is refused, and the next one in the line has its turn") func misfits() {
    var machine = RunMachine(loader: Self.loader, frameBytes: 16)
    for event in [.handleArrived, .wallsClosed(failure: nil, id: 0), Self.loaded()] as [RunEvent] {
      _ = machine.handle(event)
    }
    var long = Self.call(1)
    long.signature = try? CallSignature(parsing: "i32(out(4096))")
    #expect(machine.handle(.asked(long)).map(\.name) == ["refuse"])
    #expect(machine.phase.isIdle)
  }

  @Test("the caller that waits for a load is told that descriptors ran out, and later callers that the run ended")
  func exhaustion() {
    var machine = Self.machine(in: "loading")
    _ = machine.handle(.descriptorsExhausted("no more"))
    _ = machine.handle(.asked(Self.call(3)))
    _ = machine.handle(.gone(verdict: Outcome(.crashed, "")))
    let told = machine.handle(.reported(Self.report)).compactMap { effect -> String? in
      guard case .refuse(let ticket, let error) = effect else { return nil }
      switch error {
      case .exhausted(let text): return "\(ticket) \(text)"
      case .ended: return "\(ticket) ended"
      default: return "\(ticket) else"
      }
    }
    #expect(told == ["\(Self.loader) no more", "3 ended"])
  }
}

extension RunEffect {
  var name: String {
    switch self {
    case .openMeters: "openMeters"
    case .load: "load"
    case .completeLoad: "completeLoad"
    case .begin: "begin"
    case .adopt: "adopt"
    case .drainService: "drainService"
    case .complete: "complete"
    case .refuse: "refuse"
    case .becomeIdle: "becomeIdle"
    case .resume: "resume"
    case .countWait: "countWait"
    case .scheduleTurn: "scheduleTurn"
    case .stop: "stop"
    case .askThreads: "askThreads"
    case .kill: "kill"
    case .shutDownControl: "shutDownControl"
    case .report: "report"
    case .unwatch: "unwatch"
    case .end: "end"
    }
  }
}
