internal import HostProtocol
internal import PluginHost
internal import Sandbox

/// Finds out how much a plugin needs of what is limited. A pure value.
struct LimitSearch {
  private let bounds: PolicyRecorder.Bounds
  private let memory: Int
  /// Of the clock, and of the processor.
  private let time: Duration

  /// `base`: what has more than is tried by default starts with that.
  init(bounds: PolicyRecorder.Bounds, base: Limits) {
    self.bounds = bounds
    memory = bounds.memory ?? max(1 << 30, base.memory)
    time = bounds.time ?? max(.seconds(60), base.wallTime, base.cpu)
  }

  /// What the first round has.
  func bounded(_ limits: Limits) -> Limits {
    var limits = limits
    limits.memory = min(limits.memory, memory)
    (limits.wallTime, limits.cpu) = (min(limits.wallTime, time), min(limits.cpu, time))
    return limits
  }

  /// The option that ended a run, which had all that it allows; nil: something else did.
  func end(of observed: Observed) -> String? {
    let (limit, option, value): (String, String, String)
    switch observed.outcome.kind {
    case .memoryExceeded: (limit, option, value) = ("memory", "--max-memory", LimitValues.size(memory))
    case .wallTimeExceeded: (limit, option, value) = ("wall", "--max-time", LimitValues.time(time))
    case .cpuTimeExceeded: (limit, option, value) = ("cpu", "--max-time", LimitValues.time(time))
    default: return nil
    }
    // What a test has of its own isn't raised anyway.
    guard !observed.ownLimits.contains(limit) else { return nil }
    return "\(option) ended it, which is \(value); a larger one lets it go on"
  }

  /// Twice as much of what ended a run, as long as that is within bounds.
  func handle(_ round: [Observed], _ limits: inout Limits) -> Bool {
    let before = limits
    for observed in round {
      let denied = Set(observed.denials.filter { $0.wall == "limits" }.map(\.call))
      // What is to end by a limit needs no more of it.
      let ended = observed.endsAsExpected ? .returned : observed.outcome.kind
      var wanted = limits
      if ended == .memoryExceeded || denied.contains("mmap") {
        wanted.memory = max(before.memory, min(before.memory * 2, memory))
      }
      if ended == .wallTimeExceeded {
        wanted.wallTime = max(before.wallTime, min(before.wallTime * 2, time))
      }
      if ended == .cpuTimeExceeded { wanted.cpu = max(before.cpu, min(before.cpu * 2, time)) }
      if !denied.isDisjoint(with: SystemCalls.opening) {
        wanted.openFiles = max(before.openFiles, min(before.openFiles * 2, bounds.openFiles))
      }
      if !denied.isDisjoint(with: ["fallocate", SystemCalls.lengthening]) {
        wanted.fileSize = max(before.fileSize, min(before.fileSize, bounds.fileSize / 2) * 2)
      }
      if denied.contains("clone") {
        wanted.threads = max(before.threads, min(max(before.threads * 2, 1), bounds.threads))
      }
      // A limit of its own stays what the test says.
      limits = wanted.taking(observed.ownLimits, from: limits)
    }
    return limits != before
  }

  /// MiB. Where a cgroup counts, file pages that haven't been read since the machine's start pass through it.
  private static let minMemory = 4

  /// Twenty times the time and a half more memory than was used: other machines are slower or busier, and other runs larger.
  func tightened(_ limits: Limits, _ round: [Observed]) -> Limits {
    var limits = limits
    // What a run has by a limit of its own says nothing of the policy's.
    func largest<Value: Comparable>(_ key: String, _ used: (Observed) -> Value) -> Value? {
      round.filter { !$0.ownLimits.contains(key) && ($0.outcome.kind == .returned || !$0.endsAsExpected) }.map(used)
        .max()
    }
    let used = largest("memory") { $0.memoryBytes } ?? 0
    let enough = max((used * 3 / 2 + (1 << 20) - 1) >> 20, Self.minMemory) << 20
    // What it had was enough this time; where little of that was left, it isn't the next time.
    let isShort = used > limits.memory / 5 * 4
    limits.memory = isShort ? max(limits.memory, min(enough, memory)) : min(limits.memory, enough)
    limits.wallTime = min(limits.wallTime, Self.seconds(largest("wall") { $0.wallSeconds } ?? 0, atLeast: 10))
    limits.cpu = min(limits.cpu, Self.seconds(largest("cpu") { $0.cpuSeconds } ?? 0, atLeast: 2))
    return limits
  }

  private static func seconds(_ used: Double, atLeast minimum: Int64) -> Duration {
    .seconds(max(Int64((min(used, 1e6) * 20).rounded(.up)), minimum))
  }
}
