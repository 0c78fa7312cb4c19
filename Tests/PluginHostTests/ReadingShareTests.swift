import Basics
import Testing

@testable import PluginHost

@Suite(.timeLimit(.minutes(1))) struct ReadingShareTests {
  private static let start = Duration.seconds(1000)

  @Test("what comes in a burst is read at once, and more of it waits until a quarter of the time was enough")
  func burst() {
    var share = ReadingShare()
    #expect(share.portion(at: Self.start) == ReadingShare.portions.upperBound)
    #expect(share.spent(ReadingShare.burst, at: Self.start) == nil)
    #expect(share.portion(at: Self.start) == ReadingShare.portions.lowerBound)
    #expect(share.spent(.milliseconds(1), at: Self.start) == Self.start + .milliseconds(4))
    // What is read sooner all the same counts, too.
    #expect(share.spent(.milliseconds(1), at: Self.start) == Self.start + .milliseconds(8))
    #expect(share.spent(.zero, at: Self.start + .milliseconds(8)) == nil)
    #expect(share.spent(ReadingShare.burst, at: Self.start + .seconds(1)) == nil)
  }

  @Test("however much there is, reading takes its share and no more", arguments: 0..<50 as Range<UInt64>)
  func isBounded(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var share = ReadingShare()
    var (now, work) = (Self.start, Duration.zero)
    for _ in 0..<2000 {
      let portion = share.portion(at: now)
      #expect(ReadingShare.portions.contains(portion))
      // A read that was begun is ended.
      let go = random.chance(4) ? portion + .microseconds(Int(random.next() % 500)) : portion
      now += go
      work += go
      if let end = share.spent(go, at: now) {
        #expect(end > now)
        now = end
      }
      if random.chance(50) { now += .milliseconds(Int(random.next() % 40)) }
    }
    #expect(work <= ReadingShare.burst + (now - Self.start) / ReadingShare.divisor)
  }
}
