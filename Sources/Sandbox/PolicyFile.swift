public import StrictYAML
internal import Yams

extension Policy {
  /// Reads a policy as people write it:
  ///
  ///     version: 1
  ///     read: [/usr/share/games]
  ///     write: [/srv/cache]
  ///     libraries: [/usr/lib/python3.11/lib-dynload]
  ///     require: [landlock, seccomp]
  ///     onDenied: {socket: kill}
  ///     limits: {wall: 30s, memory: 8MiB, threads: 16}
  ///
  /// Only `version` is required. What isn't understood is refused: a misspelt key would be a wall that isn't there.
  ///
  /// - Parameters:
  ///   - text: The file's content: YAML.
  ///   - file: Its name, for errors.
  /// - Throws: `YAMLFileError` with the place of the first mistake.
  public init(parsing text: String, file: String) throws(YAMLFileError) {
    self = try PolicyReader(nodes: YAMLNodes(file: file)).policy(YAMLDocument(text, file: file, noun: "a policy").root)
  }
}

/// Turns the nodes of a policy into values.
private struct PolicyReader {
  let nodes: YAMLNodes

  static let keys = ["version", "read", "write", "libraries", "require", "onDenied", "limits"]

  func policy(_ root: Node) throws(YAMLFileError) -> Policy {
    var policy = Policy()
    var hasVersion = false
    for (key, value) in try nodes.pairs(root, "a policy", known: Self.keys) {
      switch key {
      case "version":
        hasVersion = true
        let text = try nodes.scalar(value, key)
        guard text == "1" else {
          throw nodes.error(value, "version is \(nodes.shown(text)); this host reads version 1")
        }
      case "read": policy.read = try paths(value, key)
      case "write": policy.write = try paths(value, key)
      case "libraries": policy.libraries = try paths(value, key)
      case "require": policy.require = try walls(value)
      case "onDenied": policy.onDenied = try actions(value)
      default: policy.limits = try nodes.limits(value)
      }
    }
    guard hasVersion else {
      throw nodes.error(root, "a policy needs 'version: 1'; the known keys are \(nodes.list(Self.keys))")
    }
    return policy
  }

  private func paths(_ node: Node, _ key: String) throws(YAMLFileError) -> [String] {
    var paths: [String] = []
    var seen: Set<String> = []
    for item in try nodes.items(node, key) {
      let path = try nodes.scalar(item, "a path in \(key)")
      guard path.utf8.first == UInt8(ascii: "/") else {
        throw nodes.error(item, "\(key) holds absolute paths; \(nodes.shown(path)) doesn't start with '/'")
      }
      guard !path.utf8.contains(0) else { throw nodes.error(item, "\(key): a path can't contain a NUL byte") }
      // The kernel would follow `..` after links, a reader of the policy before them.
      guard !path.split(separator: "/").contains("..") else {
        throw nodes.error(item, "\(key): \(nodes.shown(path)) contains '..'; write the path that it leads to")
      }
      guard path.utf8.count < 4096 else { throw nodes.error(item, "\(key): a path has at most 4095 bytes") }
      guard seen.insert(path).inserted else { throw nodes.error(item, "\(key): \(nodes.shown(path)) is listed twice") }
      paths.append(path)
    }
    return paths
  }

  private func walls(_ node: Node) throws(YAMLFileError) -> Set<Wall> {
    var walls: Set<Wall> = []
    for item in try nodes.items(node, "require") {
      let name = try nodes.scalar(item, "a wall in require")
      guard let wall = Wall(rawValue: name) else {
        throw nodes.error(
          item, "\(nodes.shown(name)) isn't a wall; the walls are \(nodes.list(Wall.allCases.map(\.rawValue)))")
      }
      guard walls.insert(wall).inserted else { throw nodes.error(item, "require: \(name) is listed twice") }
    }
    return walls
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
