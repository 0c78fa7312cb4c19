internal import Basics
internal import LinuxSystem
internal import PluginHost
internal import Sandbox

/// What a policy grants and a version of a library didn't need, as far as its tests show.
struct UnusedPermissions {
  private let policy: Policy
  private let used: Policy
  private let denials: [Observed.Denial]
  private let variables: Set<String>
  /// Hosts that it connected to, or was refused.
  private let tried: Set<String>

  init(of policy: Policy, by side: LibraryComparison.Side) {
    self.policy = policy
    used = side.recording.policy
    denials = side.recording.observed.flatMap(\.denials)
    variables = side.variables
    // Recorded from nothing, it was refused where it wanted to connect.
    tried = Set(side.recording.refused.map(\.path)).union(used.network.map(\.text))
  }

  var lines: [String] { files + (processes + network + environment) + memory }

  private var files: [String] {
    var there = policy
    there.patterns = []
    there = (try? PatternExpansion.resolved(there)) ?? there
    let granted: [(PatternGrant.Access, [String])] = [
      (.read, there.read), (.write, there.write), (.execute, there.libraries), (.list, there.list),
    ]
    // A pattern is needed where one of the paths that it stands for is.
    let patterns = policy.patterns.filter { grant in
      !((try? PatternExpansion.paths(of: grant.pattern)) ?? []).contains { isUsed($0, for: grant.access) }
    }
    return granted.flatMap { access, paths in
      let unneeded =
        paths.filter { !isUsed($0, for: access) } + patterns.filter { $0.access == access }.map(\.pattern.text)
      return unneeded.map { "\(access.rawValue): \($0)" }
    }
  }

  private func isUsed(_ grant: String, for access: PatternGrant.Access) -> Bool {
    let paths =
      switch access {
      case .read: used.grants
      case .write: used.write
      case .execute: used.libraries
      case .list: used.list + (used.read + used.write).filter { Files.isFolder($0) == true }
      }
    return paths.contains { $0.lies(in: grant) }
  }

  private var processes: [String] {
    policy.processes > 0 && used.processes == 0 ? ["processes: \(policy.processes)"] : []
  }

  private var network: [String] {
    let pairs = policy.socketPairs && policy.network.isEmpty && !used.hasNetwork && tried.isEmpty
    return policy.network.filter { !tried.contains($0.text) }.map { "network: \($0.text)" }
      + (pairs ? ["network: pairs"] : [])
  }

  private var environment: [String] {
    policy.environment.map(\.name).filter { !variables.contains($0) }.map {
      "environment: \($0), which no library that it loads has in it"
    }
  }

  private var memory: [String] {
    switch policy.executableMemory {
    case .justInTime: denials.contains(where: \.wantsWrittenCode) ? [] : ["executableMemory: jit"]
    // What is granted to be executed says so by itself.
    case .later where policy.codePaths.isEmpty:
      used.mapsCodeLater || denials.contains { $0.call == "mmap" && $0.wall != "limits" }
        ? [] : ["executableMemory: later"]
    default: []
    }
  }
}
