internal import CLinux
internal import Glibc
internal import LinuxSystem
internal import Sandbox

/// Takes out of account what a plugin has freed of its shared memory, where no cgroup counts it. What it maps is looked at when
/// it can't change it: its only thread waits for the host, or all of them stand still.
extension SystemCallSupervisor {
  /// Whether there was a look. `call`: which the plugin's only thread waits for.
  func lookAtOnce(during call: ol_notification) -> Bool {
    let begun = BootClock.now
    guard meter.sharedLook.isDue(at: begun), !meter.sharedLook.isUnderWay, meter.threads == 1 else { return false }
    defer { meter.sharedLook.ended(at: BootClock.now, cost: BootClock.now - begun) }
    // Had a signal taken it out of the call meanwhile, it could have moved what it maps.
    guard let mapped = meter.sharedMappings, isWaiting(call) else { return false }
    grants.shared.look(mapped)
    return true
  }

  /// Whether it is known which files the grants became, as far as that is worth waiting for. `call`: which asks for the next,
  /// since `asked`. What two grants of different sizes became can't be told apart later.
  func knowsGrants(before call: ol_notification, asked: Duration, at now: Duration) -> Bool {
    let (bytes, limit) = (Int(clamping: call.arguments.1), plan.policy.limits.memory / Self.partsWorthALook)
    guard grants.shared.hasUnknown else { return true }
    // One thread alone is looked at in its next call, whenever a look isn't due in this one.
    if meter.threads == 1, grants.shared.confusion(with: bytes) <= limit { return true }
    if grants.shared.hasOneUnknown, meter.sharedLook.isDue(at: now), !meter.sharedLook.isUnderWay {
      let begun = BootClock.now
      if let mapped = meter.sharedMappings { grants.shared.identify(mapped) }
      let end = BootClock.now
      meter.sharedLook.searched(at: end, cost: end - begun)
    }
    guard grants.shared.hasUnknown else { return true }
    guard now - asked >= Self.longestMapping, !meter.sharedLook.isUnderWay else { return false }
    return grants.shared.confusion(with: bytes) <= limit
  }

  /// Then what isn't mapped was freed at once, or its thread waits for a core: all of them have to stand still.
  func looksForGrant(asked: Duration, at now: Duration) {
    guard now - asked >= Self.longestMapping, meter.sharedLook.isDue(at: now) else { return }
    beginLook(using: meter.memory(shared: grants.shared.total) ?? 0)
  }

  private static let longestMapping = Duration.milliseconds(2)
  private static let partsWorthALook = 16

  /// Whether that much memory is no reason to end the run, because what it freed of it isn't known yet.
  func looksFirst(at memory: Int?) -> Bool {
    guard !meter.isCounted, listener >= 0, let memory,
      meter.sharedLook.isWorthwhile(memory: memory, shared: grants.shared.total, limit: plan.policy.limits.memory)
    else { return false }
    beginLook(using: memory)
    return true
  }

  func beginLook(using memory: Int) {
    guard !meter.sharedLook.isUnderWay else { return }
    stopThreads(but: waitingCalls.map(\.pid))
    // Until the signals had reached it, it may have used more: this thread may have been kept from sending them.
    let used = max(memory, meter.memory(shared: grants.shared.total) ?? 0)
    let due = meter.sharedLook.begin(at: BootClock.now, memory: used)
    loop.setTimer(timers[.look], at: due) { [weak self] in self?.look() }
  }

  private var waitingCalls: [ol_notification] { held.map(\.call).filter { isWaiting($0) } }

  private func stopThreads(but waiting: [UInt32]) {
    guard let run else { return }
    run.stopRunner()
    if !waiting.isEmpty, !run.hasEnded { meter.stopThreads(but: waiting) }
  }

  private func look() {
    guard let run, !run.isEnding else { return }
    let begun = BootClock.now
    // Those wait for the host, and so can't change anything either.
    let waiting = waitingCalls
    let threads = waiting.map(\.pid)
    let stillness = meter.stillness(waiting: threads)
    // What can't be read of a run that stands still, since there is too much of it, can't be read later either.
    var (mapped, isFinal): (Set<UInt64>?, Bool) = (nil, false)
    if case .stands = stillness {
      mapped = meter.sharedMappings
      isFinal = mapped == nil
    }
    if let mapped, meter.stillness(waiting: threads) == stillness {
      grants.shared.look(mapped)
    } else if !isFinal, let next = meter.sharedLook.next(at: begun, stillness, cost: BootClock.now - begun) {
      stopThreads(but: threads)
      return loop.setTimer(timers[.look], at: next) { [weak self] in self?.look() }
    } else {
      record(
        RunReport.Denial(
          wall: "limits", operation: "mmap", target: "what was freed still counts: \(stillness)", count: 1))
    }
    grants.hasLooked = waiting.contains { NotificationPolicy.mapsShared($0) }
    meter.sharedLook.ended(at: BootClock.now, cost: BootClock.now - begun)
    run.continueRunner()
    run.sharedMemoryWasChecked()
  }
}
