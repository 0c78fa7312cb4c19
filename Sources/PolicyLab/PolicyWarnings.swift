internal import Basics
internal import HostProtocol
internal import LinuxSystem
package import PluginHost
package import Sandbox

/// What is allowed in a policy and probably not meant.
package enum PolicyWarnings {
  /// What every user of a machine would rather keep.
  private static let secrets = ["/etc", "/home", "/root", "/var", "/proc", "/sys", "/run", "/boot"]
  private static let system = ["/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/opt", "/boot"]

  /// Where recording grants nothing without a review, among what policies often name files of.
  private static let reviewed = ["/proc", "/sys"]
  /// How many processors there are is no secret, and the shipped policies grant it.
  private static let processors = "/sys/devices/system/cpu"

  /// Bytes that no run loads a library with: what a library's own data takes lies well above, and the kernel counts whole pages.
  private static let leastMemory = 16 << 10

  package struct Warning: Sendable, Equatable {
    /// The path or pattern that it is about; nil: the policy as a whole.
    package var path: String?
    package var message: String
  }

  /// What there is to know of this machine.
  package struct Machine {
    package var exists: (String) -> Bool
    /// Whether it can't be told if it exists, for a folder on the way that this user may not search.
    package var isHidden: (String) -> Bool = { _ in false }
    package var isDevice: (String) -> Bool
    /// Whether it is a folder; nil: it isn't there.
    package var isFolder: (String) -> Bool? = { _ in nil }
    /// Whether it is a folder that every user may write to.
    package var isOpenToAll: (String) -> Bool = { _ in false }
    /// Without symbolic links; the path itself where it leads to nothing.
    package var real: (String) -> String = { $0 }
    /// The names to which links lead on the way to a path (`LinkHops`).
    package var hops: (String) -> [String] = { _ in [] }
    /// Under a policy, the link on the way to a path that a plugin may have put there; nil: there is none.
    package var plantedLinks: (Policy) -> (String) -> String? = { _ in { _ in nil } }
    /// Under a policy, whether a path lies in a folder that plugins may write to.
    package var isPlugins: (Policy) -> (String) -> Bool = { _ in { _ in false } }
    /// A policy with the paths that its patterns stand for.
    package var resolve: (Policy) -> Result<Policy, HostError>

    package init(
      exists: @escaping (String) -> Bool, isDevice: @escaping (String) -> Bool = { _ in false },
      resolve: @escaping (Policy) -> Result<Policy, HostError> = { .success($0) }
    ) {
      (self.exists, self.isDevice, self.resolve) = (exists, isDevice, resolve)
    }

    package static var this: Machine {
      var machine = Machine(
        exists: { Files.exists($0) }, isDevice: { (try? Files.identity(of: $0))?.isDevice ?? false },
        resolve: { policy in Result { () throws(HostError) in try PatternExpansion.resolved(policy) } })
      machine.isHidden = { Files.isThere($0) == nil }
      machine.isFolder = Files.isFolder
      machine.real = { path in (try? Files.real(path)) ?? path }
      machine.hops = { LinkHops.all(from: $0, link: Files.link) }
      machine.plantedLinks = { policy in PluginReach(under: policy).plantedLink }
      machine.isPlugins = { policy in PluginReach(under: policy).holds }
      machine.isOpenToAll = PolicyPath.isOpenToAll
      return machine
    }
  }

  package static func find(_ policy: Policy, on machine: Machine = .this) -> [Warning] {
    var found: [Warning] = []
    let (plantedLink, isPlugins) = (machine.plantedLinks(policy), machine.isPlugins(policy))
    for path in policy.grants {
      func warn(_ message: String) { found.append(Warning(path: path, message: message)) }
      let isWritten = policy.access(to: path) == .write
      let isPattern = policy.patterns.contains { $0.pattern.text == path }
      // What it leads to at this moment, if anything, is another matter at the next.
      let isProcess = RevealingFolder.rejectionReason(for: path, hops: machine.hops(path)) != nil
      if !isPattern, !isProcess, !policy.optional.contains(path), !machine.exists(path) {
        warn(
          machine.isHidden(path)
            ? "\(path) lies in a folder that you may not search: whether it exists can't be told, and a run of yours with this policy is refused"
            : "\(path) doesn't exist here: a run with this policy is refused")
      }
      if !isPattern, !isProcess, machine.isDevice(path) {
        warn("\(path) is a device, and no plugin opens it: a run with this policy is refused; see 'devices'")
      }
      if policy.list.contains(path), !isProcess, machine.isFolder(path) == false {
        warn("\(path) is no folder, so that it has no names to list: a run with this policy is refused")
      }
      if !isProcess, !path.lies(in: Self.processors), let holder = reviewed.first(where: { path.lies(below: $0) }) {
        warn(
          "\(path) lies in \(holder), which shows what the machine and its other programs do: recording leaves it to a review"
        )
      }
      if policy.read.contains(path), policy.write.contains(path) {
        warn("\(path) is under read and under write; write has both")
      }
      if let reason = refusal(of: path, policy, machine) {
        warn("\(path) \(reason): a run with this policy is refused")
      }
      if !isPattern, let link = plantedLink(path) {
        warn(
          "\(path): \(Remedy.planted(link, path, real: machine.real(path))); until then a run with this policy is refused"
        )
      }
      if !isPattern, policy.mapsCode(at: path), isPlugins(path) {
        warn("\(path) can't be code: \(Remedy.codeOfPlugins): a run with this policy is refused")
      }
      if hasNoEffect(path, policy, machine) {
        warn(
          policy.write.contains(path)
            ? "\(path) lies in a folder that is granted already: all that its own line does is keep its files from being moved in or out, and itself from being moved, replaced or removed"
            : "\(path) has no effect: a folder that it lies in is granted already")
      }
      if secrets.contains(path) {
        warn("\(path) as a whole shows what other programs keep there; name the files that are needed")
      }
      if policy.hasNetwork,
        let hidden = RunnerView.networkFiles.first(where: { $0.lies(in: path) })
      {
        warn(
          "\(path) would hide the plugin's own \(hidden), by which it finds names with hosts or pairs under network: a run with this policy is refused"
        )
      }
      if isWritten, system.contains(where: { path.lies(in: $0) }) {
        warn("\(path) can be written: what lies there is run by others")
      }
      if isWritten, !isPattern, machine.isOpenToAll(path) {
        warn(
          "\(path) is every user's: the plugin may change what others keep there, and from the first run on the folder is marked as plugins' (\(WritableMark.name)), so that no link in it is followed; name a folder of its own"
        )
      }
    }
    found += refusals(policy, on: machine).map { Warning(message: $0) }
    if policy.limits.memory < leastMemory {
      found.append(
        Warning(
          message:
            "limits.memory: \(policy.limits.memory) bytes are less than what loading anything takes: a run with this policy is refused; write MiB behind the number"
        ))
    }
    for (name, action) in policy.systemCalls.onDenied.sorted(by: { $0.key < $1.key }) where action == .deny {
      found.append(Warning(message: "onDenied.\(name): deny is what holds anyway"))
    }
    return found
  }

  private static func parent(of path: String) -> String? {
    path.parentFolder.flatMap { $0 == "/" ? nil : $0 }
  }

  /// Why no run has a policy that grants this path as it does; nil: one may.
  private static func refusal(of path: String, _ policy: Policy, _ machine: Machine) -> String? {
    if RunnerView.links.contains(path) { return "is the runtime's, which every plugin may read" }
    let real = machine.real(path)
    if real == "/" { return "is everything" }
    if RunnerView.isOwn(real) { return "is where a plugin has something of its own; name what is needed in it" }
    if let reason = RevealingFolder.rejectionReason(for: path, hops: machine.hops(path) + [real]) { return reason }
    if policy.access(to: path) == .write, let reason = MachineFolder.rejectionReason(forWriting: real) { return reason }
    let access = policy.access(to: path)
    let other = policy.grants.first { other in
      let isWider = policy.write.contains(other) || access == .list && policy.access(to: other) > .list
      let led = machine.real(other)
      return access < .write && isWider && led != other && real.lies(below: led) && !path.lies(below: other)
    }
    if let other { return RevealingFolder.rejectionReason(forPartOf: other, leadingTo: machine.real(other)) }
    guard policy.list.contains(path), let parent = parent(of: path) else { return nil }
    if let own = RunnerView.own(around: real) { return RevealingFolder.rejectionReason(forListedInOwn: own) }
    if let holder = RunnerView.runtime.first(where: { path.lies(in: $0) }) {
      return RevealingFolder.rejectionReason(forListedIn: holder)
    }
    guard
      let holder = policy.grants.first(where: { parent.lies(in: $0) }),
      policy.access(to: parent) > .list
    else { return nil }
    return RevealingFolder.rejectionReason(forListedIn: holder)
  }

  private static func hasNoEffect(_ path: String, _ policy: Policy, _ machine: Machine) -> Bool {
    guard let parent = parent(of: path), policy.access(to: parent) == policy.access(to: path),
      policy.mapsCode(at: parent) == policy.mapsCode(at: path)
    else { return false }
    // What a link in a granted folder leads to is granted by the link's own line alone, or by a pattern that stands for the link.
    let patterns = policy.patterns.filter { $0.pattern.text == path }
    guard !patterns.isEmpty else { return machine.real(path) == machine.real(parent) + path[parent.endIndex...] }
    var alone = Policy()
    alone.patterns = patterns
    let texts = Set(policy.patterns.map(\.pattern.text))
    let found = (try? machine.resolve(alone).get())?.grants.filter { !texts.contains($0) } ?? []
    return found.allSatisfy { path in
      guard let holder = policy.grants.first(where: { path.lies(below: $0) && !texts.contains($0) }) else {
        return false
      }
      return machine.real(path) == machine.real(holder)
        + String(decoding: path.utf8.dropFirst(holder.utf8.count), as: UTF8.self)
    }
  }

  /// What only shows where patterns have become paths.
  private static func refusals(_ policy: Policy, on machine: Machine) -> [String] {
    let grants: [String]
    do throws(HostError) {
      grants = try machine.resolve(policy).get().grants
    } catch {
      return ["a run with this policy is refused here: \(error)"]
    }
    var found: [String] = []
    let literal = Set(policy.grants)
    if let device = grants.first(where: { !literal.contains($0) && machine.isDevice($0) }) {
      found.append(
        "\(device), which a pattern stands for, is a device, and no plugin opens it: a run with this policy is refused; see 'devices'"
      )
    }
    for path in grants where !literal.contains(path) {
      guard let reason = RevealingFolder.rejectionReason(for: path, hops: machine.hops(path)) else { continue }
      found.append("\(path), which a pattern stands for, \(reason): a run with this policy is refused")
      break
    }
    if policy.hasNetwork,
      let own = RunnerView.networkFiles.first(where: { own in
        grants.contains { !literal.contains($0) && own.lies(in: $0) }
      })
    {
      found.append(
        "\(own), which a pattern stands for, is the plugin's own with hosts or pairs under network: a run with this policy is refused"
      )
    }
    if let reason = GrantRoom.rejectionReason(for: grants) {
      found.append("a run with this policy is refused: \(reason)")
    } else if grants.count > GrantRoom.maxOfPolicy {
      found.append(
        "as root a run with this policy is refused: of its \(grants.count) paths at most \(GrantRoom.maxOfPolicy) fit a request"
      )
    }
    return found
  }
}
