import Basics
import TestSupport
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct ControlUseTests {
  @Test("no more than so many requests for exclusive control are open") func isBounded() {
    var control = ControlUse()
    let taken = (0..<ControlUse.maxPending + 1).map { _ in control.request() }
    #expect(taken.dropLast().allSatisfy { $0 } && taken.last == false)
    control.answered(granted: false)
    let again = control.request()
    #expect(again)
  }

  @Test("who holds control isn't waiting for it") func waitsOnlyForOthers() {
    var control = ControlUse()
    _ = control.request()
    #expect(control.isWaiting && control.isEngaged)
    control.answered(granted: true)
    _ = control.request()
    #expect(!control.isWaiting && control.isEngaged)
    let isReleased = control.release()
    #expect(isReleased && control.isWaiting)
    control.answered(granted: false)
    let isReleasedAgain = control.release()
    #expect(!control.isEngaged && !isReleasedAgain)
  }

  /// Whatever is asked, granted and given back, before and after the end.
  @Test("each grant is released exactly once") func isBalanced() {
    for seed in 0..<10_000 {
      var random = SeededGenerator(seed: UInt64(seed))
      var control = ControlUse()
      var (granted, released, isOver) = (0, 0, false)
      for _ in 0..<random.below(40) {
        switch random.below(4) {
        case 0 where !isOver: _ = control.request()
        case 1 where !isOver: if control.release() { released += 1 }
        case 2 where control.pending > 0:
          let isGranted = random.chance(2)
          control.answered(granted: isGranted)
          if isGranted { granted += 1 }
          if isOver { released += control.end() }
        case 3 where random.chance(10) && !isOver:
          isOver = true
          released += control.end()
        default: break
        }
        if granted != released + control.held { Issue.record("seed \(seed): \(control)") }
      }
      released += control.end()
      if granted != released { Issue.record("seed \(seed): \(granted) grants, \(released) releases") }
    }
  }
}
