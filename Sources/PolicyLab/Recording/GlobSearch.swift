internal import HostProtocol
internal import PluginHost
internal import Sandbox

/// Puts patterns in the place of paths that differ in a part of one name, where nothing is granted by it that wouldn't be granted
/// by itself. A pure value.
struct GlobSearch {
  private let base: Policy
  private let bounds: PolicyRecorder.Bounds
  private let refusal: GrantRefusal

  init(base: Policy, bounds: PolicyRecorder.Bounds) {
    (self.base, self.bounds) = (base, bounds)
    refusal = GrantRefusal(base: base, bounds: bounds)
  }

  /// What may be written is named one by one.
  func handle(_ policy: inout Policy, on machine: PolicyRecorder.Machine, _ recording: inout Recording) {
    guard bounds.usesPatterns else { return }
    let known = policy.patterns.map { machine.matches($0.pattern)?.count ?? 1 }
    var count = policy.grants.count - policy.patterns.count + known.reduce(0, +)
    for access in [PatternGrant.Access.read, .execute, .list] {
      let list: WritableKeyPath<Policy, [String]> =
        switch access {
        case .execute: \.libraries
        case .list: \.list
        default: \.read
        }
      // What the base policy has was decided by a person.
      let own = Set(base[keyPath: list])
      for glob in PathGlobs.found(in: policy[keyPath: list].filter { !own.contains($0) }) {
        replace(glob, list, access, &policy, &count, machine, &recording)
      }
    }
  }

  private func replace(
    _ glob: PathGlobs.Glob, _ list: WritableKeyPath<Policy, [String]>, _ access: PatternGrant.Access,
    _ policy: inout Policy, _ count: inout Int, _ machine: PolicyRecorder.Machine, _ recording: inout Recording
  ) {
    guard let all = machine.matches(glob.pattern) else {
      return recording.leave(glob.pattern.text, "it stands for more than a policy can have")
    }
    let others = all.filter { !glob.paths.contains($0) }
    // As root, all of them have to fit a request.
    guard count + others.count <= GrantRoom.maxOfPolicy else {
      return recording.leave(glob.pattern.text, "it stands for \(all.count) paths, more than fit as root")
    }
    if policy.hasNetwork, let own = others.first(where: RunnerView.networkFiles.contains) {
      return recording.leave(glob.pattern.text, "with hosts under 'network' it has \(own) of its own")
    }
    if let reason = reason(against: glob, others, access, machine) {
      return recording.leave(glob.pattern.text, reason)
    }
    policy[keyPath: list].removeAll(where: glob.paths.contains)
    policy.patterns.append(PatternGrant(access, glob.pattern))
    count += others.count
    recording.replace(glob.paths, by: glob.pattern.text, others: others.count)
  }

  /// Why what it stands for besides isn't granted with it.
  private func reason(
    against glob: PathGlobs.Glob, _ others: [String], _ access: PatternGrant.Access, _ machine: PolicyRecorder.Machine
  ) -> String? {
    if let denied = bounds.never.sorted().first(where: glob.pattern.covers) {
      return "a test expects \(denied) to be denied"
    }
    let kinds = Set(glob.paths.map(machine.kind))
    for path in others {
      let held = "it would grant \(path) as well"
      if let reason = refusal.reason(for: path, access == .list ? .list : .read, machine) {
        return "\(held): \(reason)"
      }
      if !kinds.contains(machine.kind(path)) {
        return "\(held), which isn't \(kinds == [.file] ? "a file" : "a folder")"
      }
      if machine.isPrivate(path) { return "\(held), which other users may not read" }
    }
    return nil
  }
}
