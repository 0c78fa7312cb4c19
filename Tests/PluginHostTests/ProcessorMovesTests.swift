import Basics
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct ProcessorMovesTests {
  @Test("moves that don't hold become rarer, and one that holds is made soon again")
  func gaps() {
    var moves = ProcessorMoves()
    var at: [Int] = []
    for call in 1...2000 where moves.handle(.called(isShared: true)) { at.append(call) }
    #expect(at == [8, 24, 56, 120, 248, 504, 1016, 1528])
    let apart = (0..<ProcessorMoves.proof).map { _ in moves.handle(.called(isShared: false)) }
    #expect(!apart.contains(true))
    let shared = (1...8).map { _ in moves.handle(.called(isShared: true)) }
    #expect(shared.last == true)
  }

  @Test("whatever a plugin says of its processor, a call in eight moves at most", arguments: 0..<50 as Range<UInt64>)
  func isBounded(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var moves = ProcessorMoves()
    var (shared, moved) = (0, 0)
    for _ in 0..<5000 {
      let isShared = random.chance(2)
      if isShared { shared += 1 }
      if moves.handle(.called(isShared: isShared)) {
        #expect(isShared)
        moved += 1
      }
    }
    #expect(moved * ProcessorMoves.gaps.lowerBound <= shared)
  }
}
