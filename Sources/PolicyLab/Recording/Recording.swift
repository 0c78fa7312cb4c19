internal import AssetModel
internal import Basics
package import PluginHost
package import Sandbox

/// What was found out about a plugin, and the policy that it comes to.
package struct Recording: Sendable {
  /// Why a path is in the policy, or why not.
  enum Place: Sendable, Equatable {
    case granted
    /// Not on this machine either.
    case absent
    case refused(String)
  }

  struct Need: Sendable, Equatable {
    var place: Place
    /// How often by each call, in the round in which it was first asked for.
    var calls: [String: Int]
    /// A file that other users may not read.
    var isPrivate = false
    /// Of a pattern: how many paths it was put in the place of.
    var replaced = 0
    /// Of a pattern: how many paths it stands for beside those.
    var others = 0
  }

  /// How a run ended, as far as two runs of the same can be compared.
  struct End: Sendable, Equatable {
    var kind: String
    var value: String?

    init(_ observed: Observed) { (kind, value) = (observed.outcome.kind.rawValue, observed.value) }

    static func areAlike(_ ends: [End], _ others: [End]) -> Bool {
      ends.count == others.count && zip(ends, others).allSatisfy { $0.isLike($1) }
    }

    /// Addresses differ from run to run.
    func isLike(_ other: End) -> Bool {
      kind == other.kind
        && (value == other.value || value?.hasPrefix("0x") == true && other.value?.hasPrefix("0x") == true)
    }
  }

  package internal(set) var policy: Policy
  package internal(set) var rounds = 0
  /// The last round.
  package private(set) var observed: [Observed] = []
  package internal(set) var note: String?
  private(set) var needs: [String: Need] = [:]
  /// Patterns that weren't put in the place of paths, and why not.
  private(set) var left: [String: String] = [:]
  /// What the first round ran under: the policy that recording started from, under the bounds of recording.
  let base: Policy
  /// Whether it started from a policy that says anything.
  let isInheriting: Bool
  /// Whether that observes files; each round does.
  let keepsObserving: Bool
  /// Whether a round was run under the policy that it came to.
  package internal(set) var isTried = true

  /// `start`: what recording was given to start from.
  init(policy: Policy, from start: Policy) {
    (self.policy, base, keepsObserving) = (policy, policy, start.observesFiles)
    var start = start
    (start.observesFiles, start.observation) = (false, .init())
    isInheriting = start != Policy()
  }

  mutating func add(_ place: Place, _ path: String, _ denial: Observed.Denial) {
    let isOfThisRound = needs[path].map { $0.place == place } ?? true
    if !isOfThisRound { needs[path] = nil }
    needs[path, default: Need(place: place, calls: [:])].calls[denial.call, default: 0] += denial.count
  }

  /// What had been granted, and no run takes any more.
  mutating func refuse(_ path: String, _ reason: String) { needs[path]?.place = .refused(reason) }

  /// What isn't granted for this, and may be granted for something else.
  mutating func mention(_ reason: String, _ denial: Observed.Denial) {
    guard needs[denial.target]?.place != .granted else { return }
    add(.refused(reason), denial.target, denial)
  }

  /// What needed one file of a folder needed the folder that is granted in its place.
  mutating func fold(_ path: String, into folder: String) {
    guard let need = needs.removeValue(forKey: path) else { return }
    needs[folder, default: Need(place: .granted, calls: [:])].calls.merge(need.calls, uniquingKeysWith: +)
  }

  /// What needed a link needs what that leads to.
  mutating func follow(_ path: String, to real: String) {
    guard let need = needs[path] else { return }
    needs[real, default: Need(place: .granted, calls: [:])].calls.merge(need.calls, uniquingKeysWith: +)
  }

  /// What needed the paths needs the pattern. They keep what they have: the last round may show that the pattern isn't enough.
  mutating func replace(_ paths: [String], by pattern: String, others: Int) {
    var need = Need(place: .granted, calls: [:])
    for known in paths.compactMap({ needs[$0] }) {
      need.calls.merge(known.calls, uniquingKeysWith: +)
      need.isPrivate = need.isPrivate || known.isPrivate
    }
    (need.replaced, need.others) = (paths.count, others)
    needs[pattern] = need
  }

  mutating func leave(_ pattern: String, _ reason: String) { left[pattern] = reason }

  /// Inherited grants that held nothing of what was named in the last round; nil where that isn't known.
  package var unusedGrants: Set<String>? {
    let known = observed.compactMap(\.usedGrants)
    guard known.count == observed.count, !observed.isEmpty else { return nil }
    let used = Set(known.joined())
    return Set(base.grants.filter { !used.contains($0) }).subtracting(
      base.patterns.filter { used.contains(where: $0.pattern.covers) }.map(\.pattern.text))
  }

  mutating func keepPrivate(_ isPrivate: (String) -> Bool) {
    for (path, need) in needs where need.place == .granted && path.isAbsolutePath {
      needs[path]?.isPrivate = isPrivate(path)
    }
  }

  /// Whether of a folder was only asked whether it is there, or a link, if only by making it.
  func isOnlyAskedForPresence(_ path: String) -> Bool {
    let asking = SystemCalls.looks.union(["mkdir", "mkdirat"])
    return needs[path].map { $0.calls.keys.allSatisfy(asking.contains) } ?? false
  }

  /// Its caller stopped it.
  package mutating func stop() { note = "stopped before it had all that it asked for" }

  mutating func take(_ round: [Observed]) {
    observed = round
    // A folder that isn't granted is there as soon as something in it is.
    let denied = Set(round.flatMap(\.denials).map(\.target))
    for (path, need) in needs where !denied.contains(path) {
      switch need.place {
      case .granted: continue
      case .refused: if policy.grants.contains(where: { $0.lies(below: path) }) { needs[path] = nil }
      // A folder that may be written since holds what the plugin has made there.
      case .absent: if policy.access(to: path) != .none { needs[path] = nil }
      }
    }
  }

  /// Whether the policy has something that recording didn't start from.
  package var hasFound: Bool { policy != base }

  /// What is still denied by a wall.
  package var denials: [Observed.Denial] {
    var all: [Observed.Denial] = []
    for denial in observed.flatMap(\.refusals) where !all.contains(denial) && !isGrantedSince(denial) {
      all.append(denial)
    }
    return all
  }

  /// Denials of the last round beyond the most that a report keeps.
  package var droppedDenials: Int { observed.reduce(0) { $0 + $1.droppedDenials } }

  /// What the last round was denied and the policy grants, under which nothing has been run yet.
  package var grantedSince: [Observed.Denial] { observed.flatMap(\.refusals).filter(isGrantedSince) }

  private func isGrantedSince(_ denial: Observed.Denial) -> Bool {
    guard !isTried, let path = denial.named else { return false }
    return policy.access(to: path) >= (denial.writes ? .write : .list)
  }

  /// Granted, and not readable by every user: the policy's reviewer has to know.
  package var privateFiles: [String] { policy.grants.filter { needs[$0]?.isPrivate == true } }

  /// Hosts to which connections failed in the last round, so that what follows a connection wasn't seen.
  package var failedConnections: [RunReport.Connection] { observed.flatMap(\.connections).filter { $0.failed > 0 } }

  package var refused: [(path: String, reason: String)] {
    needs.compactMap { path, need in
      if case .refused(let reason) = need.place { (path, reason) } else { nil }
    }.sorted { $0.path < $1.path }
  }
}
