package import Yams

/// Nodes of a policy, and of files that are as strict, by their kind.
package struct PolicyNodes {
  let file: String

  static let limitKeys = ["wall", "cpu", "memory", "openFiles", "fileSize", "threads", "logBytes"]
  private static let tags: Set = ["str", "int", "float", "bool", "null", "timestamp", "merge", "value", "seq", "map"]

  package init(file: String) { self.file = file }

  /// `limits` with what the map says in their place.
  package func limits(_ node: Node, over limits: Limits = Limits()) throws(PolicyFileError) -> Limits {
    var limits = limits
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

  /// The pairs of a mapping with these keys alone.
  package func pairs(_ node: Node, _ what: String, known: [String]) throws(PolicyFileError) -> [(String, Node)] {
    let names = "the known keys are \(list(known))"
    return try pairs(node, what, naming: names) { key in
      known.contains(key) ? nil : "\(shown(key)) isn't a key of \(what); \(names)"
    }
  }

  /// The pairs of a mapping, each key once. `names`: what the keys are, for messages; `rejectionReason`: why one can't be.
  package func pairs(
    _ node: Node, _ what: String, naming names: String, rejectionReason: (String) -> String? = { _ in nil }
  ) throws(PolicyFileError) -> [(String, Node)] {
    guard case .mapping(let mapping) = node, isPlain(node) else { throw error(node, "\(what) is a map; \(names)") }
    var pairs: [(String, Node)] = []
    var seen: Set<String> = []
    for (key, value) in mapping {
      let name = try scalar(key, "a key of \(what)")
      if let message = rejectionReason(name) { throw error(key, message) }
      // Yams tells keys apart that differ in their tag alone.
      guard seen.insert(name).inserted else { throw error(key, "the key \(shown(name)) is there twice; \(names)") }
      pairs.append((name, value))
    }
    return pairs
  }

  package func items(_ node: Node, _ key: String) throws(PolicyFileError) -> [Node] {
    guard case .sequence(let sequence) = node, isPlain(node) else { throw error(node, "\(key) is a list") }
    return Array(sequence)
  }

  package func scalar(_ node: Node, _ what: String) throws(PolicyFileError) -> String {
    guard case .scalar(let scalar) = node, isPlain(node) else { throw error(node, "\(what) is a single value") }
    return scalar.string
  }

  /// Whether a node has no tag but those that YAML itself resolves to, and no anchor.
  package func isPlain(_ node: Node) -> Bool {
    let tag = node.tag.rawValue
    let prefix = "tag:yaml.org,2002:"
    return node.anchor == nil && tag.hasPrefix(prefix) && Self.tags.contains(String(tag.dropFirst(prefix.count)))
  }

  package func error(_ node: Node, _ message: String) -> PolicyFileError {
    PolicyFileError(file: file, line: node.mark?.line ?? 1, column: node.mark?.column ?? 1, message: message)
  }

  /// Text of the file, quoted and on one line.
  package func shown(_ text: String) -> String { String(text.prefix(60)).debugDescription }
  package func list(_ words: [String]) -> String { words.joined(separator: ", ") }
}
