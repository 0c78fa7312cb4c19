import Testing

@testable import PluginHost

@Suite struct SparePlanTests {
  @Test func waitsForRest() {
    var plan = SparePlan()
    #expect(plan.rest(at: .seconds(1)) == .seconds(1) + SparePlan.quiet)
    #expect(!plan.isDue(at: .seconds(1), isBusy: true))
    #expect(!plan.isThere)
    #expect(plan.isDue(at: .seconds(1) + SparePlan.quiet, isBusy: false))
    #expect(plan.isThere && !plan.isReady)
    plan.prepared()
    #expect(plan.isReady)
    #expect(plan.rest(at: .seconds(2)) == nil)
  }

  /// A plugin that is busy for ever keeps nobody from a quick wake.
  @Test func losesPatience() {
    var plan = SparePlan()
    var now = Duration.seconds(1)
    var asked = false
    while !asked, now < .seconds(2) {
      guard let due = plan.rest(at: now) else { break }
      now = due
      asked = plan.isDue(at: now, isBusy: true)
    }
    #expect(asked)
    #expect(now >= .seconds(1) + SparePlan.patience)
    #expect(now < .seconds(1) + SparePlan.patience * 2)
  }

  @Test func isAskedForOnce() {
    var plan = SparePlan()
    #expect(!plan.isDue(at: .seconds(1), isBusy: false))
    _ = plan.rest(at: .seconds(1))
    #expect(plan.isDue(at: .seconds(1), isBusy: false))
    #expect(!plan.isDue(at: .seconds(1), isBusy: false))
    plan.prepared()
    plan.prepared()
    #expect(plan.isReady)
  }

  @Test func aLateAnswerMakesNone() {
    var plan = SparePlan()
    plan.prepared()
    #expect(!plan.isReady)
  }
}
