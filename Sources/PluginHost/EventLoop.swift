internal import CLinux
internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// The watchdog's thread: epoll over every channel, listener and pidfd of a host, and one timer for the next deadline.
///
/// @unchecked Sendable: `handlers`, `timers` and everything that they reach are touched on the loop's own thread only, and
/// after its end by one thread at a time; other threads hand work over through `pending`.
final class EventLoop: @unchecked Sendable {
  private let epoll: Int32
  private let timer: Int32
  private let wakeup: Int32
  private let pending = Mutex(Pending())
  private var handlers: [UInt64: (descriptor: Int32, body: () -> Void)] = [:]
  private var timers: [UInt64: (due: Duration, body: () -> Void)] = [:]
  private var nextKey: UInt64 = 2
  private var armed: Duration?
  private var isRunning = true
  /// For whatever handler runs: one at a time, on this thread.
  var buffer = [UInt8](repeating: 0, count: 65536)

  private struct Pending {
    var work: [@Sendable () -> Void] = []
    var hasEnded = false
    /// After the loop's end: somebody does what there is.
    var isInHand = false
  }

  init() throws(SystemCallError) {
    var epoll: Int32 = -1
    var timer: Int32 = -1
    var wakeup: Int32 = -1
    try check("epoll_create1", "") { ol_epoll_create(&epoll) }
    try check("timerfd_create", "") { ol_timerfd(&timer) }
    try check("eventfd", "") { ol_eventfd(&wakeup) }
    try check("epoll_ctl", "timer") { ol_epoll_add(epoll, timer, 0) }
    try check("epoll_ctl", "eventfd") { ol_epoll_add(epoll, wakeup, 1) }
    self.epoll = epoll
    self.timer = timer
    self.wakeup = wakeup
    try Threads.detach("outrider.watch") { [self] in run() }
  }

  // Not before: their numbers would be others' files, and a plugin may be referred to for longer than its host runs.
  deinit { for descriptor in [epoll, timer, wakeup] { close(descriptor) } }

  /// Runs `work` on the loop's thread, in order; after its end on the caller's, or on that of whoever submits just then, so
  /// that nobody waits for an answer that doesn't come. Any thread.
  func submit(_ work: @escaping @Sendable () -> Void) {
    let isMine = pending.withLock { pending in
      pending.work.append(work)
      guard pending.hasEnded, !pending.isInHand else { return false }
      pending.isInHand = true
      return true
    }
    if isMine { return finish() }
    var one: UInt64 = 1
    _ = write(wakeup, &one, 8)
  }

  /// One piece after the other: what is done may submit more.
  private func finish() {
    func next() -> (@Sendable () -> Void)? {
      pending.withLock { pending in
        if pending.work.isEmpty {
          pending.isInHand = false
          return nil
        }
        return pending.work.removeFirst()
      }
    }
    while let work = next() { work() }
  }

  /// Calls `body` when `descriptor` is readable or hung up, until `stop`. Loop thread only.
  func watch(_ descriptor: Int32, _ body: @escaping () -> Void) throws(SystemCallError) -> UInt64 {
    nextKey += 1
    let key = nextKey
    try check("epoll_ctl", "\(descriptor)") { ol_epoll_add(epoll, descriptor, key) }
    handlers[key] = (descriptor, body)
    return key
  }

  func stop(_ key: UInt64) {
    guard let (descriptor, _) = handlers.removeValue(forKey: key) else { return }
    _ = ol_epoll_remove(epoll, descriptor)
  }

  /// Sets, moves or (nil) removes the one timer of an owner. Loop thread only.
  func setTimer(_ owner: UInt64, at due: Duration?, _ body: @escaping () -> Void) {
    timers[owner] = due.map { ($0, body) }
  }

  /// Ends the thread after what was submitted before.
  func shutDown() { submit { [self] in isRunning = false } }

  private func run() {
    _ = ol_set_process_name("watchdog")
    var keys = [UInt64](repeating: 0, count: 64)
    while isRunning {
      arm()
      var count: Int32 = 0
      let code = ol_epoll_wait(epoll, &keys, Int32(keys.count), &count)
      if code != 0, code != EINTR { break }
      fire()
      for key in keys.prefix(Int(count)) {
        switch key {
        case 0: drain(timer)
        case 1:
          drain(wakeup)
          let work = pending.withLock { exchange(&$0.work, with: []) }
          for item in work { item() }
        default: handlers[key]?.body()
        }
      }
      fire()
    }
    pending.withLock { ($0.hasEnded, $0.isInHand) = (true, true) }
    finish()
  }

  private func drain(_ descriptor: Int32) {
    var value: UInt64 = 0
    _ = read(descriptor, &value, 8)
    if descriptor == timer { armed = nil }
  }

  private func arm() {
    let next = timers.values.map(\.due).min()
    guard next != armed else { return }
    armed = next
    _ = ol_timerfd_set(timer, next.map { UInt64(max($0.inNanoseconds, 1)) } ?? 0)
  }

  private func fire() {
    guard !timers.isEmpty else { return }
    let now = BootClock.now
    for owner in timers.filter({ $0.value.due <= now }).keys {
      // A body may remove or move what was due with it.
      guard let entry = timers[owner], entry.due <= now else { continue }
      timers[owner] = nil
      entry.body()
    }
  }
}
