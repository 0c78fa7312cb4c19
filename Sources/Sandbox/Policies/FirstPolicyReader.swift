internal import Basics
internal import StrictYAML
internal import Yams

/// Turns the nodes of a policy of version 1 into values.
struct FirstPolicyReader {
  let nodes: YAMLNodes
  private(set) var places: [String: PolicyFile.Place] = [:]

  init(nodes: YAMLNodes) { self.nodes = nodes }

  static let keys = ["version", "read", "write", "libraries", "require", "onDenied", "limits"]

  mutating func policy(_ root: Node) throws(YAMLFileError) -> Policy {
    var policy = Policy()
    for (key, value) in try pairs(root) {
      switch key {
      case "version": break
      case "read": policy.read = try paths(value, key)
      case "write": policy.write = try paths(value, key)
      case "libraries": policy.libraries = try paths(value, key)
      case "require": policy.require = try nodes.walls(value)
      case "onDenied": policy.systemCalls.onDenied = try actions(value)
      default: policy.limits = try nodes.limits(value)
      }
    }
    return policy
  }

  private func pairs(_ root: Node) throws(YAMLFileError) -> [(String, Node)] {
    let names = "the known keys are \(nodes.list(Self.keys))"
    let second =
      "write 'version: 2', and what is under 'read', 'write' and 'libraries' as 'files: {read: […], write: [$CONTAINER, $TMP, …], execute: […]}'"
    return try nodes.pairs(root, "a policy", naming: names) { key in
      guard !Self.keys.contains(key) else { return nil }
      let isOfSecond = SecondPolicyReader.keys.contains(key)
      return isOfSecond
        ? "\(nodes.shown(key)) is a key of version 2: \(second)"
        : "\(nodes.shown(key)) isn't a key of a policy; \(names)"
    }
  }

  private mutating func paths(_ node: Node, _ key: String) throws(YAMLFileError) -> [String] {
    var paths: [String] = []
    var seen: Set<ExactText> = []
    for item in try nodes.items(node, key) {
      let path = try nodes.checked(path: try nodes.scalar(item, "a path in \(key)"), item, key)
      guard seen.insert(ExactText(path)).inserted else {
        throw nodes.error(item, "\(key): \(nodes.shown(path)) is listed twice")
      }
      paths.append(path)
      places[path] = PolicyFile.Place(nodes.error(item, ""))
    }
    return paths
  }

  private func actions(_ node: Node) throws(YAMLFileError) -> [String: Policy.DeniedAction] {
    var actions: [String: Policy.DeniedAction] = [:]
    let names = "its keys are system calls such as socket"
    let pairs = try nodes.pairs(node, "onDenied", naming: names) { name in
      SystemCalls.isKnown(name)
        ? nil : "onDenied: \(nodes.shown(name)) isn't a system call that this host knows; \(names)"
    }
    for (name, value) in pairs {
      let text = try nodes.scalar(value, "onDenied.\(name)")
      guard let action = Policy.DeniedAction(rawValue: text) else {
        throw nodes.error(value, "onDenied.\(name) is \(nodes.shown(text)); it is deny or kill")
      }
      if let rejectionReason = Policy.rejectionReason(for: action, of: name) {
        throw nodes.error(value, "onDenied.\(name): \(rejectionReason)")
      }
      actions[name] = action
    }
    return actions
  }
}
