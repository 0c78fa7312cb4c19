internal import CLinux
internal import LinuxSystem

/// A host's lease on the runners of one fork server. While plugins are at work, the host extends it with each look at them;
/// where it doesn't, because it was stopped or got no processor, the server stops them until it is back. Loop thread only.
final class Lease {
  /// From one look to the next, and what a busy machine may add. Where no cgroup counts memory, a plugin can use in that
  /// time what it can write in it.
  static let durations = (counted: Duration.milliseconds(60), uncounted: Duration.milliseconds(10))

  let timer: LeaseTimer
  private var working: Set<UInt64> = []
  private var end = Duration.zero

  init() throws(SystemCallError) {
    timer = try LeaseTimer()
  }

  /// A plugin is at work, and was just looked at. `isCounted`: the kernel keeps it within its memory.
  func extend(for run: UInt64, isCounted: Bool, at now: Duration) {
    working.insert(run)
    let duration = isCounted ? Self.durations.counted : Self.durations.uncounted
    // Not with every one of many short calls.
    guard now + duration - end > duration / 4 else { return }
    end = now + duration
    timer.set(duration)
  }

  /// A plugin is frozen, or gone.
  func release(_ run: UInt64) {
    guard working.remove(run) != nil, working.isEmpty else { return }
    end = .zero
    timer.set(.zero)
  }
}

/// The timer that the fork server waits for. Any thread.
final class LeaseTimer: Sendable {
  private let descriptor: OwnedDescriptor

  init() throws(SystemCallError) {
    var number: Int32 = -1
    try check("timerfd_create", "lease") { ol_lease(&number) }
    descriptor = OwnedDescriptor(taking: number)
  }

  var number: Int32 { descriptor.number }

  /// From now on; nothing ends it.
  func set(_ time: Duration) { _ = ol_lease_extend(descriptor.number, UInt64(time.inNanoseconds)) }
}
