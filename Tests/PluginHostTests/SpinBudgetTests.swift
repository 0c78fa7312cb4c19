import Basics
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct SpinBudgetTests {
  private static let soon = Duration.microseconds(5)
  private static let late = Duration.milliseconds(3)

  @Test func turnsForQuestionsThatFollow() {
    var budget = SpinBudget()
    for _ in 0..<20 { budget.handle(.asked(after: Self.soon)) }
    #expect(budget.spinLimit == SpinBudget.longest)
    // One that came late is no reason to give up, a row of them is.
    budget.handle(.asked(after: Self.late))
    #expect(budget.spinLimit == SpinBudget.longest)
    for _ in 0..<3 { budget.handle(.asked(after: Self.late)) }
    #expect(budget.spinLimit == .zero)
    // Nothing was tried meanwhile, and one that came soon says that it pays again.
    budget.handle(.asked(after: Self.soon))
    #expect(budget.spinLimit == SpinBudget.longest)
  }

  @Test("in vain it spins for no more than it has saved, whatever comes", arguments: 0..<50 as Range<UInt64>)
  func isBounded(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var budget = SpinBudget()
    var (saved, vain) = (4, 0)
    for _ in 0..<2000 {
      let isSoon = random.chance(3)
      if budget.spinLimit > .zero { if isSoon { saved += 1 } else { vain += 1 } } else if isSoon { saved += 1 }
      budget.handle(.asked(after: isSoon ? Self.soon : Self.late))
      #expect(budget.spinLimit == .zero || budget.spinLimit == SpinBudget.longest)
    }
    #expect(vain <= saved)
  }
}
