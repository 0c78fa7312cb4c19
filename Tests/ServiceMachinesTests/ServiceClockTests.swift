import TestSupport
import Testing

@testable import ServiceMachines

@Suite(.timeLimit(.minutes(2))) struct ServiceClockTests {
  static let second: Int64 = 1_000_000_000

  static func reading(_ boot: String, _ bootTime: Int64, _ wall: Int64) -> ServiceClock.Reading {
    .init(boot: boot, bootTime: bootTime * second, wall: wall * second)
  }

  @Test("Within a boot only the boot-time clock counts; a wall clock that is set is noticed and moves nothing")
  func withinBoot() {
    var clock = ServiceClock(Self.reading("x", 100, 5000))
    #expect(clock.advance(Self.reading("x", 110, 5010)) == Instant(seconds: 10))
    #expect(clock.lastJump == nil)
    #expect(clock.advance(Self.reading("x", 120, 2000)) == Instant(seconds: 20))
    #expect(clock.lastJump == .init(by: .seconds(-3020), at: Instant(seconds: 20)))
    #expect(clock.wall(of: Instant(seconds: 25)) == 2005 * Self.second)
    #expect(clock.instant(ofWall: 2005 * Self.second) == Instant(seconds: 25))
  }

  @Test("From boot to boot the wall clock's difference counts, and never less than nothing")
  func betweenBoots() {
    var clock = ServiceClock(Self.reading("x", 100, 5000))
    #expect(clock.advance(Self.reading("y", 3, 8600)) == Instant(seconds: 3600))
    #expect(clock.advance(Self.reading("z", 1, 10)) == Instant(seconds: 3600))
    #expect(clock.advance(Self.reading("z", 2, 11)) == Instant(seconds: 3601))
  }

  @Test(
    "Whatever the clocks show, service time never runs backwards, also when it comes from a journal",
    arguments: [Seed.current])
  func random(seed: Seed) throws {
    var random = seed.generator
    var clock = ServiceClock(Self.reading("0", 0, 0))
    for _ in 0..<10_000 {
      let before = clock.now
      let extreme: [Int64] = [.min, .max, 0, -1]
      let reading = ServiceClock.Reading(
        boot: "\(random.below(3))",
        bootTime: random.chance(50)
          ? extreme[random.below(4)] : Int64.random(in: 0...9_000_000_000_000, using: &random),
        wall: random.chance(50)
          ? extreme[random.below(4)] : Int64.random(in: -9_000_000_000...9_000_000_000, using: &random))
      var twin = try stored(clock)
      let now = clock.advance(reading)
      #expect(now >= before && twin.advance(reading) == now && twin == clock)
      _ = clock.wall(of: Instant(nanoseconds: extreme[random.below(4)]))
      _ = clock.instant(ofWall: extreme[random.below(4)])
    }
  }
}
