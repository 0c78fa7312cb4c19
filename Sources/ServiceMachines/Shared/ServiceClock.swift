/// Turns readings of the machine's clocks into service time.
///
/// Within a boot only the boot-time clock counts (it goes on during suspend), so setting the wall clock moves
/// nothing. From boot to boot the difference of the wall clocks counts, and never less than nothing.
package struct ServiceClock: Sendable, Equatable, Codable {
  package struct Reading: Sendable, Equatable, Codable {
    /// `/proc/sys/kernel/random/boot_id`.
    package var boot: String
    /// Nanoseconds of CLOCK_BOOTTIME.
    package var bootTime: Int64
    /// Nanoseconds of CLOCK_REALTIME since 1970.
    package var wall: Int64

    package init(boot: String, bootTime: Int64, wall: Int64) {
      self.boot = boot
      self.bootTime = bootTime
      self.wall = wall
    }
  }

  /// The wall clock went otherwise than the boot-time clock.
  package struct Jump: Sendable, Equatable, Codable {
    /// Positive: the wall clock is later than it was expected to be.
    package var by: Duration
    package var at: Instant

    package init(by: Duration, at: Instant) {
      self.by = by
      self.at = at
    }
  }

  /// Less is the drift that time synchronisation corrects.
  package static let tolerance: Duration = .seconds(2)

  package private(set) var now: Instant
  /// The last jump that was noticed within a boot.
  package private(set) var lastJump: Jump?
  private var last: Reading

  package init(_ reading: Reading) {
    now = .start
    last = reading
  }

  /// The service time of a reading. Readings that go backwards stand still.
  @discardableResult
  package mutating func advance(_ reading: Reading) -> Instant {
    let byWall = Nanoseconds.difference(reading.wall, last.wall)
    if reading.boot == last.boot {
      let byBoot = Nanoseconds.difference(reading.bootTime, last.bootTime)
      let jump = Duration.nanoseconds(Nanoseconds.difference(byWall, byBoot))
      now = now + .nanoseconds(max(0, byBoot))
      if abs(jump.inNanoseconds.clampedForAbs) > Self.tolerance.inNanoseconds { lastJump = Jump(by: jump, at: now) }
      if byBoot < 0 {
        last.wall = reading.wall
        return now
      }
    } else {
      now = now + .nanoseconds(max(0, byWall))
    }
    last = reading
    return now
  }

  /// What the wall clock shows at `instant`, as it goes now: nanoseconds since 1970.
  package func wall(of instant: Instant) -> Int64 { Nanoseconds.sum(last.wall, (instant - now).inNanoseconds) }

  /// The service time at which the wall clock, as it goes now, shows `wall`.
  package func instant(ofWall wall: Int64) -> Instant { now + .nanoseconds(Nanoseconds.difference(wall, last.wall)) }
}

extension Nanoseconds {
  static func difference(_ left: Int64, _ right: Int64) -> Int64 {
    let (difference, overflow) = left.subtractingReportingOverflow(right)
    return overflow ? (left < right ? .min : .max) : difference
  }
}

extension Int64 {
  fileprivate var clampedForAbs: Int64 { self == .min ? -Int64.max : self }
}
