internal import HostProtocol
internal import PluginHost
internal import Sandbox

/// Finds out where a plugin wants to connect: once it was denied a socket, a round has a network in which its host sees every
/// attempt and nothing answers but what was granted. A pure value.
struct NetworkSearch {
  private enum Phase {
    case waiting, searching
    /// Nothing more is to be found out, or nothing can be.
    case done
  }

  private let grants: Bool
  /// Whether it wanted to connect somewhere.
  private(set) var hasFound = false
  private var phase: Phase
  /// Pairs of sockets take a network of the run's own as well.
  private var allowsPairs = true

  init(base: Policy, grants: Bool) {
    self.grants = grants
    // A base with hosts has the network already, and says all from the first round on. One that grants the machine's own /etc/hosts
    // can't have one.
    phase = !base.network.isEmpty ? .searching : Self.grantsNames(base) ? .done : .waiting
  }

  /// Whether it grants the machine's own files of names, in whose place a run with a network has its own.
  private static func grantsNames(_ policy: Policy) -> Bool {
    RunnerView.networkFiles.contains { policy.access(to: $0) != .none }
  }

  /// Whether a run has that file of its own, so that the machine's can't be granted.
  static func isOwn(_ path: String, under policy: Policy) -> Bool {
    (policy.observation.network || policy.hasNetwork) && RunnerView.networkFiles.contains(path)
  }

  /// Whether another round is needed for it, with what `policy` says then.
  mutating func handle(_ round: [Observed], _ policy: inout Policy, _ recording: inout Recording) -> Bool {
    let hasGrown = findPairs(round, &policy, &recording)
    return findHosts(round, &policy, &recording) || hasGrown
  }

  private mutating func findPairs(_ round: [Observed], _ policy: inout Policy, _ recording: inout Recording) -> Bool {
    let denials = round.flatMap(\.denials).filter {
      $0.wall == "seccomp" && SocketPairs.areMade(by: $0.call, $0.target)
    }
    guard allowsPairs, !denials.isEmpty, !policy.hasNetwork, !Self.grantsNames(policy) else {
      guard policy.socketPairs, round.contains(where: { $0.outcome.kind == .wallUnavailable }) else { return false }
      recording.note = "it makes pairs of sockets, for which this machine has no namespaces"
      (policy.socketPairs, allowsPairs) = (false, false)
      return true
    }
    for denial in denials { recording.add(.granted, SocketPairs.key, denial) }
    policy.socketPairs = true
    return true
  }

  private mutating func findHosts(_ round: [Observed], _ policy: inout Policy, _ recording: inout Recording) -> Bool {
    switch phase {
    case .done: return false
    case .waiting:
      guard round.contains(where: { $0.denials.contains(where: Self.isOfNetwork) }) else { return false }
      phase = .searching
      policy.observation.network = true
      return true
    case .searching: break
    }
    if round.contains(where: { $0.outcome.kind == .wallUnavailable }) {
      recording.note = "where it wanted to connect isn't known: this machine has no namespaces for that"
      return giveUp(&policy)
    }
    var hasGrown = false
    for denial in round.flatMap(\.denials) where denial.wall == "network" {
      guard let endpoint = try? NetworkEndpoint(denial.target) else {
        recording.add(.refused("it asked for that name, and connected to nothing"), denial.target, denial)
        continue
      }
      hasFound = true
      if grants, policy.network.count < NetworkEndpoint.maxCount || policy.network.contains(endpoint) {
        recording.add(.granted, endpoint.text, denial)
        guard !policy.network.contains(endpoint) else { continue }
        policy.network.append(endpoint)
        hasGrown = true
      } else {
        let reason =
          grants ? "a policy lists at most \(NetworkEndpoint.maxCount) hosts and ports" : "--network lets it connect"
        recording.add(.refused(reason), endpoint.text, denial)
      }
    }
    if hasGrown || !policy.network.isEmpty { return hasGrown }
    // The policy grants no network, so its runs have none.
    return giveUp(&policy)
  }

  private mutating func giveUp(_ policy: inout Policy) -> Bool {
    phase = .done
    defer { policy.observation.network = false }
    return policy.observation.network
  }

  /// A socket, or what getaddrinfo(3) reads before it asks for a name: the filter answers its own sockets unrecorded.
  private static func isOfNetwork(_ denial: Observed.Denial) -> Bool {
    if denial.wall == "files" { return RunnerView.networkFiles.contains(denial.target) }
    // AF_INET and AF_INET6, as the report writes them.
    return denial.wall == "seccomp" && denial.call == "socket"
      && ["0x2,", "0xa,"].contains { denial.target.hasPrefix($0) }
  }
}
