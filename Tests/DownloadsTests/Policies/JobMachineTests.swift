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
    #expect(machine.phase == .stopping)
    #expect(machine.handle(.quiet(needsCheckpoint: true)) == [.checkpoint])
    #expect(machine.next == .pause, "it still waits")
    #expect(machine.handle(.quiet(needsCheckpoint: false)) == [.conclude(.pause)] && machine.next == nil)
    #expect(machine.handle(.quiet(needsCheckpoint: false)).isEmpty, "once")
  }

  @Test func whatIsThrownAwayNeedsNoCheckpoint() {
    var machine = JobMachine()
    _ = machine.handle(.began)
    _ = machine.handle(.decided(.cancel))
    #expect(machine.handle(.quiet(needsCheckpoint: true)) == [.conclude(.cancel)])
  }

  @Test func commandsToAJobThatEndsWaitForItsEnd() {
    for end in [Event.publishing, .retiring] {
      var machine = JobMachine()
      _ = machine.handle(end)
      for command: JobCommand in [.resume, .setClass(.foreground), .pause, .cancel] {
        #expect(machine.handle(.command(command, transferClass: .background)).isEmpty, "\(end), \(command)")
      }
      #expect(machine.commands.commands == [.cancel], "the last word")
      #expect(machine.handle(.reopened) == [.perform(machineQueue(.cancel))] && machine.commands.isEmpty)
    }
  }

  private func machineQueue(_ commands: JobCommand...) -> CommandQueue {
    commands.reduce(into: CommandQueue()) { $0.append($1) }
  }

  @Test func aWriteThatFailsTakesBackWhatNeedsTheBytes() {
    for step in Self.steps {
      var machine = JobMachine()
      _ = machine.handle(.began)
      _ = machine.handle(.decided(step))
      _ = machine.handle(.writeFailed)
      let isTakenBack =
        switch step {
        case .verify, .retry: true
        default: false
        }
      #expect(machine.next == (isTakenBack ? nil : step), "\(step)")
    }
  }

  @Test func whatWasDecidedWhileAFileWasCheckedComesFirst() {
    var machine = JobMachine()
    _ = machine.handle(.began)
    _ = machine.handle(.verifying)
    #expect(machine.verified() == nil && machine.phase == .verifying)
    _ = machine.handle(.decided(.pause))
    #expect(machine.verified() == .pause && machine.phase == .stopping)
    #expect(machine.handle(.quiet(needsCheckpoint: false)) == [.conclude(.pause)])
  }

  /// Whatever comes in whatever order: transfers end only with a step, every step is concluded at most once, a failure or a
  /// cancellation is never replaced, nothing is asked of a job that ends, and no command is lost but to a later one.
  @Test(arguments: 0..<200) func randomEvents(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var machine = JobMachine()
    let commands: [JobCommand] = [.pause, .resume, .cancel, .setClass(.foreground), .setClass(.background)]
    for round in 0..<200 {
      let before = machine
      let event: Event =
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1: .command(try #require(commands.randomElement(using: &random)), transferClass: .background)
        case 2, 3: .decided(try #require(Self.steps.randomElement(using: &random)))
        case 4, 5: .quiet(needsCheckpoint: .random(using: &random))
        case 6: .began
        case 7: try #require([Event.verifying, .publishing, .retiring].randomElement(using: &random))
        case 8: .failedLate
        default: Bool.random(using: &random) ? .writeFailed : .reopened
        }
      let effects = machine.handle(event)
      let context: Comment = "seed \(seed), round \(round): \(event) in \(before)"
      for effect in effects {
        switch effect {
        case .endTransfers(let keepsBytes): #expect(machine.next.map { $0.keepsBytes == keepsBytes } ?? false, context)
        case .conclude(let step):
          #expect(before.next == step && machine.next == nil, context)
          #expect(before.phase == .stopping || before.phase == .opening, context)
        case .checkpoint: #expect(before.next?.keepsBytes == true && machine == before, context)
        case .stopIfQuiet: #expect(machine.next != nil, context)
        case .setClass: #expect(!before.phase.isEnding, context)
        case .perform(let queue): #expect(queue == before.commands && machine.commands.isEmpty, context)
        }
      }
      if case .cancel? = before.next, machine.next != before.next { #expect(effects == [.conclude(.cancel)], context) }
      if case .fail(let failure)? = before.next, machine.next != before.next {
        #expect(effects == [.conclude(.fail(failure))], context)
      }
      if case .command = event, before.phase.isEnding {
        #expect(effects.isEmpty && machine.phase == before.phase && machine.next == before.next, context)
      }
      #expect(machine.commands.commands.count <= 3, context)
    }
  }
}
