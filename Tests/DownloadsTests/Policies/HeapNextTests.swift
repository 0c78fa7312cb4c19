import Basics
import HeapModule
import Testing

@testable import Downloads

@Suite(.timeLimit(.minutes(1))) struct HeapNextTests {
  @Test("the next ones of a heap are those that would be taken out, also of many that are equal", arguments: 1...50)
  func exact(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var heap = Heap<Int>()
    let numbers = [5, 50, 100_000].randomElement(using: &random)!
    for _ in 0..<400 {
      if Int.random(in: 0..<4, using: &random) > 0 {
        heap.insert(Int.random(in: 0..<numbers, using: &random))
      } else {
        _ = heap.popMin()
      }
      let count = Int.random(in: 0..<20, using: &random)
      let model = heap.unordered.sorted().filter { $0 % 3 != 0 }.prefix(count)
      #expect(heap.next(count) { $0 % 3 != 0 } == Array(model), "seed \(seed)")
    }
  }
}
