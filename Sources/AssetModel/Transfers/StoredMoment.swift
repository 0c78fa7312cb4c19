/// A moment as it is kept on disk: boot time alone means nothing after a reboot, wall time alone jumps.
public struct StoredMoment: Sendable, Equatable {
  /// The boot that `boot` counts from.
  public var bootIdentifier: String
  /// Nanoseconds of CLOCK_BOOTTIME.
  public var boot: Int64
  /// Nanoseconds since 1970.
  public var wall: Int64

  /// Creates a moment of its parts.
  public init(bootIdentifier: String, boot: Int64, wall: Int64) {
    self.bootIdentifier = bootIdentifier
    self.boot = boot
    self.wall = wall
  }

  /// Nanoseconds from this moment to `now`, never negative: by boot time within one boot, else by wall time.
  package func elapsed(until now: StoredMoment) -> Int64 {
    let (elapsed, overflow) =
      bootIdentifier == now.bootIdentifier
      ? now.boot.subtractingReportingOverflow(boot) : now.wall.subtractingReportingOverflow(wall)
    // Clocks may stand anywhere, and so may what a damaged row says.
    if overflow { return now.wall > wall ? .max : 0 }
    return max(0, elapsed)
  }
}

/// A wait that survives a restart: it never grows, and none is negative.
public struct StoredWait: Sendable, Equatable {
  /// When the wait began.
  public var since: StoredMoment
  /// Nanoseconds from `since`.
  public var length: Int64

  /// Creates a wait.
  public init(since: StoredMoment, length: Int64) {
    self.since = since
    self.length = max(0, length)
  }

  /// Nanoseconds left at `now`: 0…length.
  package func remaining(at now: StoredMoment) -> Int64 { length - min(length, since.elapsed(until: now)) }
}
