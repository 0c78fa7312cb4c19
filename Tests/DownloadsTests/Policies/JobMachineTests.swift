import AssetModel
import Basics
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct JobMachineTests {
  private typealias Event = JobMachine.Event
  private static let failure = TransferFailure(.refused, detail: "no")
  private static let retry = NextStep.retry(.truncated, retryAfter: nil)
  private static let hold = NextStep.hold(.retry("x"), after: nil)
  private static let steps: [NextStep] = [
    .verify, retry, hold, .pause, .yield, .cancel, .fail(failure), .startAfresh("x"), .askOtherwise("x"), .close,
  ]

  /// Which step takes the place of which. Everything that isn't named here loses against what was decided before.
  @Test(arguments: steps) func whoWins(first: NextStep) {
    for second in Self.steps {
      let wins =
        switch (first, second) {
        case (.cancel, _), (.fail, _): false
        case (_, .cancel): true
        case (.retry, .pause), (.hold, .pause), (.yield, .pause), (.askOtherwise, .pause), (.startAfresh, .pause): true
        case (.askOtherwise, .close), (.startAfresh, .close), (.askOtherwise, .hold), (.askOtherwise, .fail): true
        default: false
        }
      var machine = JobMachine()
      _ = machine.handle(.began)
      _ = machine.handle(.decided(first))
      let effects = machine.handle(.decided(second))
      #expect(machine.next == (wins ? second : first), "\(first), then \(second)")
      #expect(effects == (wins ? [.endTransfers(keepsBytes: second.keepsBytes), .stopIfQuiet] : []))
    }
  }

  @Test func whatIsThereIsKeptExceptWhereItIsOfNoUse() {
    for step in Self.steps {
      let isLost: Bool =
        switch step {
        case .cancel, .startAfresh, .fail: true
        default: false
        }
      #expect(step.keepsBytes == !isLost, "\(step)")
    }
    #expect(
      NextStep.fail(TransferFailure(.challenge, status: 403, detail: "")).keepsBytes, "another URL goes on from it")
  }

  @Test func nothingIsConcludedBeforeACheckpoint() {
    var machine = JobMachine()
    _ = machine.handle(.began)
    _ = machine.handle(.decided(.pause))
    #expect(machine.phase == .stopping(next: .pause))
    #expect(machine.handle(.quiet(needsCheckpoint: true)) == [.checkpoint])
    #expect(machine.next == .pause, "it still waits")
    #expect(machine.handle(.quiet(needsCheckpoint: false)) == [.conclude(.pause)])
    #expect(machine.next == nil)
    #expect(machine.handle(.quiet(needsCheckpoint: false)).isEmpty, "once")
  }

  @Test func whatIsThrownAwayNeedsNoCheckpoint() {
    var machine = JobMachine()
    _ = machine.handle(.began)
    _ = machine.handle(.decided(.cancel))
    #expect(machine.handle(.quiet(needsCheckpoint: true)) == [.conclude(.cancel)])
  }

  @Test func commandsToAJobThatEndsWaitForItsEnd() {
    for end in [Event.publishing, .ended(Retirement(.paused))] {
      var machine = JobMachine()
      _ = machine.handle(end)
      for command: JobCommand in [.resume, .setClass(.foreground), .pause, .cancel] {
        #expect(machine.handle(.command(command, transferClass: .background)).isEmpty, "\(end), \(command)")
      }
      #expect(machine.commands.commands == [.cancel], "the last word")
      let over = end == .publishing ? machine.handle(.over) : machine.handle(.committed(nil))
      let entered: [JobMachine.Effect] = end == .publishing ? [] : [.enter(.paused)]
      #expect(over == [.leaveSlot] + entered + [.perform(machineQueue(.cancel))] && machine.commands.isEmpty)
    }
  }

  @Test func commandsToAJobThatBeginsAgainAreCarriedOutThen() {
    var machine = JobMachine()
    _ = machine.handle(.publishing)
    _ = machine.handle(.command(.pause, transferClass: .background))
    #expect(machine.handle(.reopened) == [.perform(machineQueue(.pause))])
    #expect(machine.commands.isEmpty)
    #expect(machine.phase == .opening(next: nil))
  }

  private func machineQueue(_ commands: JobCommand...) -> CommandQueue {
    commands.reduce(into: CommandQueue()) { $0.append($1) }
  }

  @Test func aWriteThatFailsTakesBackWhatNeedsTheBytes() {
    for step in Self.steps {
      var machine = JobMachine()
      _ = machine.handle(.began)
      _ = machine.handle(.decided(step))
      _ = machine.handle(.writeFailed(Self.hold))
      let giveWay: Bool =
        switch step {
        case .verify, .retry, .askOtherwise: true
        default: false
        }
      #expect(machine.next == (giveWay ? Self.hold : step), "\(step)")
    }
  }

  @Test func whatWasDecidedWhileAFileWasCheckedComesFirst() {
    var machine = Self.verifying
    #expect(machine.handle(.verified) == [])
    #expect(machine.phase == .verifying(next: nil), "and it is published")
    _ = machine.handle(.decided(.pause))
    #expect(machine.handle(.verified) == [.stopIfQuiet])
    #expect(machine.phase == .stopping(next: .pause))
    #expect(machine.handle(.quiet(needsCheckpoint: false)) == [.conclude(.pause)])
  }

  @Test func aCheckThatFailsEndsIt() {
    for decided in [nil, NextStep.pause, .yield, .cancel] {
      var machine = Self.verifying
      if let decided { _ = machine.handle(.decided(decided)) }
      _ = machine.handle(.failed(Self.hold))
      #expect(machine.phase == .stopping(next: decided ?? Self.hold), "\(String(describing: decided))")
    }
  }

  private static var verifying: JobMachine {
    after(.began, .decided(.verify), .quiet(needsCheckpoint: false), .verifying)
  }

  /// Files go first, then the journal is told, then what follows is carried out: in this order and once each.
  @Test func anEndIsCarriedOutInOrder() {
    for removal in [Retirement.Removal.nothing, .partial, .everything] {
      for failure in [nil, JournalFailure(EngineClosed())] {
        var machine = JobMachine()
        let attempt = Attempt(wall: 1, duration: 2, bytes: 3, status: 500, outcome: "x")
        let first = machine.handle(.ended(Retirement(.cancelled, removing: removal, attempt: attempt)))
        if removal == .nothing {
          #expect(first == [.commit(attempt)])
        } else {
          #expect(first == [.removeFiles(removal)])
          #expect(machine.handle(.filesRemoved) == [.commit(attempt)])
        }
        #expect(machine.handle(.ended(Retirement(.paused))).isEmpty, "it ended already")
        let end: JobMachine.Effect = failure.map { .keepUpdate(.cancelled, $0) } ?? .enter(.cancelled)
        #expect(machine.handle(.committed(failure)) == [.leaveSlot, end])
      }
    }
  }

  private static let phases: [(name: String, machine: JobMachine)] = [
    ("opening", after()), ("opening, then pause", after(.decided(.pause))), ("transferring", after(.began)),
    ("stopping", after(.began, .decided(.pause))),
    ("concluding", after(.began, .decided(.verify), .quiet(needsCheckpoint: false))), ("verifying", verifying),
    (
      "verifying, then pause",
      after(.began, .decided(.verify), .quiet(needsCheckpoint: false), .verifying, .decided(.pause))
    ), ("publishing", after(.publishing)),
    ("suspecting", after(.suspectedPortal(failure))), ("retiring", after(.ended(Retirement(.cancelled)))),
  ]

  private static func after(_ events: Event...) -> JobMachine {
    var machine = JobMachine()
    for event in events { _ = machine.handle(event) }
    return machine
  }

  /// What becomes of each phase by each event: `-` is no change.
  @Test func transitions() {
    let events: [(String, Event)] = [
      ("decided hold", .decided(Self.hold)), ("failed hold", .failed(Self.hold)),
      ("writeFailed hold", .writeFailed(Self.hold)), ("quiet", .quiet(needsCheckpoint: false)), ("began", .began),
      ("verifying", .verifying), ("verified", .verified), ("publishing", .publishing),
      ("suspected", .suspectedPortal(Self.failure)), ("ended", .ended(Retirement(.paused))), ("reopened", .reopened),
    ]
    let table: [String: [String]] = [
      "opening": [
        "opening:hold", "opening:hold", "opening:hold", "-", "transferring", "-", "-", "publishing", "suspecting",
        "retiring", "-",
      ],
      "opening, then pause": ["-", "-", "-", "concluding", "-", "-", "-", "publishing", "suspecting", "retiring", "-"],
      "transferring": [
        "stopping:hold", "stopping:hold", "stopping:hold", "-", "-", "-", "-", "-", "suspecting", "retiring", "opening",
      ],
      "stopping": ["-", "-", "-", "concluding", "-", "-", "-", "-", "suspecting", "retiring", "opening:pause"],
      "concluding": ["-", "-", "-", "-", "-", "verifying", "-", "-", "suspecting", "retiring", "opening"],
      "verifying": [
        "verifying:hold", "stopping:hold", "stopping:hold", "-", "-", "-", "-", "publishing", "suspecting", "retiring",
        "opening",
      ],
      "verifying, then pause": [
        "-", "stopping:pause", "stopping:pause", "-", "-", "-", "stopping:pause", "publishing", "suspecting",
        "retiring", "opening:pause",
      ],
      "publishing": [
        "-", "stopping:hold", "stopping:hold", "-", "-", "-", "-", "-", "suspecting", "retiring", "opening",
      ],
      "suspecting": ["-", "-", "-", "-", "-", "-", "-", "-", "-", "retiring", "opening"],
      "retiring": ["-", "-", "-", "-", "-", "-", "-", "-", "-", "-", "-"],
    ]
    for (name, before) in Self.phases {
      for (index, (event, value)) in events.enumerated() {
        var machine = before
        _ = machine.handle(value)
        let after = machine == before ? "-" : Self.name(machine)
        #expect(after == table[name]?[index], "\(name): \(event)")
      }
    }
  }

  private static func name(_ machine: JobMachine) -> String {
    let phase =
      switch machine.phase {
      case .opening: "opening"
      case .transferring: "transferring"
      case .stopping: "stopping"
      case .concluding: "concluding"
      case .verifying: "verifying"
      case .publishing: "publishing"
      case .suspectingPortal: "suspecting"
      case .retiring: "retiring"
      }
    switch machine.next {
    case .hold: return phase + ":hold"
    case .pause: return phase + ":pause"
    default: return phase
    }
  }

  /// Whatever comes in whatever order: transfers end only with a step, every step is concluded at most once, a failure or a
  /// cancellation is never replaced, an end is committed once and its slot given back once, nothing is asked of a job that
  /// ends, and no command is lost but to a later one.
  @Test(arguments: 0..<200) func randomEvents(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var machine = JobMachine()
    let commands: [JobCommand] = [.pause, .resume, .cancel, .setClass(.foreground), .setClass(.background)]
    let ends = [
      Event.ended(Retirement(.cancelled, removing: .everything)), .filesRemoved, .committed(nil),
      .committed(JournalFailure(EngineClosed())),
    ]
    for round in 0..<200 {
      let before = machine
      let step = try #require(Self.steps.randomElement(using: &random))
      let event: Event =
        switch Int.random(in: 0..<12, using: &random) {
        case 0, 1: .command(try #require(commands.randomElement(using: &random)), transferClass: .background)
        case 2, 3: .decided(step)
        case 4, 5: .quiet(needsCheckpoint: .random(using: &random))
        case 6: .began
        case 7: try #require([Event.verifying, .verified, .publishing].randomElement(using: &random))
        case 8: .failed(step)
        case 9: try #require(ends.randomElement(using: &random))
        case 10: .suspectedPortal(Self.failure)
        default: Bool.random(using: &random) ? .writeFailed(step) : .reopened
        }
      let effects = machine.handle(event)
      let context: Comment = "seed \(seed), round \(round): \(event) in \(before)"
      for effect in effects { check(effect, before, machine, context) }
      let isFinal: Bool =
        switch before.next {
        case .cancel, .fail: true
        default: false
        }
      // Its end, or another beginning, may come first; another step doesn't.
      if isFinal, let next = machine.next { #expect(next == before.next, context) }
      if case .command = event, isEnding(before) {
        #expect(effects.isEmpty && machine.phase == before.phase && machine.next == before.next, context)
      }
      #expect(machine.commands.commands.count <= 3, context)
      if effects.contains(.leaveSlot) { machine = JobMachine() }
    }
  }

  private func isEnding(_ machine: JobMachine) -> Bool {
    switch machine.phase {
    case .concluding, .publishing, .suspectingPortal, .retiring: true
    default: false
    }
  }

  private func check(_ effect: JobMachine.Effect, _ before: JobMachine, _ machine: JobMachine, _ context: Comment) {
    switch effect {
    case .endTransfers(let keepsBytes): #expect(machine.next.map { $0.keepsBytes == keepsBytes } ?? false, context)
    case .conclude(let step):
      #expect(before.next == step && machine.phase == .concluding(step), context)
      #expect(before.isStopping, context)
    case .checkpoint: #expect(before.next?.keepsBytes == true && machine == before, context)
    case .stopIfQuiet: #expect(machine.next != nil, context)
    case .setClass: #expect(!isEnding(before), context)
    case .removeFiles, .commit:
      guard case .retiring = machine.phase else {
        Issue.record(context)
        return
      }
    case .leaveSlot, .enter, .keepUpdate:
      guard case .retiring = before.phase else {
        Issue.record(context)
        return
      }
    case .perform(let queue): #expect(queue == before.commands && machine.commands.isEmpty, context)
    }
  }
}
