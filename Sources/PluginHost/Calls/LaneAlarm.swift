internal import CLinux
internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// Calls the watchdog's thread a moment after a caller's thread let a frozen runner go on without it: at once it would be in the way of
/// the call, on a machine of few processors. Any thread.
final class LaneAlarm: Sendable {
  private static let delay = Duration.milliseconds(1)

  private let timer: OwnedDescriptor
  private let isSet = Atomic(false)
  private let watched = Atomic(false)

  init() throws(SystemCallError) {
    var number: Int32 = -1
    try check("timerfd_create", "calls") { ol_timerfd(&number) }
    timer = OwnedDescriptor(taking: number)
  }

  /// Whether the watchdog listens to it. Otherwise callers mustn't let a frozen runner go on.
  var isWatched: Bool { watched.load(ordering: .acquiring) }

  /// Watched for as long as the loop runs, which keeps it: it may have rung when its host goes.
  func watch(on loop: EventLoop, _ rings: @escaping () -> Void) throws(SystemCallError) {
    _ = try loop.watch(timer.number) { [self] in
      rang()
      rings()
    }
    watched.store(true, ordering: .releasing)
  }

  /// Unless it is set already: many calls mustn't put it off for ever.
  func set() {
    guard !isSet.exchange(true, ordering: .acquiringAndReleasing) else { return }
    _ = ol_timerfd_set(timer.number, UInt64((BootClock.now + Self.delay).inNanoseconds))
  }

  /// It has rung. What comes after this sets it anew.
  private func rang() {
    isSet.store(false, ordering: .sequentiallyConsistent)
    var times: UInt64 = 0
    _ = read(timer.number, &times, 8)
  }
}
