internal import CLinux
internal import LinuxSystem

/// A host's lease on the runners of one fork server. While plugins are at work, the host extends it with each look at them;
/// where it doesn't, because it was stopped or got no processor, the server stops them until it is back. Loop thread only.
final class Lease {
  /// From one look to the next, and what a busy machine may add. Where nobody else counts memory, a plugin can use in that
  /// time what it can write in it.
  static let patience = (counted: Duration.milliseconds(60), uncounted: Duration.milliseconds(10))

  let timer: OwnedDescriptor
  private var working: Set<UInt64> = []
  private var end = Duration.zero

  init() throws(SystemCallError) {
    var number: Int32 = -1
    try check("timerfd_create", "lease") { ol_lease(&number) }
    timer = OwnedDescriptor(taking: number)
  }

  /// A plugin is at work, and was just looked at. `isCounted`: the kernel keeps it within its memory.
  func extend(for run: UInt64, isCounted: Bool, at now: Duration) {
    working.insert(run)
    let patience = isCounted ? Self.patience.counted : Self.patience.uncounted
    // Not with every one of many short calls.
    guard now + patience - end > patience / 4 else { return }
    end = now + patience
    _ = ol_lease_extend(timer.number, UInt64(patience.inNanoseconds))
  }

  /// A plugin is frozen, or gone.
  func rest(_ run: UInt64) {
    guard working.remove(run) != nil, working.isEmpty else { return }
    end = .zero
    _ = ol_lease_extend(timer.number, 0)
  }
}
