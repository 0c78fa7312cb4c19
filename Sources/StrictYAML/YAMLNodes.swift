internal import Basics
package import Yams

/// Nodes of a `YAMLDocument` by their kind. What isn't understood is refused with its place: a misspelt key of a policy would
/// be a wall that isn't there.
package struct YAMLNodes {
  let file: String

  private static let tags: Set = ["str", "int", "float", "bool", "null", "timestamp", "merge", "value", "seq", "map"]

  /// `file`: what messages call it.
  package init(file: String) { self.file = file }

  /// The pairs of a mapping with these keys alone.
  package func pairs(_ node: Node, _ what: String, known: [String]) throws(YAMLFileError) -> [(String, Node)] {
    let names = "the known keys are \(list(known))"
    return try pairs(node, what, naming: names) { key in
      known.contains(key) ? nil : "\(shown(key)) isn't a key of \(what); \(names)"
    }
  }

  /// The pairs of a mapping, each key once. `names`: what the keys are, for messages; `rejectionReason`: why one can't be.
  package func pairs(
    _ node: Node, _ what: String, naming names: String, rejectionReason: (String) -> String? = { _ in nil }
  ) throws(YAMLFileError) -> [(String, Node)] {
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

  package func items(_ node: Node, _ key: String) throws(YAMLFileError) -> [Node] {
    guard case .sequence(let sequence) = node, isPlain(node) else { throw error(node, "\(key) is a list") }
    return Array(sequence)
  }

  package func scalar(_ node: Node, _ what: String) throws(YAMLFileError) -> String {
    guard case .scalar(let scalar) = node, isPlain(node) else { throw error(node, "\(what) is a single value") }
    return scalar.string
  }

  /// A whole number in decimal digits, with a sign where the range has negative numbers.
  package func integer(_ node: Node, _ what: String, _ range: ClosedRange<Int>) throws(YAMLFileError) -> Int {
    let text = try scalar(node, what)
    let digits =
      range.lowerBound < 0 ? text.utf8.drop { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") } : text.utf8[...]
    // YAML reads 010 as eight and people as ten.
    let isPlain =
      digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      && (digits.count == 1 || digits.first != UInt8(ascii: "0"))
    guard isPlain, text.utf8.count - digits.count <= 1, let value = Int(text), range.contains(value) else {
      throw error(
        node, "\(what) is \(shown(text)); it is a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  /// At least one byte.
  package func bytes(_ node: Node, _ what: String) throws(YAMLFileError) -> Int {
    let text = try scalar(node, what)
    guard let value = Quantity.bytes(text) else {
      throw error(node, "\(what) is \(shown(text)); it is a size such as 512KiB, 8MiB or 1GiB")
    }
    return value
  }

  /// At least a nanosecond.
  package func duration(_ node: Node, _ what: String) throws(YAMLFileError) -> Duration {
    let text = try scalar(node, what)
    guard let value = Quantity.duration(text) else {
      throw error(node, "\(what) is \(shown(text)); it is a time such as 300ms, 1.5s or 2m")
    }
    return value
  }

  /// Whether a node has no tag but those that YAML itself resolves to, and no anchor.
  package func isPlain(_ node: Node) -> Bool {
    let tag = node.tag.rawValue
    let prefix = "tag:yaml.org,2002:"
    return node.anchor == nil && tag.hasPrefix(prefix) && Self.tags.contains(String(tag.dropFirst(prefix.count)))
  }

  package func error(_ node: Node, _ message: String) -> YAMLFileError {
    YAMLFileError(file: file, line: node.mark?.line ?? 1, column: node.mark?.column ?? 1, message: message)
  }

  /// Text of the file, quoted and on one line.
  package func shown(_ text: String) -> String { String(text.prefix(60)).debugDescription }
  package func list(_ words: [String]) -> String { words.joined(separator: ", ") }
}
