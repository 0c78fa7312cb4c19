internal import CLinux
internal import Glibc
internal import LinuxSystem
internal import Sandbox

/// Takes out of account what a plugin has freed of its shared memory, where no cgroup counts it. What it maps is looked at when
/// it can't change it: its only thread waits for the host, or all of them stand still.
extension Run {
  /// Whether there was a look. `call`: which the plugin's only thread waits for.
  func lookAtOnce(during call: ol_notification) -> Bool {
    let begun = BootClock.now
    guard sharedLook.isDue(at: begun), !sharedLook.isUnderWay, meters?.threads() == 1 else { return false }
    defer { sharedLook.ended(at: BootClock.now, cost: BootClock.now - begun) }
    // Had a signal taken it out of the call meanwhile, it could have moved what it maps.
    guard let mapped = meters?.sharedMappings(), ol_seccomp_is_valid(listener, call.id) == 0 else { return false }
    grants.shared.look(mapped)
    return true
  }

  /// Whether it is known which file each grant became, as far as that is worth waiting for. `call`: which asks for the next,
  /// since `asked`. What two grants of different sizes became can't be told apart later.
  func knowsGrants(before call: ol_notification, asked: Duration, at now: Duration) -> Bool {
    guard grants.shared.hasOneUnknown, meters?.threads() != 1 else { return true }
    if let mapped = meters?.sharedMappings() { grants.shared.identify(mapped) }
    guard grants.shared.hasOneUnknown else { return true }
    guard now - asked >= Self.longestMapping, !sharedLook.isUnderWay else { return false }
    let confusion = grants.shared.confusion(with: Int(clamping: call.arguments.1))
    return confusion <= plan.policy.limits.memory / Self.partsWorthALook
  }

  /// Then what isn't mapped was freed at once, or its thread waits for a core: all of them have to stand still.
  func looksForGrant(asked: Duration, at now: Duration) {
    if now - asked >= Self.longestMapping, sharedLook.isDue(at: now) { beginLook(using: memory() ?? 0) }
  }

  private static let longestMapping = Duration.milliseconds(2)
  private static let partsWorthALook = 16

  /// Whether that much memory is no reason to end the run, because what it freed of it isn't known yet.
  func looksFirst(at memory: Int?) -> Bool {
    guard cgroup == nil, listener >= 0, let memory,
      sharedLook.isWorthwhile(memory: memory, shared: grants.shared.total, limit: plan.policy.limits.memory)
    else { return false }
    beginLook(using: memory)
    return true
  }

  func beginLook(using memory: Int) {
    guard !sharedLook.isUnderWay else { return }
    stopThreads(but: heldCalls.map(\.pid))
    // Until the signals had reached it, it may have used more: this thread may have been kept from sending them.
    let due = sharedLook.begin(at: BootClock.now, memory: max(memory, self.memory() ?? 0))
    loop.setTimer(key(.look), at: due) { [weak self] in self?.look() }
  }

  private var heldCalls: [ol_notification] {
    held.map(\.call).filter { ol_seccomp_is_valid(listener, $0.id) == 0 }
  }

  private func stopThreads(but waiting: [UInt32]) {
    _ = ol_pidfd_signal(pidfd, SIGSTOP)
    if !waiting.isEmpty, !hasEnded { meters?.stopThreads(but: waiting) }
  }

  private func look() {
    guard report == nil, cause == nil else { return }
    let begun = BootClock.now
    // Those wait for the host, and so can't change anything either.
    let waiting = heldCalls
    let threads = waiting.map(\.pid)
    if let before = meters?.stillness(waiting: threads), let mapped = meters?.sharedMappings(),
      meters?.stillness(waiting: threads) == before
    {
      grants.shared.look(mapped)
    } else if let next = sharedLook.next(at: begun) {
      stopThreads(but: threads)
      return loop.setTimer(key(.look), at: next) { [weak self] in self?.look() }
    }
    grants.hasLooked = waiting.contains { NotificationPolicy.mapsShared($0) }
    sharedLook.ended(at: BootClock.now, cost: BootClock.now - begun)
    continueRunner()
    sample(mayLook: false)
    arm()
  }
}
