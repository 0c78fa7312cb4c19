import AssetModel
import ServiceMachines
import ServiceProtocol
import Testing

@testable import AssetService

@Suite(.timeLimit(.minutes(1))) struct AppSummaryTests {
  @Test("What a run that goes on has reserved isn't told as used [X1]")
  func reservedRuntime() throws {
    var core = ServiceCoreTests.core()
    let install = core.handle(
      .app("a", .placed(version: "1", kind: .install, facts: ServiceCoreTests.facts)), now: .start)
    let run = try ServiceCoreTests.ask(&core, install)
    func used() throws -> Double {
      let clock = ServiceClock(ServiceClock.Reading(boot: "b", bootTime: 0, wall: 0))
      return Summaries.app(
        "a", try #require(core.apps["a"]), nil, planner: core.planner, groups: [:], clock: clock
      ).runtime.usedSeconds
    }
    #expect(core.planner.apps["a"]?.runtime.reserved == .seconds(60))
    #expect(try used() == 0)
    _ = core.handle(.planner(.ended(run: run, runtime: .milliseconds(1800), end: .returned)), now: .start)
    #expect(try used() == 1.8)
  }
}
