internal import HostProtocol
internal import PluginHost
package import Sandbox

/// Decides how a policy grows until a plugin gets what it asks for, and what the smallest one is then. What was found in a
/// round is granted in the next, and nothing else.
package struct PolicyRecorder {
  package enum PathKind: Sendable, Equatable { case absent, file, folder }

  /// Folders in which nothing is granted without a review.
  package static let sensitiveFolders = GrantRefusal.sensitive

  /// What there is to know of this machine's paths.
  package struct Machine {
    package var kind: (String) -> PathKind
    /// Without symbolic links; the path itself where it leads to nothing.
    package var real: (String) -> String
    /// Whether it is a file that users besides its owner and its group may not read.
    package var isPrivate: (String) -> Bool
    package var isDevice: (String) -> Bool = { _ in false }
    /// Of the path itself, wherever it leads.
    package var isLink: (String) -> Bool = { _ in false }
    /// Under a policy, the link on the way to a path that a plugin may have put there; nil: there is none.
    package var plantedLinks: (Policy) -> (String) -> String? = { _ in { _ in nil } }
    /// Under a policy, whether a path lies in a folder that plugins may write to.
    package var isPlugins: (Policy) -> (String) -> Bool = { _ in { _ in false } }
    /// Whether it is a folder that every user may write to.
    package var isOpenToAll: (String) -> Bool = { _ in false }
    /// The names by which the kernel comes from a path to what it leads to, one link after the other.
    package var hops: (String) -> [String]
    /// What a pattern stands for; nil: more than a policy can have.
    package var matches: (PathPattern) -> [String]? = { _ in nil }

    package init(
      kind: @escaping (String) -> PathKind, real: @escaping (String) -> String = { $0 },
      isPrivate: @escaping (String) -> Bool = { _ in false }
    ) {
      (self.kind, self.real, self.isPrivate) = (kind, real, isPrivate)
      hops = { path in real(path) == path ? [] : [real(path)] }
    }

    var folders: PolicyPath.Machine {
      PolicyPath.Machine(isFolder: { kind($0) == .folder }, real: real, hops: hops)
    }
  }

  package struct Bounds: Sendable {
    package var rounds = 16
    /// The most that any round has, also the first; nil: 1 GiB, or what recording starts from where that is more.
    package var memory: Int?
    /// The most that any round has, of the clock and of the processor; nil: a minute, or what recording starts from where that
    /// is more.
    package var time: Duration?
    package var threads = 1024
    package var openFiles = 1 << 16
    package var fileSize = 64 << 30
    /// What is never granted, nor what lies in it.
    package var never: Set<String> = []
    /// Folders in which is granted what needs a review otherwise.
    package var reviewed: Set<String> = []
    /// A folder is granted in the place of so many files in it; nil: never.
    package var filesOfFolder: Int?
    /// Whether a pattern is granted in the place of paths that differ in a part of one name.
    package var usesPatterns = false
    /// Whether a folder is granted for the names in it at first. That needs Landlock.
    package var grantsLists = false
    /// Whether connections that it tries are granted; otherwise they are only named.
    package var grantsNetwork = false
    /// Whether it is granted the processes that it starts, and the programs; otherwise they are only named.
    package var grantsProcesses = false
    /// Whether it is granted to run code that it has written itself; otherwise that is only named.
    package var grantsWrittenCode = false

    package init() {}
  }

  package enum Step: Sendable {
    case run(Policy)
    case finished(Recording)
    /// It doesn't come to its end: why not.
    case stopped(Recording, String)
  }

  private enum Phase {
    case growing, confirming
    /// It ended otherwise with the smallest limits: whether it does so with those before, too.
    case comparing(smallest: Limits, ends: [Recording.End])
  }

  private let base: Policy
  private let bounds: Bounds
  private var policy: Policy
  private var phase = Phase.growing
  private var network: NetworkSearch
  private var paths: PathSearch
  private let processes: ProcessSearch
  private let code: WrittenCodeSearch
  private let limits: LimitSearch
  private let globs: GlobSearch
  private var recording: Recording
  /// How the runs ended before the limits were made as small as they can be.
  private var ends: [Recording.End] = []

  /// `base`: what is granted from the first round on.
  package init(base: Policy, bounds: Bounds = Bounds()) {
    (self.base, self.bounds) = (base, bounds)
    network = NetworkSearch(base: base, grants: bounds.grantsNetwork)
    paths = PathSearch(base: base, bounds: bounds)
    (processes, limits) = (
      ProcessSearch(isGranted: bounds.grantsProcesses), LimitSearch(bounds: bounds, base: base.limits)
    )
    code = WrittenCodeSearch(isGranted: bounds.grantsWrittenCode)
    globs = GlobSearch(base: base, bounds: bounds)
    policy = base
    policy.limits = limits.bounded(base.limits)
    (policy.observesFiles, policy.observation.use) = (true, true)
    recording = Recording(policy: policy, from: base)
  }

  package var first: Policy { policy }

  /// Where the host doesn't run what it comes to next.
  package var soFar: Recording { recording }

  /// What was seen in one round, of each call or wake in the same order.
  package mutating func handle(_ round: [Observed], on machine: Machine) -> Step {
    recording.rounds += 1
    let ends = round.map(Recording.End.init)
    switch phase {
    case .growing: break
    case .confirming: return confirm(round, ends)
    case .comparing(let smallest, let before): return compare(round, ends, before, smallest)
    }
    let isSearching = network.handle(round, &policy, &recording)
    let hasGrown = paths.handle(round, on: machine, wantsHosts: network.hasFound, &policy, &recording)
    let isLimited = limits.handle(round, &policy.limits)
    let startsMore = processes.handle(round, &policy, &recording)
    let writesCode = code.handle(round, &policy, &recording)
    recording.take(round)
    let isGrowing = isSearching || hasGrown || isLimited || startsMore || writesCode
    // Also where a smaller policy turns out not to be enough.
    if !isGrowing { processes.leaveRoom(round, &policy) }
    (recording.policy, recording.isTried) = (policy, !isGrowing)
    recording.keepPrivate(machine.isPrivate)
    if isGrowing {
      guard recording.rounds < bounds.rounds else {
        return .stopped(
          recording,
          """
          it asked for more in each of \(bounds.rounds) rounds; --rounds allows more, and --folder-from COUNT grants a folder in the place of \
          so many files in it
          """)
      }
      return .run(policy)
    }
    if let why = whyNotEnded(round) { return .stopped(recording, why) }
    phase = .confirming
    self.ends = ends
    policy.limits = limits.tightened(policy.limits, round)
    paths.dropUnused(round, &policy, recording)
    globs.handle(&policy, on: machine, &recording)
    return .run(policy)
  }

  /// The run under the smallest policy. Where that changes how it ends or what it is denied, a further one tells whether it did.
  private mutating func confirm(_ round: [Observed], _ ends: [Recording.End]) -> Step {
    let before = Set(recording.observed.flatMap(\.denials).map(\.target))
    recording.take(round)
    let isDeniedMore =
      policy.grants != recording.policy.grants
      && round.flatMap(\.denials).contains { !before.contains($0.target) }
    guard Recording.End.areAlike(ends, self.ends), !isDeniedMore else {
      phase = .comparing(smallest: policy.limits, ends: ends)
      policy = recording.policy
      return .run(policy)
    }
    recording.policy = policy
    return .finished(recording)
  }

  private mutating func compare(
    _ round: [Observed], _ ends: [Recording.End], _ before: [Recording.End], _ smallest: Limits
  ) -> Step {
    recording.take(round)
    if Recording.End.areAlike(ends, self.ends) {
      recording.note = "under a smaller policy it ended otherwise, so that this is the one that was enough"
    } else if Recording.End.areAlike(ends, before) {
      recording.policy.limits = smallest
      recording.note =
        "it ended otherwise in two runs under the same policy, whatever the limits; chance, the time or what an earlier run changed may be why"
        + (bounds.usesPatterns ? "; so no pattern was proved, and none was put in the place of paths" : "")
    } else {
      recording.note = "it ends otherwise each time, so that smaller limits weren't proved"
    }
    // It did before, so that chance or what an earlier round left is why; but nothing shows that this policy is enough.
    if let why = whyNotEnded(round) { return .stopped(recording, "in the last round \(why)") }
    return .finished(recording)
  }

  /// Of a run that didn't return, where nothing expects that.
  private func whyNotEnded(_ round: [Observed]) -> String? {
    guard let failed = round.first(where: { $0.outcome.kind != .returned && !$0.endsAsExpected }) else { return nil }
    return [failed.ending, limits.end(of: failed)].compactMap(\.self).joined(separator: "; ")
  }
}
