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
  public func idles(until deadline: Duration) {}
  public var isSynchronised: Bool { true }
  public var slept: Duration { .zero }

  /// Now, as it is kept on disk.
  public var now: StoredMoment { StoredMoment(bootIdentifier: bootIdentifier, boot: boot.inNanoseconds, wall: wall) }
}

public struct SystemClock: TransferClock {
  public let bootIdentifier: String

  public init() {
    let text = (try? Files.text(of: "/proc/sys/kernel/random/boot_id", limit: 64)) ?? ""
    bootIdentifier = String(text.prefix { $0 != "\n" })
  }

  public var boot: Duration { BootClock.now }
  public var isSynchronised: Bool { WallClock.isSynchronised }
  public var slept: Duration { BootClock.slept }

  public var wall: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }
}
