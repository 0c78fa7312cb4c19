import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct SparePlanTests {
  @Test func waitsForRest() {
    var plan = SparePlan()
    let due = plan.becameIdle(at: .seconds(1))
    #expect(due == .seconds(1) + SparePlan.quiet)
    let isDueWhileBusy = plan.isDue(at: .seconds(1), isBusy: true)
    #expect(!isDueWhileBusy && !plan.isThere)
    let isDue = plan.isDue(at: .seconds(1) + SparePlan.quiet, isBusy: false)
    #expect(isDue && plan.isThere && !plan.isReady)
    plan.prepared()
    let again = plan.becameIdle(at: .seconds(2))
    #expect(plan.isReady && again == nil)
  }

  /// A plugin that is busy for ever keeps no other from a quick wake.
  @Test func waitsNoLongerThanItsDelay() {
    var plan = SparePlan()
    var now = Duration.seconds(1)
    var asked = false
    while !asked, now < .seconds(2) {
      guard let due = plan.becameIdle(at: now) else { break }
      now = due
      asked = plan.isDue(at: now, isBusy: true)
    }
    #expect(asked)
    #expect(now >= .seconds(1) + SparePlan.longestDelay)
    #expect(now < .seconds(1) + SparePlan.longestDelay * 2)
  }

  /// Making one would hold up the end of a run that dies meanwhile, however long it has been waited for.
  @Test func keepsAwayFromWhoeverDies() {
    var plan = SparePlan()
    _ = plan.becameIdle(at: .zero)
    let now = SparePlan.longestDelay * 2
    let near = now + SparePlan.longestMove - .nanoseconds(1)
    let refused = [
      plan.isDue(at: now, isBusy: true, deadline: near), plan.isDue(at: now, isBusy: false, deadline: .zero),
      plan.isDue(at: now, isBusy: true, isDying: true),
    ]
    let granted = plan.isDue(at: now, isBusy: true, deadline: now + SparePlan.longestMove)
    #expect(!refused.contains(true) && granted)
  }

  @Test func isAskedForOnce() {
    var plan = SparePlan()
    var answers = [plan.isDue(at: .seconds(1), isBusy: false)]
    _ = plan.becameIdle(at: .seconds(1))
    for _ in 0..<2 { answers.append(plan.isDue(at: .seconds(1), isBusy: false)) }
    #expect(answers == [false, true, false])
  }

  @Test func aLateAnswerMakesNone() {
    var plan = SparePlan()
    plan.prepared()
    #expect(!plan.isReady)
  }
}
