internal import LinuxSystem

/// How much a background transfer lets its peer send ahead, so that it fills what a link has to spare and no queue on the
/// way: LEDBAT (RFC 6817) turned round for a receiver, who can't pace the sender but can narrow its window. A pure value.
///
/// The delay of the queue is the round-trip time that the kernel sees beyond the smallest one of the last minutes. Below
/// the target the window grows in proportion to what is missing; above it, it becomes what fits the link and the target at
/// the rate that bytes arrive with. Other traffic in the queue lowers that rate again and again, and so the window.
struct ReceiveWindow {
  /// What the kernel says of a socket (TCP_INFO).
  struct Sample: Equatable {
    /// The receiver's estimate of the round-trip time; zero: none yet.
    var roundTrip: Duration
    /// Bytes that arrived in the last one.
    var bytesPerRoundTrip: Int
  }

  /// Delay that a queue may have because of us (LEDBAT++ takes 60 ms, RFC 6817 at most 100).
  static let target: Duration = .milliseconds(60)
  /// Two segments of an Ethernet: less would stop the transfer.
  static let minBytes = 2 * 1460
  /// From here on there is no limit but the kernel's own.
  static let maxBytes = 16 << 20
  /// Between two looks at a socket, at least; and at least one round trip.
  static let interval: Duration = .milliseconds(200)
  /// The smallest round trip counts for so long: routes change.
  private static let memory = 10

  /// Bytes; nil: not limited.
  private(set) var limit: Int?
  /// The smallest round trip of each of the last minutes, the newest last.
  private var minima: [Duration] = []
  private var minute: Int64 = .min
  private(set) var nextLook: Duration = .zero

  init() {}

  /// Takes a sample and says whether there is a new limit to set. With no limit any more, `maxBytes` is to be set.
  mutating func look(_ sample: Sample, at now: Duration) -> Int? {
    guard now >= nextLook else { return nil }
    nextLook = now + max(Self.interval, sample.roundTrip)
    guard sample.roundTrip > .zero else { return nil }
    remember(sample.roundTrip, at: now)
    guard let base = minima.min() else { return nil }
    let queue = (sample.roundTrip - base).inSeconds
    let target = Self.target.inSeconds
    let spare = (target - queue) / target
    let old = limit ?? max(Self.minBytes, min(sample.bytesPerRoundTrip, Self.maxBytes))
    if limit == nil, spare >= 0 { return nil }
    // A window that isn't used up says nothing about room for a wider one.
    if spare > 0, sample.bytesPerRoundTrip < old / 2 { return nil }
    let fitting = Double(sample.bytesPerRoundTrip) * (base.inSeconds + target) / sample.roundTrip.inSeconds
    let wanted = spare >= 0 ? Double(old) * (1 + 0.25 * spare) : min(Double(old), fitting)
    let new = max(Self.minBytes, Int(min(wanted, Double(Self.maxBytes))))
    limit = new >= Self.maxBytes ? nil : new
    return new == old ? nil : new
  }

  private mutating func remember(_ roundTrip: Duration, at now: Duration) {
    let minute = Int64(now.inSeconds / 60)
    if minute != self.minute || minima.isEmpty {
      self.minute = minute
      minima.append(roundTrip)
      if minima.count > Self.memory { minima.removeFirst() }
    } else {
      minima[minima.count - 1] = min(minima[minima.count - 1], roundTrip)
    }
  }
}
