import Basics
import Testing

@Suite(.timeLimit(.minutes(1))) struct HeapTests {
  @Test("Whatever is put in comes out in order", arguments: 1...50 as ClosedRange<UInt64>) func sorts(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var heap = Heap<Int>(<)
    var model: [Int] = []
    for _ in 0..<300 {
      if Int.random(in: 0..<3, using: &random) > 0 {
        let number = Int.random(in: 0..<50, using: &random)
        heap.push(number)
        model.append(number)
        model.sort()
      } else {
        #expect(heap.pop() == (model.isEmpty ? nil : model.removeFirst()), "seed \(seed)")
      }
      #expect(heap.first == model.first && heap.elements.sorted() == model, "seed \(seed)")
      let count = Int.random(in: 0..<20, using: &random)
      #expect(heap.first(count) { $0 % 3 != 0 } == Array(model.filter { $0 % 3 != 0 }.prefix(count)), "seed \(seed)")
    }
  }
}
