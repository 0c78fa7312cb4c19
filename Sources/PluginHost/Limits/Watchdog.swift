internal import LinuxSystem
internal import Sandbox

/// Decides when a runner dies and when it sleeps. A pure value: it owns no clock, timer or process, so a test drives it
/// through a day in a microsecond.
///
/// Time in host callbacks counts as the plugin's wall time; the host's own CPU time doesn't count as the plugin's.
struct Watchdog: Sendable {
  enum Verdict: Sendable, Equatable {
    /// `isCallers`: less than the policy's, which the caller gave this call.
    case wallTimeExceeded(limit: Duration, isCallers: Bool = false)
    case cpuTimeExceeded(limit: Duration, used: Duration)
    case memoryExceeded(limit: Int, used: Int)
    /// The runner is still closing its walls. Nothing of the plugin runs yet.
    case preparationTimeExceeded(limit: Duration)
  }

  enum Action: Sendable, Equatable {
    case none
    case kill(Verdict)
    case freeze
  }

  private enum State: Sendable, Equatable {
    /// The runner closes its walls: until the first call, its loading. `looks`: how often it was found there.
    case preparing(looks: Int, last: Duration)
    /// Its walls are closed, and it waits to be told what to load.
    case ready
    case idle(since: Duration)
    case frozen(since: Duration)
    case calling(since: Duration)
    case over
  }

  /// How long after a call the runner may still run: a call that follows at once finds it warm.
  static let graceBeforeFreeze = Duration.milliseconds(1)
  /// Counted in looks, one each second: while the host was stopped or the machine asleep, it wasn't looked at.
  static let preparationLimit = Duration.seconds(20)
  private static let betweenLooks = Duration.seconds(1)
  /// For so long in one run an extension's asynchronous requests for exclusive control may wait without its clock (B21):
  /// as long as an extension may run in a day. Its CPU time is limited as ever.
  static let longestWait = Duration.seconds(600)
  static let shortSampling = Duration.milliseconds(1)
  static let longSampling = Duration.milliseconds(10)
  /// Between two looks; as long as a lease. What is longer is no time of the plugin's, as if its server had stopped it.
  static let longestGap = Lease.durations.counted

  private let limits: Limits
  private let cores: Int
  private let sampling: Duration
  private var state: State
  /// When the last call began, the CPU time then, and how long it may take. An activity that outlives its call goes on by these: only another
  /// call starts them afresh.
  private var call: (since: Duration, cpu: Duration, limit: Duration)
  private var cpu = Duration.zero
  /// Since when the plugin waits for exclusive control.
  private var waitSince: Duration?
  /// How long it has, in this run. Its calls have that much more time.
  private(set) var waited = Duration.zero
  private var lastSample: Duration
  /// When this host was last seen to have a processor in the call that is under way.
  private var lastLook: Duration
  private(set) var peakMemory = 0
  /// Time inside calls and activities so far.
  private(set) var wall = Duration.zero
  /// The same time in which the runner stood still because it couldn't be checked. Not in `wall`.
  private(set) var stood = Duration.zero
  /// Until when the time in which the runner stood still has been counted.
  private var stoodUntil = Duration.zero
  /// Whether calls have passed since the last that this was told of as it began.
  private var hasPassed = false

  /// `looksOften`: nothing but samples tells what is used.
  init(limits: Limits, cores: Int, looksOften: Bool, now: Duration) {
    self.limits = limits
    self.cores = max(cores, 1)
    sampling = looksOften ? Self.shortSampling : Self.longSampling
    state = .preparing(looks: 0, last: now)
    call = (now, .zero, limits.wallTime)
    (lastSample, lastLook) = (now, now)
  }

  /// Whether the plugin may run: in a call, or a moment after one.
  var isAtWork: Bool {
    switch state {
    case .calling, .idle: true
    case .preparing, .ready, .frozen, .over: false
    }
  }

  var isFrozen: Bool { if case .frozen = state { true } else { false } }

  /// The walls are closed, and the load waits for a debugger: no clock runs.
  mutating func prepared() {
    guard case .preparing = state else { return }
    state = .ready
  }

  /// `limit`: what its caller gives it, where that is less than what the policy does. `reading`: what the host has spent of its time
  /// already, to read what is loaded.
  mutating func callBegan(at now: Duration, cpu: Duration, limit: Duration? = nil, after reading: Duration = .zero) {
    guard state != .over else { return }
    let isWaiting = waitSince != nil
    waitEnded(at: now)
    hasPassed = false
    let since = now - reading
    resume(at: since, cpu: cpu)
    lastLook = now
    call = (since, self.cpu, min(limit ?? limits.wallTime, limits.wallTime))
    if isWaiting { waitBegan(at: now) }
  }

  /// An asynchronous request of the extension for exclusive control waits for the other side: the call's wall clock stands
  /// still, up to `longestWait`.
  mutating func waitBegan(at now: Duration) {
    guard waitSince == nil, case .calling = state else { return }
    waitSince = now
  }

  mutating func waitEnded(at now: Duration) {
    guard let since = waitSince else { return }
    waitSince = nil
    let time = min(now - since, waitLeft)
    waited += time
    call.since += time
  }

  private var waitLeft: Duration { Self.longestWait - waited }

  /// Work that goes on between calls. What was used between the two counts as well, but for the time asleep: a plugin
  /// that begins again and again gains nothing by it.
  mutating func activityBegan(at now: Duration, cpu: Duration) {
    guard state != .over else { return }
    if case .frozen(let since) = state { call.since += now - since }
    resume(at: now, cpu: cpu)
  }

  private mutating func resume(at now: Duration, cpu: Duration) {
    self.cpu = max(self.cpu, cpu)
    // What had begun before it goes on.
    if case .calling(let since) = state { wall += now - since }
    // Only a runner that slept starts afresh: many short calls must not put off the next sample for ever.
    if isFrozen { lastSample = now }
    lastLook = now
    state = .calling(since: now)
  }

  /// The runner stood still because it couldn't be checked. Its call takes that much longer.
  mutating func stood(still since: Duration, until now: Duration) {
    guard case .calling(let began) = state else { return }
    let pause = now - max(since, began, stoodUntil)
    guard pause > .zero else { return }
    stoodUntil = now
    call.since += pause
    stood += pause
    // Not for a second time.
    waitSince = waitSince.map { min($0 + pause, now) }
    state = .calling(since: began + pause)
  }

  /// The runner is looked at, and what is found then is for `tick`. Where the look before was so long ago, this host had no
  /// processor or was stopped, or the whole machine stood still, and it isn't known whether the runner went on meanwhile.
  mutating func checked(at now: Duration) {
    if now - lastLook > Self.longestGap { stood(still: lastLook, until: now) }
    lastLook = now
  }

  /// Short calls have begun and ended that this wasn't told of, the last one just now: the plugin was at work until then.
  mutating func passed(wall time: Duration, until end: Duration) {
    guard case .idle(let since) = state else { return }
    wall += time
    state = .idle(since: max(since, end))
    hasPassed = true
  }

  /// A frozen runner goes on for a call that this wasn't told of.
  mutating func thawed(at now: Duration) {
    guard isFrozen else { return }
    lastSample = now
    state = .idle(since: now)
  }

  /// A call or an activity is over.
  mutating func callEnded(at now: Duration) {
    guard case .calling(let since) = state else { return }
    waitEnded(at: now)
    wall += now - since
    state = .idle(since: now)
  }

  /// The run has ended: nothing more is decided.
  mutating func end(at now: Duration) {
    callEnded(at: now)
    state = .over
  }

  /// When `tick` has to be asked next; nil: not before the next event.
  func nextTick(after now: Duration) -> Duration? {
    switch state {
    case .over, .frozen, .ready: return nil
    case .preparing(_, let last): return last + Self.betweenLooks
    case .idle(let since): return since + Self.graceBeforeFreeze
    case .calling:
      // However many cores it burns, no limit of CPU time can be reached before this.
      let left = min(limits.cpu - (cpu - call.cpu), limits.cpuTotal - cpu)
      let earliestCPU = now + max(left / cores, .milliseconds(1))
      return max(now, min(wallDeadline ?? now, earliestCPU, lastSample + sampling))
    }
  }

  /// The deadline that a wall-time verdict goes by.
  var wallDeadline: Duration? {
    guard case .calling = state else { return nil }
    return call.since + call.limit + (waitSince == nil ? .zero : waitLeft)
  }

  /// Checks a measurement. `memory` is beyond the baseline, nil where it couldn't be read. `hasAnswered`: the call is over,
  /// and was in time unless a tick had found it late: the host's thread may itself have been stopped in between.
  mutating func tick(at now: Duration, cpu measured: Duration, memory: Int?, hasAnswered: Bool = false) -> Action {
    guard state != .over, !isFrozen else { return .none }
    lastSample = now
    cpu = max(cpu, measured)
    if let memory {
      peakMemory = max(peakMemory, memory)
      if memory > limits.memory { return .kill(.memoryExceeded(limit: limits.memory, used: memory)) }
    }
    switch state {
    case .preparing(let looks, let last):
      guard now - last >= Self.betweenLooks else { return .none }
      state = .preparing(looks: looks + 1, last: now)
      let limit = Self.preparationLimit
      return Self.betweenLooks * (looks + 1) < limit ? .none : .kill(.preparationTimeExceeded(limit: limit))
    case .calling:
      if cpu - call.cpu >= limits.cpu { return .kill(.cpuTimeExceeded(limit: limits.cpu, used: cpu - call.cpu)) }
      if cpu >= limits.cpuTotal { return .kill(.cpuTimeExceeded(limit: limits.cpuTotal, used: cpu)) }
      if !hasAnswered, let wallDeadline, now >= wallDeadline {
        return .kill(.wallTimeExceeded(limit: call.limit, isCallers: call.limit < limits.wallTime))
      }
      return .none
    case .idle where hasPassed && cpu >= limits.cpuTotal:
      return .kill(.cpuTimeExceeded(limit: limits.cpuTotal, used: cpu))
    case .idle(let since) where now - since >= Self.graceBeforeFreeze:
      state = .frozen(since: now)
      return .freeze
    case .idle, .frozen, .ready, .over: return .none
    }
  }
}

extension Watchdog.Verdict {
  /// `waited`: for exclusive control, which was no time of the plugin's.
  func outcome(isLoading: Bool, waited: Duration) -> Outcome {
    let moment = isLoading ? " while loading" : ""
    switch self {
    case .wallTimeExceeded(let limit, let isCallers):
      let beside = waited > .zero ? ", beside \(waited.formatted) of waiting for exclusive control" : ""
      let rule = isCallers ? "the caller gave this call \(limit.formatted)" : "one call may take \(limit.formatted)"
      return Outcome(.wallTimeExceeded, "\(rule)\(beside)\(moment)")
    case .cpuTimeExceeded(let limit, let used):
      return Outcome(.cpuTimeExceeded, "used \(used.formatted) of \(limit.formatted) CPU time\(moment)")
    case .memoryExceeded(let limit, let used):
      return Outcome(
        .memoryExceeded, "used \(used >> 10) KiB of \(limit >> 10) KiB (anonymous, shared and page tables)\(moment)")
    case .preparationTimeExceeded(let limit):
      return Outcome(
        .hostFailed, "the runner hadn't closed its walls after \(limit.formatted); load the plugin again")
    }
  }
}
