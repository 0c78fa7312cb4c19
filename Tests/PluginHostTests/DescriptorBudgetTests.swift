import LinuxSystem
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct DescriptorBudgetTests {
  @Test func whatIsUnderWayCounts() {
    let alone = DescriptorBudget(loading: 0, attachments: 4).needed
    #expect(alone > DescriptorBudget.perRun + DescriptorBudget.reserve)
    #expect(DescriptorBudget(loading: 3, attachments: 4).needed == alone + 3 * DescriptorBudget.late)
    #expect(DescriptorBudget(loading: 0, attachments: 9).needed == alone + 5)
  }

  @Test(arguments: 0...300) func asManyAtOnceAsFit(_ free: Int) {
    let runs = DescriptorBudget.runsAtOnce(free: free, wanted: 8)
    #expect((1...8).contains(runs))
    #expect(runs == 1 || DescriptorBudget.enough(for: runs) <= free)
    #expect(runs == 8 || DescriptorBudget.enough(for: runs + 1) > free)
  }

  @Test func whatIsFreeIsFound() {
    #expect(OpenFiles.free(upTo: 0) == 0)
    #expect(OpenFiles.free(upTo: 20) == 20)
  }
}
