public import AssetModel
internal import Glibc
internal import LinuxSystem

/// The engine's clocks. Deadlines and delays go by boot time, which counts while the machine sleeps and never jumps; wall
/// time is for HTTP dates and for waits across a reboot (clock_gettime(2)). Any thread.
public protocol TransferClock: Sendable {
  /// CLOCK_BOOTTIME.
  var boot: Duration { get }
  /// Nanoseconds since 1970.
  var wall: Int64 { get }
  var bootIdentifier: String { get }
  /// Whether something keeps wall time right.
  var isSynchronised: Bool { get }
  /// How long the machine has slept since boot. Grows only while it sleeps.
  var slept: Duration { get }
  /// Nothing is under way until `deadline`. The system's clock just lets time pass; a test's may jump there.
  func idles(until deadline: Duration)
}

extension TransferClock {
  /// Does nothing.
  ///
  /// - Parameter deadline: Boot time until which nothing is due.
  public func idles(until deadline: Duration) {}
  /// True: the clock is believed.
  public var isSynchronised: Bool { true }
  /// Nothing: the machine never sleeps.
  public var slept: Duration { .zero }

  /// Now, as it is kept on disk.
  public var now: StoredMoment { StoredMoment(bootIdentifier: bootIdentifier, boot: boot.inNanoseconds, wall: wall) }
}

/// The machine's own clocks, `CLOCK_BOOTTIME` and `CLOCK_REALTIME` (clock_gettime(2)).
public struct SystemClock: TransferClock {
  /// Differs from boot to boot.
  public let bootIdentifier: String

  /// Reads the boot's identifier.
  public init() { bootIdentifier = BootIdentifier.current ?? "" }

  /// Since the boot, sleep included.
  public var boot: Duration { BootClock.now }
  /// Whether the kernel's clock is disciplined (adjtimex(2)).
  public var isSynchronised: Bool { WallClock.isSynchronised }
  /// How long the machine has slept since the boot.
  public var slept: Duration { BootClock.slept }

  /// Nanoseconds since 1970.
  public var wall: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
