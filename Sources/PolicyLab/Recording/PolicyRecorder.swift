internal import HostProtocol
internal import PluginHost
package import Sandbox

/// Decides how a policy grows until a plugin gets what it asks for, and what the smallest one is then. What was found in a
/// round is granted in the next, and nothing else.
package struct PolicyRecorder {
  package enum PathKind: Sendable, Equatable { case absent, file, folder }

  /// What there is to know of this machine's paths.
  package struct Machine {
    package var kind: (String) -> PathKind
    /// Without symbolic links; the path itself where it leads to nothing.
    package var real: (String) -> String
    /// Whether it is a file that users besides its owner and its group may not read.
    package var isPrivate: (String) -> Bool

    package init(
      kind: @escaping (String) -> PathKind, real: @escaping (String) -> String = { $0 },
      isPrivate: @escaping (String) -> Bool = { _ in false }
    ) {
      (self.kind, self.real, self.isPrivate) = (kind, real, isPrivate)
    }
  }

  package struct Bounds: Sendable {
    package var rounds = 16
    package var memory = 1 << 30
    package var wall = Duration.seconds(60)
    package var threads = 1024
    /// What is never granted, nor what lies in it.
    package var never: Set<String> = []
    /// A folder is granted in the place of so many files in it; nil: never.
    package var filesOfFolder: Int?
    /// Whether a folder is granted for the names in it at first. That needs Landlock.
    package var grantsLists = false
    /// Whether connections that it tries are granted; otherwise they are only named.
    package var grantsNetwork = false
    /// Whether it is granted the processes that it starts, and the programs; otherwise they are only named.
    package var grantsProcesses = false

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
  private var recording: Recording
  /// Folders that were there in the round before, for what is granted in them.
  private var hasBeenThere: Set<String> = []
  /// How the runs ended before the limits were made as small as they can be.
  private var ends: [Recording.End] = []

  /// `base`: what is granted from the first round on.
  package init(base: Policy, bounds: Bounds = Bounds()) {
    (self.base, self.bounds) = (base, bounds)
    network = NetworkSearch(base: base, grants: bounds.grantsNetwork)
    policy = base
    (policy.observesFiles, policy.observesUse) = (true, true)
    recording = Recording(policy: policy)
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
    let hasGrown = growPaths(round, machine)
    let isLimited = growLimits(round)
    let startsMore = growProcesses(round)
    recording.take(round)
    recording.policy = policy
    recording.keepPrivate(machine.isPrivate)
    if isSearching || hasGrown || isLimited || startsMore {
      guard recording.rounds < bounds.rounds else {
        return .stopped(recording, "it asked for more in each of \(bounds.rounds) rounds")
      }
      return .run(policy)
    }
    if let failed = round.first(where: { $0.outcome.kind != .returned }) { return .stopped(recording, failed.ending) }
    phase = .confirming
    self.ends = ends
    policy.limits = Self.tightened(policy.limits, round)
    dropUnused(round)
    leaveRoomForProcesses(round)
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
        "it doesn't end the same way twice, whatever its limits: what it changes in one run is there in the next"
    } else {
      recording.note = "it ends otherwise each time, so that smaller limits weren't proved"
    }
    return .finished(recording)
  }

  /// Of two files of which the second is only tried where the first isn't there, both were asked for.
  private mutating func dropUnused(_ round: [Observed]) {
    let known = round.compactMap(\.usedGrants)
    guard known.count == round.count else { return }
    let used = Set(known.joined()).union(base.grants)
    policy.read.removeAll { !used.contains($0) }
    policy.write.removeAll { !used.contains($0) }
    policy.list.removeAll { !used.contains($0) }
    policy.libraries.removeAll { !used.contains($0) }
  }

  // MARK: Paths

  private mutating func growPaths(_ round: [Observed], _ machine: Machine) -> Bool {
    var found: [String: PathAccess] = [:]
    /// What more than its presence was asked of.
    var used: Set<String> = []
    for denial in round.flatMap(\.denials) where denial.wall == "files" && denial.call != "execve" {
      if denial.isQuestion {
        recording.mention("it asked whether it may write there, and may do without", denial)
        continue
      }
      if denial.writes, let reason = Self.refusal(ofChanging: denial.target) {
        recording.add(.refused(reason), denial.target, denial)
        continue
      }
      guard let path = PolicyPath.named(denial.target),
        let (place, access) = grant(for: denial, path, machine.kind)
      else {
        recording.add(.absent, denial.target, denial)
        continue
      }
      if NetworkSearch.isOwn(place, under: policy) { continue }
      let isForNetwork = network.hasFound && RunnerView.networkFiles.contains(place)
      let reason =
        isForNetwork ? "with hosts under 'network' it has one of its own" : refusal(of: place, access, machine)
      guard let reason else {
        // Who was denied to read a file often tries to write it next: whether that is needed, the next round tells. Of several
        // attempts by one call it is known that one of them would write.
        let isTriedBoth = found[place].map { $0 != access } ?? (access == .write && denial.count > 1)
        found[place] =
          isTriedBoth && machine.kind(place) == .file && policy.access(to: place) == .none
          ? .read : max(found[place] ?? .none, access)
        if !SystemCalls.looks.contains(denial.call) { used.insert(place) }
        recording.add(.granted, place, denial)
        continue
      }
      recording.add(.refused(reason), place, denial)
    }
    // A folder is there as soon as something in it is granted: whether that is enough, the next round tells.
    let new = found.filter { policy.access(to: $0.key) < $0.value }.keys
    for place in new where !used.contains(place) && new.contains(where: { $0.hasPrefix(place + "/") }) {
      if hasBeenThere.insert(place).inserted { found[place] = nil }
    }
    fold(&found, machine)
    var hasGrown = growCode(round, machine)
    var followed: [(path: String, real: String)] = []
    // A folder before what it holds, which needs no line of its own then.
    for (path, access) in found.sorted(by: { $0.key < $1.key })
    where policy.access(to: path) < access && !isCode(path, access) {
      grant(path, access)
      hasGrown = true
    }
    // A link in a folder that is granted leads out of it.
    for (path, access) in found where !hasGrown && policy.access(to: path) >= access {
      let real = machine.real(path)
      guard real != path, policy.access(to: real) < access, refusal(named: real, access) == nil else { continue }
      grant(real, access)
      followed.append((path, real))
    }
    for (path, real) in followed { recording.follow(path, to: real) }
    hasGrown = hasGrown || !followed.isEmpty
    // One that is granted and still denied isn't the policy's to give.
    for (path, access) in found where !hasGrown && policy.access(to: path) >= access {
      recording.note = "\(path) is granted, and still denied"
    }
    (policy.read, policy.write, policy.list) = (policy.read.sorted(), policy.write.sorted(), policy.list.sorted())
    return hasGrown
  }

  private mutating func grant(_ path: String, _ access: PathAccess) {
    policy.read.removeAll { $0 == path }
    policy.list.removeAll { $0 == path }
    switch access {
    case .write: policy.write.append(path)
    case .list: policy.list.append(path)
    case .read, .none: policy.read.append(path)
    }
  }

  /// Files whose code it wanted to map while it ran, and those that it wanted to execute.
  private mutating func growCode(_ round: [Observed], _ machine: Machine) -> Bool {
    let before = policy.libraries
    for denial in round.flatMap(\.denials) where wantsCode(denial) {
      guard let path = PolicyPath.named(denial.target), machine.kind(path) == .file else { continue }
      if let reason = refusal(of: path, .read, machine) {
        recording.add(.refused(reason), path, denial)
      } else {
        recording.add(.granted, path, denial)
        if !policy.libraries.contains(where: { path == $0 || path.hasPrefix($0 + "/") }) {
          policy.libraries.append(path)
          // What is mapped or executed is read as well.
          policy.read.removeAll { $0 == path }
        }
      }
    }
    if let count = bounds.filesOfFolder {
      for (folder, paths) in Dictionary(grouping: policy.libraries, by: { Self.parent(of: $0) ?? "/" })
      where paths.count >= count && refusal(of: folder, .read, machine) == nil {
        policy.libraries.removeAll { paths.contains($0) }
        policy.libraries.append(folder)
        for path in paths { recording.fold(path, into: folder) }
      }
    }
    policy.libraries.sort()
    return policy.libraries != before
  }

  /// Whether it is read as what may be mapped or executed.
  private func isCode(_ path: String, _ access: PathAccess) -> Bool {
    access == .read && policy.libraries.contains { path == $0 || path.hasPrefix($0 + "/") }
  }

  private func wantsCode(_ denial: Observed.Denial) -> Bool {
    switch denial.call {
    case "mmap": denial.wall == "seccomp"
    case "execve": bounds.grantsProcesses
    default: false
    }
  }

  /// Another process, or twice as many as were too few.
  private mutating func growProcesses(_ round: [Observed]) -> Bool {
    let before = policy.processes
    for denial in round.flatMap(\.denials) {
      let isFirst = denial.wall == "seccomp" && SystemCalls.startsProcess(denial.call, shown: denial.target)
      let isExecution = denial.call == "execve" && denial.target.hasPrefix("/")
      guard bounds.grantsProcesses else {
        if isFirst { recording.add(.refused("--processes lets it start them"), "processes", denial) }
        if isExecution { recording.add(.refused("--processes lets it start that"), denial.target, denial) }
        continue
      }
      if isFirst || isExecution { policy.processes = max(before, 1) }
      if denial.wall == "limits", denial.call == "fork" {
        policy.processes = max(before, DeniedProcesses(denial.target).enough(upTo: Policy.maxProcesses))
      }
    }
    return policy.processes != before
  }

  /// Twice as many as were seen: whether three that follow each other quickly are there at one moment is another matter each time.
  private mutating func leaveRoomForProcesses(_ round: [Observed]) {
    guard bounds.grantsProcesses else { return }
    let seen = round.map(\.processes).max() ?? 0
    policy.processes = max(policy.processes, min(seen * 2, Policy.maxProcesses))
  }

  /// What has to be granted for what was denied: the file itself, or the folder in which one is made or removed. nil: it
  /// isn't there, and nobody could grant it.
  private func grant(
    for denial: Observed.Denial, _ path: String, _ kind: (String) -> PathKind
  ) -> (String, PathAccess)? {
    let here = kind(path)
    guard denial.writes else {
      return here == .absent ? nil : (path, here == .folder && bounds.grantsLists ? .list : .read)
    }
    if here != .absent, !SystemCalls.changesFolder(denial.call, flags: nil) { return (path, .write) }
    guard let folder = Self.parent(of: path), kind(folder) == .folder else { return nil }
    return (folder, .write)
  }

  /// What is read-only for every plugin, or because the policy that recording started from says so.
  private static func refusal(ofChanging path: String) -> String? {
    func holds(_ folder: String) -> Bool { path == folder || path.hasPrefix(folder + "/") }
    if RunnerView.runtime.contains(where: holds) { return "no policy lets a plugin change the runtime" }
    return RunnerView.own.contains(where: holds) ? "the plugin may only read it" : nil
  }

  private static func parent(of path: String) -> String? {
    guard let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return nil }
    return String(path[..<slash])
  }

  /// What nobody would grant without having read it.
  private static let never = [
    "/root", "/home", "/dev", "/proc", "/sys", "/run", "/boot", "/etc/shadow", "/etc/gshadow", "/etc/ssh",
    "/etc/ssl/private",
    "/etc/sudoers", "/etc/sudoers.d", "/etc/machine-id", "/var/lib", "/var/log", "/var/spool",
  ]
  private static let whole: Set<String> = [
    "/", "/etc", "/usr", "/usr/share", "/usr/local", "/usr/include", "/var", "/var/cache", "/bin", "/sbin", "/lib",
    "/lib64", "/opt", "/tmp", "/srv", "/mnt", "/media",
  ]

  /// Why a path isn't granted, by its own name or by that of what it leads to.
  private func refusal(of path: String, _ access: PathAccess, _ machine: Machine) -> String? {
    let real = machine.real(path)
    return refusal(named: path, access)
      ?? (real == path ? nil : refusal(named: real, access).map { "it leads to \(real): \($0)" })
  }

  private func refusal(named path: String, _ access: PathAccess) -> String? {
    // The names in a folder show nothing of what lies in it.
    if let holder = bounds.never.first(where: {
      path == $0 || path.hasPrefix($0 + "/") || access > .list && $0.hasPrefix(path + "/")
    }) {
      return "a test expects \(holder) to be denied"
    }
    // What the base policy has was decided by a person.
    if base.access(to: path) != .none { return nil }
    if let reason = RevealingFolder.rejectionReason(forReal: path) { return "no policy grants it: it \(reason)" }
    if Self.whole.contains(path) { return "as a whole it holds what other programs keep" }
    if let held = Self.never.first(where: { $0.hasPrefix(path + "/") }) { return "as a whole it holds \(held)" }
    guard let holder = Self.never.first(where: { path == $0 || path.hasPrefix($0 + "/") }) else { return nil }
    return "nothing in \(holder) is granted unless the policy that recording starts from has it"
  }

  private mutating func fold(_ found: inout [String: PathAccess], _ machine: Machine) {
    guard let count = bounds.filesOfFolder else { return }
    // With those of earlier rounds.
    let all = found.keys + policy.read.filter { !base.read.contains($0) }
    for (folder, paths) in Dictionary(grouping: all, by: { Self.parent(of: $0) ?? "/" })
    where Set(paths).count >= count && refusal(of: folder, .read, machine) == nil {
      let isAllRead = paths.allSatisfy { (found[$0] ?? .read) == .read }
      guard isAllRead else { continue }
      for path in paths {
        found[path] = nil
        recording.fold(path, into: folder)
      }
      found[folder] = max(found[folder] ?? .none, .read)
    }
  }

  // MARK: Limits

  /// Twice as much of what ended a run, as long as that is within bounds.
  private mutating func growLimits(_ round: [Observed]) -> Bool {
    let before = policy.limits
    var limits = before
    for observed in round {
      let denied = Set(observed.denials.filter { $0.wall == "limits" }.map(\.call))
      if observed.outcome.kind == .memoryExceeded || denied.contains("mmap") {
        limits.memory = max(before.memory, min(before.memory * 2, bounds.memory))
      }
      if observed.outcome.kind == .wallTimeExceeded {
        limits.wall = max(before.wall, min(before.wall * 2, bounds.wall))
      }
      if observed.outcome.kind == .cpuTimeExceeded { limits.cpu = max(before.cpu, min(before.cpu * 2, bounds.wall)) }
      if denied.contains("clone") {
        limits.threads = max(before.threads, min(max(before.threads * 2, 1), bounds.threads))
      }
    }
    policy.limits = limits
    return limits != before
  }

  /// MiB. Where a cgroup counts, file pages that nobody has read since the start of the machine pass through it.
  private static let leastMemory = 4

  /// Twenty times the time and a half more memory than was used: other machines are slower or busier, and other runs larger.
  private static func tightened(_ limits: Limits, _ round: [Observed]) -> Limits {
    var limits = limits
    let memory = round.map(\.memoryBytes).max() ?? 0
    limits.memory = min(limits.memory, max((memory * 3 / 2 + (1 << 20) - 1) >> 20, leastMemory) << 20)
    limits.wall = min(limits.wall, seconds(round.map(\.wallSeconds).max() ?? 0, least: 10))
    limits.cpu = min(limits.cpu, seconds(round.map(\.cpuSeconds).max() ?? 0, least: 2))
    return limits
  }

  private static func seconds(_ used: Double, least: Int64) -> Duration {
    .seconds(max(Int64((min(used, 1e6) * 20).rounded(.up)), least))
  }
}
