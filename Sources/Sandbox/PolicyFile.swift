internal import Yams

extension Policy {
  /// Reads a policy as people write it:
  ///
  ///     version: 1
  ///     read: [/usr/share/games]
  ///     write: [/srv/cache]
  ///     require: [landlock, seccomp]
  ///     onDenied: {socket: kill}
  ///     limits: {wall: 30s, memory: 8MiB, threads: 16}
  ///
  /// Only `version` is required. What isn't understood is refused: a misspelt key would be a wall that isn't there.
  public init(parsing text: String, file: String) throws(PolicyFileError) {
    self = try PolicyReader(file: file).policy(PolicyDocument(text, file: file).root)
  }
}

/// Turns the nodes of a policy into values.
private struct PolicyReader {
  let file: String

  static let keys = ["version", "read", "write", "require", "onDenied", "limits"]
  static let limitKeys = ["wall", "cpu", "memory", "openFiles", "fileSize", "threads", "logBytes"]
  static let tags: Set = ["str", "int", "float", "bool", "null", "timestamp", "merge", "value", "seq", "map"]

  func policy(_ root: Node) throws(PolicyFileError) -> Policy {
    var policy = Policy()
    var hasVersion = false
    for (key, value) in try pairs(root, "a policy", known: Self.keys) {
      switch key {
      case "version":
        hasVersion = true
        let text = try scalar(value, key)
        guard text == "1" else { throw error(value, "version is \(shown(text)); this host reads version 1") }
      case "read": policy.read = try paths(value, key)
      case "write": policy.write = try paths(value, key)
      case "require": policy.require = try walls(value)
      case "onDenied": policy.onDenied = try actions(value)
      default: policy.limits = try limits(value)
      }
    }
    guard hasVersion else {
      throw error(root, "a policy needs 'version: 1'; the known keys are \(list(Self.keys))")
    }
    return policy
  }

  private func paths(_ node: Node, _ key: String) throws(PolicyFileError) -> [String] {
    var paths: [String] = []
    var seen: Set<String> = []
    for item in try items(node, key) {
      let path = try scalar(item, "a path in \(key)")
      guard path.utf8.first == UInt8(ascii: "/") else {
        throw error(item, "\(key) holds absolute paths; \(shown(path)) doesn't start with '/'")
      }
      guard !path.utf8.contains(0) else { throw error(item, "\(key): a path can't contain a NUL byte") }
      // The kernel would follow `..` after links, a reader of the policy before them.
      guard !path.split(separator: "/").contains("..") else {
        throw error(item, "\(key): \(shown(path)) contains '..'; write the path that it leads to")
      }
      guard path.utf8.count < 4096 else { throw error(item, "\(key): a path has at most 4095 bytes") }
      guard seen.insert(path).inserted else { throw error(item, "\(key): \(shown(path)) is listed twice") }
      paths.append(path)
    }
    return paths
  }

  private func walls(_ node: Node) throws(PolicyFileError) -> Set<Wall> {
    var walls: Set<Wall> = []
    for item in try items(node, "require") {
      let name = try scalar(item, "a wall in require")
      guard let wall = Wall(rawValue: name) else {
        throw error(item, "\(shown(name)) isn't a wall; the walls are \(list(Wall.allCases.map(\.rawValue)))")
      }
      guard walls.insert(wall).inserted else { throw error(item, "require: \(name) is listed twice") }
    }
    return walls
  }

  private func actions(_ node: Node) throws(PolicyFileError) -> [String: Policy.DeniedAction] {
    var actions: [String: Policy.DeniedAction] = [:]
    for (name, value) in try pairs(node, "onDenied", known: nil) {
      let text = try scalar(value, "onDenied.\(name)")
      guard let action = Policy.DeniedAction(rawValue: text) else {
        throw error(value, "onDenied.\(name) is \(shown(text)); it is deny or kill")
      }
      if let objection = Policy.objection(to: action, of: name) { throw error(value, "onDenied.\(name): \(objection)") }
      actions[name] = action
    }
    return actions
  }

  private func limits(_ node: Node) throws(PolicyFileError) -> Limits {
    var limits = Limits()
    for (key, value) in try pairs(node, "limits", known: Self.limitKeys) {
      switch key {
      case "wall": limits.wall = try duration(value, key)
      case "cpu": limits.cpu = try duration(value, key)
      case "memory": limits.memory = try bytes(value, key)
      case "openFiles": limits.openFiles = try count(value, key, Limits.openFilesRange)
      case "fileSize": limits.fileSize = try bytes(value, key)
      case "threads": limits.threads = try count(value, key, Limits.threadsRange)
      default: limits.logBytes = try bytes(value, key)
      }
    }
    return limits
  }

  private func duration(_ node: Node, _ key: String) throws(PolicyFileError) -> Duration {
    let text = try scalar(node, "limits.\(key)")
    guard let value = Quantity.duration(text) else {
      throw error(node, "limits.\(key) is \(shown(text)); it is a time such as 300ms, 1.5s or 2m")
    }
    return value
  }

  private func bytes(_ node: Node, _ key: String) throws(PolicyFileError) -> Int {
    let text = try scalar(node, "limits.\(key)")
    guard let value = Quantity.bytes(text) else {
      throw error(node, "limits.\(key) is \(shown(text)); it is a size such as 512KiB, 8MiB or 1GiB")
    }
    return value
  }

  private func count(_ node: Node, _ key: String, _ range: ClosedRange<Int>) throws(PolicyFileError) -> Int {
    let text = try scalar(node, "limits.\(key)")
    // YAML reads 010 as eight and people as ten.
    let isPlain =
      text.utf8.allSatisfy { (0x30...0x39).contains($0) } && (text.utf8.count == 1 || text.utf8.first != 0x30)
    guard isPlain, let value = Int(text), range.contains(value) else {
      throw error(
        node, "limits.\(key) is \(shown(text)); it is a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }
}

// Nodes by their kind.
extension PolicyReader {
  /// The pairs of a mapping. `known` is nil where the keys are system calls.
  private func pairs(_ node: Node, _ what: String, known: [String]?) throws(PolicyFileError) -> [(String, Node)] {
    let names = known.map { "the known keys are \(list($0))" } ?? "its keys are system calls such as socket"
    guard case .mapping(let mapping) = node, isPlain(node) else { throw error(node, "\(what) is a map; \(names)") }
    var pairs: [(String, Node)] = []
    var seen: Set<String> = []
    for (key, value) in mapping {
      let name = try scalar(key, "a key of \(what)")
      if let known, !known.contains(name) { throw error(key, "\(shown(name)) isn't a key of \(what); \(names)") }
      if known == nil, !SystemCalls.isKnown(name) {
        throw error(key, "\(what): \(shown(name)) isn't a system call that this host knows; \(names)")
      }
      // Yams tells keys apart that differ in their tag alone.
      guard seen.insert(name).inserted else { throw error(key, "the key \(shown(name)) is there twice; \(names)") }
      pairs.append((name, value))
    }
    return pairs
  }

  private func items(_ node: Node, _ key: String) throws(PolicyFileError) -> [Node] {
    guard case .sequence(let sequence) = node, isPlain(node) else { throw error(node, "\(key) is a list") }
    return Array(sequence)
  }

  private func scalar(_ node: Node, _ what: String) throws(PolicyFileError) -> String {
    guard case .scalar(let scalar) = node, isPlain(node) else { throw error(node, "\(what) is a single value") }
    return scalar.string
  }

  /// Whether a node has no tag but those that YAML itself resolves to, and no anchor.
  private func isPlain(_ node: Node) -> Bool {
    let tag = node.tag.rawValue
    let prefix = "tag:yaml.org,2002:"
    return node.anchor == nil && tag.hasPrefix(prefix) && Self.tags.contains(String(tag.dropFirst(prefix.count)))
  }

  private func error(_ node: Node, _ message: String) -> PolicyFileError {
    PolicyFileError(file: file, line: node.mark?.line ?? 1, column: node.mark?.column ?? 1, message: message)
  }

  /// Text of the file, quoted and on one line.
  private func shown(_ text: String) -> String { String(text.prefix(60)).debugDescription }
  private func list(_ words: [String]) -> String { words.joined(separator: ", ") }
}
