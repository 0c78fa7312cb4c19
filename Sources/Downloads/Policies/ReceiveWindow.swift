internal import LinuxSystem

/// How much a background transfer lets its peer send ahead, so that it fills what a link has to spare and no queue on the
/// way: LEDBAT (RFC 6817) turned round for a receiver, who can't pace the sender but can narrow its window. A pure value.
///
/// The delay of the queue is the round-trip time that the kernel sees beyond the smallest one of the last minutes. Below
/// the target the window grows in proportion to what is missing; above it, it becomes what fits the link and the target at
/// the rate that bytes arrive with. Other traffic in the queue lowers that rate again and again, and so the window. In a
/// minute that saw no empty queue the transfer slows down for a moment, as LEDBAT++ does (draft-irtf-iccrg-ledbat-plus-plus):
/// otherwise its own queue would be taken for the route in the end, and a second one put on top of it.
struct ReceiveWindow {
  /// What the kernel says of a socket (TCP_INFO).
  struct Sample: Equatable {
    /// The receiver's estimate of the round-trip time; zero: none yet.
    var roundTrip: Duration
    /// The smallest one of what was sent: the handshake found an empty queue, when nothing of the body was there yet.
    var shortestRoundTrip: Duration = .zero
    /// Since the connection began.
    var receivedBytes: Int64
    /// That a segment may have: on loopback 64 KiB.
    var segmentBytes = 1460
  }

  /// Delay that a queue may have because of us (LEDBAT++ takes 60 ms, RFC 6817 at most 100).
  static let target: Duration = .milliseconds(60)
  /// Two segments of an Ethernet: with less than that the peer waits for a timer before each.
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
  private var last: (at: Duration, bytes: Int64)?
  /// Since when others' packets stand in the queue, so far as can be told: it is longer than this transfer would make it.
  private var busySince: Duration?
  /// While it is slowed down: what was allowed before, and until when.
  private var slowdown: (limit: Int, until: Duration)?

  init() {}

  /// Whether others have had the link for a while.
  func isGivingWay(at now: Duration) -> Bool { busySince.map { now - $0 >= .seconds(3) } ?? false }

  /// Takes a sample and says which limit to set. One that stays is set again: where the kernel finds that its buffer is too
  /// small, it widens that, and the window with it (tcp_rcv_space_adjust). With no limit any more, `maxBytes` is to be set.
  mutating func look(_ sample: Sample, at now: Duration) -> Int? {
    guard now >= nextLook else { return nil }
    nextLook = now + max(Self.interval, sample.roundTrip)
    let before = last
    last = (now, sample.receivedBytes)
    guard sample.roundTrip > .zero else { return limit }
    let isNewMinute = Int64(now.inSeconds / 60) != minute
    let emptiest = minima.last
    let shortest = minima.isEmpty && sample.shortestRoundTrip > .zero ? sample.shortestRoundTrip : .seconds(3600)
    remember(min(sample.roundTrip, shortest), at: now)
    guard let before, now > before.at, let base = minima.min() else { return limit }
    // A server that sends in bursts: what the kernel knows is of the last one.
    guard sample.receivedBytes > before.bytes else { return limit }
    let least = max(Self.minBytes, 2 * sample.segmentBytes)
    if let slowed = slowdown {
      if now >= slowed.until { (limit, slowdown) = (slowed.limit, nil) }
      return limit
    }
    if isNewMinute, let limit, let emptiest, emptiest > base + Self.target / 4 {
      slowdown = (limit, now + max(.seconds(1), sample.roundTrip * 8))
      self.limit = least
      return least
    }
    let rate = Double(sample.receivedBytes - before.bytes) / (now - before.at).inSeconds
    let queue = (sample.roundTrip - base).inSeconds
    let target = Self.target.inSeconds
    let spare = (target - queue) / target
    busySince = limit != nil && spare < -0.5 ? busySince ?? now : nil
    if limit == nil, spare >= 0 { return nil }
    let underWay = rate * sample.roundTrip.inSeconds
    let old = Double(limit ?? Self.maxBytes)
    // A window that isn't used up says nothing about room for a wider one.
    if spare > 0, underWay < old / 2 { return limit }
    let wanted = spare >= 0 ? old * (1 + 0.25 * spare) : min(old, rate * (base.inSeconds + target))
    let new = max(least, Int(min(wanted, Double(Self.maxBytes))))
    limit = new >= Self.maxBytes ? nil : new
    return new
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
