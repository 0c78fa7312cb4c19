import Basics
import Testing

@testable import Downloads

/// `Allowance`: what may still arrive before more is reserved.
@Suite(.timeLimit(.minutes(1))) struct AllowancePolicyTests {
  @Test func withoutABudgetNothingIsMissing() {
    var allowance = Allowance()
    allowance.charge(1 << 40)
    #expect(allowance.missing(for: .max) == nil && allowance.atMost(5) == 5 && allowance.left == nil)
  }

  /// A server sends what it likes: what arrived in all is never more than what was reserved, but for what came beside bodies.
  @Test(arguments: 0..<100) func nothingArrivesThatWasntReserved(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var (reserved, arrived, size) = (Int64.random(in: 0...1000, using: &random), Int64(0), Int64(5_000_000))
    var allowance = Allowance(left: reserved)
    while arrived < size {
      let bytes = min(Int64.random(in: 1...70_000, using: &random), size - arrived)
      if let missing = allowance.missing(for: bytes) {
        guard let (minimum, maximum) = allowance.extend(by: missing, remaining: size - arrived) else {
          throw Unexpected("seed \(seed): not asked twice")
        }
        #expect(minimum == missing && maximum >= minimum && maximum <= max(minimum, Allowance.step), "seed \(seed)")
        let again = allowance.extend(by: missing, remaining: nil)
        #expect(again == nil && allowance.isExtending, "one question at a time")
        let granted = Int64.random(in: minimum...maximum, using: &random)
        reserved += granted
        allowance.extended(by: granted)
        continue
      }
      arrived += bytes
      allowance.charge(bytes)
      #expect(arrived <= reserved && allowance.left == reserved - arrived, "seed \(seed)")
      if Int.random(in: 0..<50, using: &random) == 0 { size += 10_000 }
    }
  }

  @Test func whatIsGivenUpIsNeverChargedBeyondWhatIsLeft() {
    var allowance = Allowance(left: 100)
    #expect(allowance.atMost(1000) == 100)
    allowance.charge(150)
    #expect(allowance.atMost(1000) == 0 && allowance.missing(for: 0) == 50)
  }
}
