internal import CLinux
internal import Glibc
internal import Synchronization

/// A thread with epoll(7) over descriptors, one timer for the next of many deadlines, and work that other threads submit.
/// It is the watchdog of the plugin host and the thread of the service, whose actor it executes.
///
/// @unchecked Sendable: `handlers`, `timers` and everything that they reach are touched on the loop's own thread only, and
/// after its end by one thread at a time; other threads hand work over through `pending`.
package final class EventLoop: @unchecked Sendable {
  /// What of a descriptor its handler is called for. Hanging up and errors always are (epoll_ctl(2)).
  package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    package static let reading = Interest(rawValue: 1)
    package static let writing = Interest(rawValue: 2)
  }

  private struct Handler {
    let descriptor: Int32
    var interest: Interest
    let body: () -> Void
  }

  private let name: StaticString
  private let epoll: Int32
  private let timer: Int32
  private let wakeup: Int32
  private let thread = Atomic<UInt>(0)
  private let pending = Mutex(Pending())
  private var handlers: [UInt64: Handler] = [:]
  private var timers: [TimerKey: (due: Duration, body: () -> Void)] = [:]
  /// No timer is due before; nil: there is none, or it has to be looked for.
  private var earliest: Duration?
  private var isEarliestKnown = true
  private var lastKey: UInt64 = 2
  private var armed: Duration?
  private var isRunning = true
  /// Who may go on with what the loop's thread does: another one can't wake it where the loop's descriptors were closed.
  private let stage = Atomic(Stage.working)
  private var failed: (SystemCallError) -> Void = { _ in }
  /// How often the loop has looked for what is ready; for those who share each time out among many. Loop thread only.
  package private(set) var turn: UInt64 = 0
  /// For the handler that runs: one at a time, on this thread.
  package var buffer = [UInt8](repeating: 0, count: 65536)

  private enum Stage: UInt8, AtomicRepresentable {
    case working
    /// In the kernel, for what comes.
    case waiting
    /// Another thread has ended the loop meanwhile.
    case lost
  }

  private struct Pending {
    var work: [@Sendable () -> Void] = []
    var hasEnded = false
    /// After the loop's end: a submitting thread does what there is.
    var isInHand = false
  }

  /// - Parameter name: Of the thread, of at most 15 bytes (pthread_setname_np(3)).
  package init(_ name: StaticString) throws(SystemCallError) {
    var epoll: Int32 = -1
    var timer: Int32 = -1
    var wakeup: Int32 = -1
    try check("epoll_create1", "") { ol_epoll_create(&epoll) }
    try check("timerfd_create", "") { ol_timerfd(&timer) }
    try check("eventfd", "") { ol_eventfd(&wakeup) }
    try check("epoll_ctl", "timer") { ol_epoll_add(epoll, timer, 0) }
    try check("epoll_ctl", "eventfd") { ol_epoll_add(epoll, wakeup, 1) }
    self.name = name
    self.epoll = epoll
    self.timer = timer
    self.wakeup = wakeup
    try Threads.detach(name) { [self] in run() }
  }

  // Not before: their numbers would be others' files, and what is watched may be referred to for longer than the loop runs.
  deinit { for descriptor in [epoll, timer, wakeup] { close(descriptor) } }

  /// Whether the caller runs on the loop's thread.
  package var isCurrent: Bool { thread.load(ordering: .relaxed) == pthread_self() }

  /// Runs `work` on the loop's thread, in order; after its end on the caller's, or on that of another thread that submits just then, so
  /// that no caller waits for an answer that doesn't come. Any thread.
  package func submit(_ work: @escaping @Sendable () -> Void) {
    let (isFirst, isMine) = pending.withLock { pending in
      pending.work.append(work)
      guard pending.hasEnded, !pending.isInHand else { return (pending.work.count == 1, false) }
      pending.isInHand = true
      return (false, true)
    }
    if isMine { return finish() }
    guard isFirst else { return }
    var one: UInt64 = 1
    // Nothing would wake the loop any more. One that is at work notices by itself.
    guard write(wakeup, &one, 8) < 0, errno == EBADF,
      stage.compareExchange(expected: .waiting, desired: .lost, ordering: .acquiringAndReleasing).exchanged
    else { return }
    end("epoll_wait", EBADF)
  }

  /// Calls `body` if the loop ends by itself, because this program has closed the descriptors that it waits for, or a filter around it refuses their calls; before what was
  /// submitted since, on whichever thread notices. Loop thread only, or before the loop is shared.
  package func onFailure(_ body: @escaping (SystemCallError) -> Void) { failed = body }

  /// `code`: why it can't wait any more; 0: it was shut down.
  private func end(_ call: String = "", _ code: Int32 = 0) {
    pending.withLock { ($0.hasEnded, $0.isInHand) = (true, true) }
    thread.store(0, ordering: .relaxed)
    if code != 0 { failed(SystemCallError(call, code: code, subject: "\(name)")) }
    failed = { _ in }
    finish()
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

  /// A key for `setTimer` that no other owner has. Loop thread only, or before the loop is shared.
  package func newTimer() -> TimerKey { newTimers(TimerKey.Only.self)[.only] }

  /// One key for each purpose, which no other owner has. Loop thread only, or before the loop is shared.
  package func newTimers<Purpose>(_: Purpose.Type = Purpose.self) -> TimerKeys<Purpose> { TimerKeys(owner: newKey()) }

  private func newKey() -> UInt64 {
    lastKey += 1
    return lastKey
  }

  /// Calls `body` when `descriptor` is ready for what is asked, until `stop`. Loop thread only.
  package func watch(
    _ descriptor: Int32, for interest: Interest = .reading, _ body: @escaping () -> Void
  ) throws(SystemCallError) -> UInt64 {
    let key = newKey()
    handlers[key] = Handler(descriptor: descriptor, interest: [], body: body)
    do throws(SystemCallError) { try change(key, to: interest) } catch {
      handlers[key] = nil
      throw error
    }
    return key
  }

  /// With no interest nothing is reported of the descriptor, not even that it was hung up. Loop thread only.
  package func change(_ key: UInt64, to interest: Interest) throws(SystemCallError) {
    guard let handler = handlers[key], handler.interest != interest else { return }
    let descriptor = handler.descriptor
    try check("epoll_ctl", "\(descriptor)") {
      if interest.isEmpty { return ol_epoll_remove(epoll, descriptor) }
      if handler.interest.isEmpty {
        let code = ol_epoll_add(epoll, descriptor, key)
        if code != 0 || interest == .reading { return code }
      }
      return ol_epoll_change(
        epoll, descriptor, key, interest.contains(.reading) ? 1 : 0, interest.contains(.writing) ? 1 : 0)
    }
    handlers[key]?.interest = interest
  }

  package func stop(_ key: UInt64) {
    guard let handler = handlers.removeValue(forKey: key), !handler.interest.isEmpty else { return }
    _ = ol_epoll_remove(epoll, handler.descriptor)
  }

  /// Sets, moves or (nil) removes a timer. Loop thread only.
  ///
  /// - Parameter due: On CLOCK_BOOTTIME: time in which the machine sleeps counts.
  package func setTimer(_ key: TimerKey, at due: Duration?, _ body: @escaping () -> Void = {}) {
    let before = timers.removeValue(forKey: key)?.due
    if let due { timers[key] = (due, body) }
    if isEarliestKnown, let before, before == earliest {
      isEarliestKnown = false
    } else if isEarliestKnown, let due {
      earliest = min(earliest ?? due, due)
    }
  }

  /// Ends the thread after what was submitted before.
  package func shutDown() { submit { [self] in isRunning = false } }

  private func run() {
    thread.store(pthread_self(), ordering: .relaxed)
    var keys = [UInt64](repeating: 0, count: 64)
    while isRunning {
      let refusal = arm()
      guard refusal == 0 else { return end("timerfd_settime", refusal) }
      var count: Int32 = 0
      stage.store(.waiting, ordering: .releasing)
      let code = ol_epoll_wait(epoll, &keys, Int32(keys.count), -1, &count)
      let isMine = stage.compareExchange(expected: .waiting, desired: .working, ordering: .acquiringAndReleasing)
      guard isMine.exchanged else { return }
      if code != 0, code != EINTR { return end("epoll_wait", code) }
      turn += 1
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
    end()
  }

  private func drain(_ descriptor: Int32) {
    var value: UInt64 = 0
    _ = read(descriptor, &value, 8)
    if descriptor == timer { armed = nil }
  }

  private var next: Duration? {
    if !isEarliestKnown {
      earliest = timers.values.lazy.map(\.due).min()
      isEarliestKnown = true
    }
    return earliest
  }

  /// What the kernel says of it: without its timer a loop would keep no time limit.
  private func arm() -> Int32 {
    let next = next
    guard next != armed else { return 0 }
    armed = next
    return ol_timerfd_set(timer, next.map { UInt64(max($0.inNanoseconds, 1)) } ?? 0)
  }

  private func fire() {
    guard let next, next <= BootClock.now else { return }
    let now = BootClock.now
    for key in timers.filter({ $0.value.due <= now }).keys {
      // A body may remove or move what was due with it. To the present isn't away: moved there each time before it comes to its
      // turn, it would never fire.
      guard let entry = timers[key], entry.due <= BootClock.now else { continue }
      setTimer(key, at: nil)
      entry.body()
    }
  }
}

/// Jobs of actors, in the order in which they came, among what else the loop's thread does.
extension EventLoop: SerialExecutor {
  package func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    submit { [self] in job.runSynchronously(on: asUnownedSerialExecutor()) }
  }

  /// Handlers and timers run on the thread without a job: they may enter what is isolated to it (`assumeIsolated`).
  package func checkIsolated() { precondition(isCurrent, "this isn't the thread of the loop \(name)") }

  package func isIsolatingCurrentContext() -> Bool? { isCurrent }
}
