import Basics
import TestSupport
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct EventQueueTests {
  private static func line(_ text: String) -> PluginEvent {
    .logged(.init(level: "default", subsystem: "", category: "output", message: text))
  }

  @Test("what finds the buffer full is missing at its place, and counted") func drops() {
    var queue = EventQueue()
    for index in 0..<EventQueue.maxEvents + 7 { queue.add(Self.line("\(index)")) }
    #expect(queue.isFull)
    #expect(queue.next() == Self.line("0"))
    queue.add(Self.line("after"))
    for index in 1..<EventQueue.maxEvents { #expect(queue.next() == Self.line("\(index)")) }
    #expect(queue.next() == .missed(7))
    #expect(queue.next() == Self.line("after"))
    #expect(queue.next() == nil)
  }

  @Test("text is bounded, too, and a gap at the end is told") func bytes() {
    var queue = EventQueue()
    for _ in 0..<5 { queue.add(Self.line(String(repeating: "x", count: EventQueue.maxBytes / 4))) }
    for _ in 0..<4 { #expect(queue.next() != nil) }
    #expect(queue.next() == .missed(1))
    #expect(queue.next() == nil)
  }

  @Test("whatever comes and goes, each event is read in its order or counted as missed") func random() {
    var random = SeededGenerator(seed: 7)
    for _ in 0..<20 {
      var (queue, offered, seen) = (EventQueue(), 0, 0)
      func take(_ event: PluginEvent) {
        if case .missed(let count) = event {
          seen += count
        } else {
          #expect(event == Self.line("\(seen)"))
          seen += 1
        }
      }
      for _ in 0..<200 {
        for _ in 0..<Int.random(in: 0..<40, using: &random) {
          queue.add(Self.line("\(offered)"))
          offered += 1
        }
        for _ in 0..<Int.random(in: 0..<30, using: &random) { if let event = queue.next() { take(event) } }
      }
      while let event = queue.next() { take(event) }
      #expect(seen == offered)
    }
  }
}
