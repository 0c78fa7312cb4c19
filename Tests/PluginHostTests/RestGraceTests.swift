import Basics
import TestSupport
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct RestGraceTests {
  /// A rest of so long, looked at when it says so. Whether the runner was awake at its end, and the looks.
  private func rest(
    _ grace: inout RestGrace, for length: Duration, sampling: Duration = .milliseconds(10), load: Int = 0
  ) -> (isAwake: Bool, looks: [Duration]) {
    grace.begin()
    var looks: [Duration] = []
    while true {
      let next = grace.nextLook(after: looks.last ?? .zero, sampling: sampling)
      guard next < length else { return (true, looks) }
      looks.append(next)
      guard grace.isOver(rested: next, cpu: next * load / 100) else { continue }
      grace.woke(after: length - next)
      return (false, looks)
    }
  }

  @Test(
    "whose calls come within 20 ms of each other is left awake from the second rest on",
    arguments: [
      (2, true), (5, true), (19, true), (21, false), (1000, false),
    ])
  func lengths(milliseconds: Int, staysAwake: Bool) {
    var grace = RestGrace()
    #expect(!rest(&grace, for: .milliseconds(milliseconds)).isAwake, "nothing is known of the first")
    for _ in 0..<5 { #expect(rest(&grace, for: .milliseconds(milliseconds)).isAwake == staysAwake) }
    #expect(!rest(&grace, for: .seconds(1)).isAwake)
    #expect(rest(&grace, for: .seconds(1)).looks == [.milliseconds(1)], "after a long rest it is stopped soon again")
  }

  @Test("is looked at more and more seldom, and where nobody else counts memory, each millisecond") func looks() {
    var grace = RestGrace()
    _ = rest(&grace, for: .milliseconds(5))
    let counted = rest(&grace, for: .milliseconds(19)).looks
    #expect(counted == [1, 2, 4, 8, 16].map { .milliseconds($0) })
    let uncounted = rest(&grace, for: .milliseconds(19), sampling: .milliseconds(1)).looks
    #expect(uncounted == (1...18).map { .milliseconds($0) })
    #expect(rest(&grace, for: .milliseconds(21)).looks.last == .milliseconds(20))
  }

  @Test("a plugin that works in a rest is stopped at the next look, and after a millisecond from then on")
  func works() {
    var grace = RestGrace()
    _ = rest(&grace, for: .milliseconds(5))
    #expect(rest(&grace, for: .milliseconds(5), load: 4).isAwake, "120 us from the first look to the third")
    let found = rest(&grace, for: .milliseconds(19), load: 50)
    #expect(!found.isAwake && found.looks == [.milliseconds(1), .milliseconds(2)])
    for _ in 0..<10 { #expect(rest(&grace, for: .milliseconds(5)).looks == [.milliseconds(1)]) }
  }

  @Test(
    "whatever is done when, none is awake for longer than it may be, or works unnoticed",
    arguments: 0..<20 as Range<UInt64>)
  func random(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var grace = RestGrace()
    let sampling = Duration.milliseconds(random.chance(2) ? 1 : 10)
    for _ in 0..<2000 {
      let length = Duration.microseconds(random.below(random.chance(3) ? 200_000 : 20_000))
      let load = random.chance(20) ? random.below(101) : 0
      let (isAwake, looks) = rest(&grace, for: length, sampling: sampling, load: load)
      let all = [.zero] + looks
      let gaps = zip(all.dropFirst(), all).map { $0.0 - $0.1 }
      let awake = isAwake ? length : looks.last ?? .zero
      let worked = looks.count > 1 ? (looks[looks.count - 1] - looks[0]) * load / 100 : .zero
      #expect(awake <= RestGrace.longest && gaps.allSatisfy { $0 > .zero && $0 <= max(sampling, RestGrace.shortest) })
      #expect(!isAwake || worked <= RestGrace.maxCPU, "\(looks) \(load)")
    }
  }
}
