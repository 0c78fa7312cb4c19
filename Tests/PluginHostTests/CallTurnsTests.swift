import Basics
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct CallTurnsTests {
  @Test(
    "calls have their turns in the order in which they were made, less those that were taken out",
    arguments: 1...4 as ClosedRange<UInt64>)
  func order(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<200 {
      var turns = CallTurns<Int>()
      var model: [Int] = []
      for step in 0..<40 {
        switch Int.random(in: 0..<4, using: &random) {
        case 0, 1:
          turns.add(step, id: UInt64(step))
          model.append(step)
        case 2:
          let next = turns.next()
          #expect(next?.call == model.first && next?.id == model.first.map(UInt64.init))
          if !model.isEmpty { model.removeFirst() }
        default:
          let id = Int.random(in: 0..<40, using: &random)
          #expect(turns.remove(UInt64(id)) == (model.contains(id) ? id : nil))
          model.removeAll { $0 == id }
        }
        #expect(turns.isEmpty == model.isEmpty)
      }
      #expect(turns.removeAll() == model && turns.isEmpty)
    }
  }

  @Test("a ticket is its call's alone, and remembers that it was cancelled") func tickets() {
    let tickets = (0..<100).map { _ in CallTicket() }
    #expect(Set(tickets.map(\.id)).count == 100)
    tickets[7].cancel()
    #expect(tickets.filter(\.isCancelled).map(\.id) == [tickets[7].id])
  }
}
