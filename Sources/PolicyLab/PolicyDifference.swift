internal import Basics
internal import HostProtocol
package import Sandbox

/// What one policy allows that another doesn't.
package struct PolicyDifference: Sendable, Equatable, Encodable {
  package struct Change: Sendable, Equatable, Encodable {
    /// The second policy allows more by it.
    package var isWider: Bool
    package var text: String
  }

  package var changes: [Change] = []
  package var isWider: Bool { changes.contains(where: \.isWider) }

  /// `real`: a path without symbolic links, on this machine: what is granted by a link's name is what it leads to. `resolve`: a policy
  /// with the paths that its patterns stand for here, which may be links as well.
  package init(
    from old: Policy, to new: Policy, real: (String) -> String = { $0 }, resolve: (Policy) -> Policy = { $0 }
  ) {
    own(old, new)
    let (followed, links) = old.following(real, of: resolve(old))
    let (newFollowed, newLinks) = new.following(real, of: resolve(new))
    paths(followed, newFollowed, links.merging(newLinks) { $1 })
    mappedCode(followed, newFollowed)
    ownLines(followed, newFollowed)
    code(old, new)
    if old.processes != new.processes {
      add(new.processes > old.processes, "processes beside its own: \(new.processes), was \(old.processes)")
    }
    surroundings(old, new)
    connections(old, new)
    for wall in Wall.allCases where old.require.contains(wall) != new.require.contains(wall) {
      let isDropped = old.require.contains(wall)
      let name = wall.rawValue
      add(isDropped, isDropped ? "runs also where \(name) isn't in force" : "doesn't run without \(name)")
    }
    calls(old, new)
    rules(old, new)
    for (was, now) in zip(LimitValues.all(old.limits), LimitValues.all(new.limits)) where was.number != now.number {
      add(now.number > was.number, "\(now.name) \(now.text), was \(was.text)")
    }
  }

  /// Access is the same below a grant up to the next one, so that the grants of both are all there is to look at.
  private mutating func paths(_ old: Policy, _ new: Policy, _ links: [ExactText: String]) {
    let grants = (old.grants + new.grants).exactlyOnce
    for path in grants {
      let (was, now) = (old.accessOfRun(to: path), new.accessOfRun(to: path))
      // What may be mapped as code may be read.
      let isSaid = old.mapsCodeOfRun(at: path) != new.mapsCodeOfRun(at: path) && max(was, now) == .read
      guard was != now, !isSaid else { continue }
      // Said of the folder that it lies in.
      let parents = grants.filter { path.lies(below: $0) }
      if parents.contains(where: { old.accessOfRun(to: $0) == was && new.accessOfRun(to: $0) == now }) { continue }
      // Said of the link.
      let link = links[ExactText(path)]
      if let link, old.accessOfRun(to: link) == was, new.accessOfRun(to: link) == now { continue }
      add(now > was, "\(path)\(link.map { ", which \($0) leads to" } ?? ""): \(now.words), was \(was.words)")
    }
  }

  private mutating func mappedCode(_ old: Policy, _ new: Policy) {
    let grants = (old.grants + new.grants).exactlyOnce
    for path in grants {
      let (was, now) = (old.mapsCodeOfRun(at: path), new.mapsCodeOfRun(at: path))
      let parents = grants.filter { path.lies(below: $0) }
      let isSaid = parents.contains { old.mapsCodeOfRun(at: $0) == was && new.mapsCodeOfRun(at: $0) == now }
      guard was != now, !isSaid else { continue }
      let lost =
        new.accessOfRun(to: path) >= .read
        ? "read, and no longer code that may be mapped" : "no longer read, nor code that may be mapped"
      add(now, "\(path): \(now ? "read, and code that may be mapped while it runs" : lost)")
    }
  }

  /// In a folder that may be written, what has a line of its own is a mount, which can't be taken away.
  private mutating func ownLines(_ old: Policy, _ new: Policy) {
    for path in (old.named + new.named).exactlyOnce {
      guard let parent = path.parentFolder, old.access(to: parent) == .write, new.access(to: parent) == .write,
        old.access(to: path) == new.access(to: path)
      else { continue }
      let (was, now) = (old.named.containsExactly(path), new.named.containsExactly(path))
      guard was != now else { continue }
      let words =
        now
        ? "can't be moved, replaced or removed: it has a line of its own"
        : "can be moved, replaced or removed: it has no line of its own"
      add(was, "\(path) \(words)")
    }
  }

  private mutating func own(_ old: Policy, _ new: Policy) {
    if old.writesContainer != new.writesContainer {
      add(new.writesContainer, new.writesContainer ? "writes its container" : "only reads its container")
    }
    if old.writesTemporary != new.writesTemporary {
      add(new.writesTemporary, "\(new.writesTemporary ? "writes" : "doesn't write") its scratch folder")
    }
  }

  /// Of what is granted to be executed, and of the bundle and the runtime as well.
  private mutating func code(_ old: Policy, _ new: Policy) {
    let (was, now) = (old.codeAllowed, new.codeAllowed)
    if was != now { add(now > was, "executable memory: \(now.rawValue), was \(was.rawValue)") }
  }

  private mutating func calls(_ old: Policy, _ new: Policy) {
    func summary(_ names: Set<String>) -> [String] {
      SystemCallGroup.summary(of: names, counting: SystemCalls.isEverAllowed)
    }
    // What stays denied without a line of its own, as fork(2) without processes, is no wider.
    let freed = old.systemCalls.refused.subtracting(new.systemCalls.refused).filter(new.lets)
    let denied = new.systemCalls.refused.subtracting(old.systemCalls.refused).filter(old.lets)
    // Of a call that one of them lets through is said once what the other does.
    let (was, now) = (old.killing.subtracting(new.killing).subtracting(freed), new.killing.subtracting(old.killing))
    for name in summary(freed) { add(true, "\(name) isn't denied any more") }
    for name in summary(denied.subtracting(now)) { add(false, "\(name) is denied") }
    for name in SystemCallGroup.summary(of: was, counting: { _ in true }) {
      add(true, "\(name) fails and no longer ends the run")
    }
    for name in SystemCallGroup.summary(of: now, counting: { _ in true }) { add(false, "\(name) ends the run") }
  }

  /// What the rules of one decide and those of the other don't. A rule that looks at fewer bits decides about more calls; where only
  /// several together decide what one did, that one is said to be gone: rather too much than too little.
  private mutating func rules(_ old: Policy, _ new: Policy) {
    for (text, _) in Self.uncovered(of: old, by: new) { add(true, text) }
    for (_, text) in Self.uncovered(of: new, by: old) { add(false, text) }
  }

  /// Of each rule that decides more than the other policy: what its loss comes to, and what having it does.
  private static func uncovered(of policy: Policy, by other: Policy) -> [(lost: String, gained: String)] {
    struct Key: Hashable {
      var rule: CallRule
      var falls: Bool
    }
    var found: [Key: [UInt64]] = [:]
    for rule in policy.systemCalls.rules {
      let kills = policy.ends(rule)
      for atom in rule.atoms where !(other.denies(rule.call) && (!kills || other.kills(rule.call))) {
        let rest = other.systemCalls.rules.filter { $0.covers(atom) }
        if rest.contains(where: { !kills || other.ends($0) }) { continue }
        found[Key(rule: rule, falls: !rest.isEmpty || other.denies(rule.call)), default: []].append(atom.value)
      }
    }
    return found.sorted { ($0.key.rule, $0.key.falls ? 1 : 0) < ($1.key.rule, $1.key.falls ? 1 : 0) }.map {
      key, values in
      let words = key.rule.words(of: values)
      if key.falls { return ("\(words) fails and no longer ends the run", "\(words) ends the run") }
      return ("\(words) isn't denied any more", policy.ends(key.rule) ? "\(words) ends the run" : "\(words) is denied")
    }
  }

  private mutating func surroundings(_ old: Policy, _ new: Policy) {
    for device in PolicyDevice.allCases where old.devices.contains(device) != new.devices.contains(device) {
      let isNew = new.devices.contains(device)
      add(isNew, isNew ? "opens \(device.path)" : "doesn't open \(device.path)")
    }
    for variable in Set(old.environment).symmetricDifference(new.environment).sorted(by: { $0.text < $1.text }) {
      let isNew = new.environment.contains(variable)
      add(isNew, isNew ? "has the variable \(variable.text)" : "hasn't the variable \(variable.text)")
    }
  }

  private mutating func connections(_ old: Policy, _ new: Policy) {
    let (was, now) = (Set(old.network.map(\.text)), Set(new.network.map(\.text)))
    for endpoint in was.symmetricDifference(now).sorted() {
      let isNew = now.contains(endpoint)
      add(isNew, isNew ? "connects to \(endpoint)" : "doesn't connect to \(endpoint)")
    }
    // A plugin that may connect makes pairs as well.
    if was.isEmpty, now.isEmpty, old.socketPairs != new.socketPairs {
      add(new.socketPairs, new.socketPairs ? "makes pairs of sockets" : "makes no pairs of sockets")
    }
  }

  private mutating func add(_ isWider: Bool, _ text: String) { changes.append(Change(isWider: isWider, text: text)) }
}

extension Policy {
  /// What is granted by a path of its own.
  fileprivate var named: [String] { read + write + libraries + list }

  /// With what every plugin may read.
  fileprivate func accessOfRun(to path: String) -> PathAccess {
    max(access(to: path), Self.isRuntime(path) ? .read : .none)
  }

  /// With what every plugin may map where code may be mapped while it runs.
  fileprivate func mapsCodeOfRun(at path: String) -> Bool {
    mapsCode(at: path) || mapsCodeLater && Self.isRuntime(path)
  }

  private static func isRuntime(_ path: String) -> Bool {
    (RunnerView.runtime + RunnerView.links).contains { path.lies(in: $0) }
  }

  /// With what links among the granted paths lead to, and which link leads there.
  fileprivate func following(
    _ real: (String) -> String, of resolved: Policy
  ) -> (Policy, links: [ExactText: String]) {
    var (policy, links) = (self, [ExactText: String]())
    func add(_ list: WritableKeyPath<Policy, [String]>) {
      for path in (self[keyPath: list] + resolved[keyPath: list]).exactlyOnce {
        let place = real(path)
        if place.isExactly(path) || policy[keyPath: list].containsExactly(place) { continue }
        policy[keyPath: list].append(place)
        links[ExactText(place)] = path
      }
    }
    for list in [\Policy.read, \.write, \.libraries, \.list] { add(list) }
    return (policy, links)
  }

  /// Whether a call of that name gets through, if its arguments are what they may be.
  fileprivate func lets(_ name: String) -> Bool {
    let granted = SystemCalls.granted(
      connects: hasNetwork, makesProcesses: processes > 0, startsPrograms: startsPrograms)
    return !systemCalls.refused.contains(name) && (granted.contains(name) || !denies(name))
  }

  /// System calls that end the run.
  fileprivate var killing: Set<String> { Set(systemCalls.onDenied.filter { $0.value == .kill }.keys) }

  /// Whether each call of that name ends the run.
  fileprivate func kills(_ name: String) -> Bool { denies(name) && systemCalls.onDenied[name] == .kill }

  /// Whether a call that meets the rule ends the run.
  fileprivate func ends(_ rule: CallRule) -> Bool { rule.action == .kill || systemCalls.onDenied[rule.call] == .kill }
}
