internal import AssetModel
internal import Basics
internal import LinuxSystem
package import Sandbox

/// Looks up what the patterns of a policy stand for on this machine, and which of its optional paths are there.
package struct PatternExpansion {
  /// Names that are looked at, and paths that are found, for one policy.
  static let maxNames = 65_536
  static let maxPaths = 1024

  /// Reads the names in a folder; nil where it can't be read.
  let names: (String, Int) -> [String]?
  private var namesLeft = maxNames

  init(names: @escaping (String, Int) -> [String]? = { try? Files.names(in: $0, atMost: $1) }) { self.names = names }

  /// The policy with paths in the place of patterns, and without the optional paths that aren't there. It stays as it is where
  /// nothing is left to look up.
  ///
  /// - Throws: `HostError.input` for a pattern that stands for nothing, and `.usage` for one that stands for too much.
  package static func resolved(_ policy: Policy) throws(HostError) -> Policy {
    var expansion = PatternExpansion()
    return try expansion.resolve(policy) { Files.isNamed($0) != false }
  }

  /// What one pattern stands for on this machine, in order.
  package static func paths(of pattern: PathPattern) throws(HostError) -> [String] {
    var expansion = PatternExpansion()
    return try expansion.paths(of: pattern)
  }

  mutating func resolve(_ policy: Policy, isThere: (String) -> Bool) throws(HostError) -> Policy {
    guard !policy.patterns.isEmpty || !policy.optional.isEmpty else { return policy }
    var policy = policy
    let missing = policy.optional.filter { !isThere($0) }
    policy.optional = []
    policy.read.removeAll(where: missing.contains)
    policy.write.removeAll(where: missing.contains)
    policy.list.removeAll(where: missing.contains)
    let late = policy.mapsCodeLater
    policy.libraries.removeAll(where: missing.contains)
    let grants = policy.patterns
    policy.patterns = []
    var found = 0
    for grant in grants {
      let paths = try paths(of: grant.pattern)
      found += paths.count
      guard found <= Self.maxPaths else {
        throw .usage(
          "\(Self.subject(grant)), stands for more than \(Self.maxPaths) paths with those before it; grant folders")
      }
      guard !paths.isEmpty || grant.isOptional else {
        throw .input("\(Self.subject(grant)), stands for nothing on this machine")
      }
      for path in paths {
        switch grant.access {
        case .read: Self.add(path, to: &policy.read)
        case .write: Self.add(path, to: &policy.write)
        case .execute: Self.add(path, to: &policy.libraries)
        case .list: Self.add(path, to: &policy.list)
        }
      }
    }
    // What may become code doesn't depend on what is there.
    if late, policy.executableMemory == .loading { policy.executableMemory = .later }
    return policy
  }

  private static func subject(_ grant: PatternGrant) -> String {
    "\(Printable.text(grant.pattern.text, limit: 400)), which the policy grants under '\(grant.access.rawValue)'"
  }

  private static func add(_ path: String, to list: inout [String]) {
    if !list.containsExactly(path) { list.append(path) }
  }

  /// In order.
  mutating func paths(of pattern: PathPattern) throws(HostError) -> [String] {
    var folders = [""]
    for (index, component) in pattern.components.enumerated() {
      if let name = component.literal {
        folders = folders.map { $0 + "/" + name }
        continue
      }
      var next: [String] = []
      for folder in folders {
        guard let all = names(folder, namesLeft + 1) else { continue }
        namesLeft -= all.count
        guard namesLeft >= 0 else {
          throw .usage(
            "\(Printable.text(pattern.text, limit: 400)): more than \(Self.maxNames) names would have to be looked at; name the folders"
          )
        }
        next += all.filter(component.matches).map { folder + "/" + $0 }
      }
      guard next.count <= Self.maxPaths || index == pattern.components.count - 1 else {
        throw .usage("\(Printable.text(pattern.text, limit: 400)): stands for more than \(Self.maxPaths) folders")
      }
      folders = next
    }
    // What follows the last wildcard needn't be there.
    return (pattern.components.last?.literal == nil ? folders : folders.filter { Files.isNamed($0) == true }).sorted()
  }
}
