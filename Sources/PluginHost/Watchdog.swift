internal import LinuxSystem
internal import Sandbox

/// Decides when a runner dies and when it sleeps. A pure value: it owns no clock, timer or process, so a test drives it
/// through a day in a microsecond.
///
/// Time in host callbacks counts as the plugin's wall time; the host's own CPU time doesn't count as the plugin's.
struct Watchdog: Sendable {
  enum Verdict: Sendable, Equatable {
    case wallTimeExceeded(limit: Duration)
    case cpuTimeExceeded(limit: Duration, used: Duration)
    case memoryExceeded(limit: Int, used: Int)
  }

  enum Action: Sendable, Equatable {
    case none
    case kill(Verdict)
    case freeze
  }

  private enum State: Sendable, Equatable {
    case idle(since: Duration)
    case frozen
    case calling(since: Duration, cpu: Duration)
    case over
  }

  /// How long after a call the runner may still run: a call that follows at once finds it warm.
  static let graceBeforeFreeze = Duration.milliseconds(1)
  static let samplingWithoutCgroup = Duration.milliseconds(1)
  static let samplingWithCgroup = Duration.milliseconds(10)

  private let limits: Limits
  private let cores: Int
  private let sampling: Duration
  private var state: State
  private var cpu = Duration.zero
  private var lastSample: Duration
  private(set) var peakMemory = 0
  /// Time inside calls so far.
  private(set) var wall = Duration.zero

  init(limits: Limits, cores: Int, hasMemoryCgroup: Bool, now: Duration) {
    self.limits = limits
    self.cores = max(cores, 1)
    sampling = hasMemoryCgroup ? Self.samplingWithCgroup : Self.samplingWithoutCgroup
    state = .idle(since: now)
    lastSample = now
  }

  var isFrozen: Bool { state == .frozen }

  mutating func callBegan(at now: Duration, cpu: Duration) {
    guard state != .over else { return }
    self.cpu = max(self.cpu, cpu)
    // Only a runner that slept starts afresh: many short calls must not put off the next sample for ever.
    if state == .frozen { lastSample = now }
    state = .calling(since: now, cpu: self.cpu)
  }

  mutating func callEnded(at now: Duration) {
    guard case .calling(let since, _) = state else { return }
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
    case .over, .frozen: return nil
    case .idle(let since): return since + Self.graceBeforeFreeze
    case .calling(let since, let cpuAtStart):
      // However many cores it burns, no limit of CPU time can be reached before this.
      let left = min(limits.cpu - (cpu - cpuAtStart), limits.cpuTotal - cpu)
      let earliestCPU = now + max(left / cores, .milliseconds(1))
      return max(now, min(since + limits.wall, earliestCPU, lastSample + sampling))
    }
  }

  /// The deadline that a wall-time verdict goes by.
  var wallDeadline: Duration? {
    if case .calling(let since, _) = state { since + limits.wall } else { nil }
  }

  /// Judges a measurement. `memory` is beyond the baseline, nil where it couldn't be read.
  mutating func tick(at now: Duration, cpu measured: Duration, memory: Int?) -> Action {
    guard state != .over, state != .frozen else { return .none }
    lastSample = now
    cpu = max(cpu, measured)
    if let memory {
      peakMemory = max(peakMemory, memory)
      if memory > limits.memory { return .kill(.memoryExceeded(limit: limits.memory, used: memory)) }
    }
    switch state {
    case .calling(let since, let cpuAtStart):
      if cpu - cpuAtStart >= limits.cpu { return .kill(.cpuTimeExceeded(limit: limits.cpu, used: cpu - cpuAtStart)) }
      if cpu >= limits.cpuTotal { return .kill(.cpuTimeExceeded(limit: limits.cpuTotal, used: cpu)) }
      if now - since >= limits.wall { return .kill(.wallTimeExceeded(limit: limits.wall)) }
      return .none
    case .idle(let since) where now - since >= Self.graceBeforeFreeze:
      state = .frozen
      return .freeze
    case .idle, .frozen, .over: return .none
    }
  }
}
