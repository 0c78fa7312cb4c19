internal import Sandbox
internal import Yams

/// Nodes of a script by their kind. Whatever isn't understood is refused with its place.
struct ScriptNodes {
  let file: String

  private static let tags: Set = ["str", "int", "float", "bool", "null", "timestamp", "value", "seq", "map"]

  /// The pairs of a mapping; `known` is nil where any key will do.
  func pairs(_ node: Node, _ what: String, known: [String]?) throws(FaultScriptError) -> [(String, Node)] {
    let names = known.map { "; the known keys are \($0.joined(separator: ", "))" } ?? ""
    guard case .mapping(let mapping) = node, isPlain(node) else { throw error(node, "\(what) is a map\(names)") }
    var pairs: [(String, Node)] = []
    var seen: Set<String> = []
    for (key, value) in mapping {
      let name = try text(key, "a key of \(what)")
      if let known, !known.contains(name) { throw error(key, "\(Self.shown(name)) isn't a key of \(what)\(names)") }
      // Yams tells keys apart that differ in their tag alone.
      guard seen.insert(name).inserted else { throw error(key, "the key \(Self.shown(name)) is there twice") }
      pairs.append((name, value))
    }
    return pairs
  }

  func items(_ node: Node, _ what: String) throws(FaultScriptError) -> [Node] {
    guard case .sequence(let sequence) = node, isPlain(node) else { throw error(node, "\(what) is a list") }
    return Array(sequence)
  }

  func texts(_ node: Node, _ what: String) throws(FaultScriptError) -> [String] {
    var result: [String] = []
    for item in try items(node, what) { result.append(try text(item, "an item of \(what)")) }
    return result
  }

  func text(_ node: Node, _ what: String) throws(FaultScriptError) -> String {
    guard case .scalar(let scalar) = node, isPlain(node) else { throw error(node, "\(what) is a single value") }
    return scalar.string
  }

  func integer(_ node: Node, _ what: String, _ range: ClosedRange<Int>) throws(FaultScriptError) -> Int {
    let text = try text(node, what)
    let digits = text.utf8.drop { $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "+") }
    // YAML reads 010 as eight and people as ten.
    let isPlain = digits.count == 1 || digits.first != 0x30
    guard isPlain, text.utf8.count - digits.count <= 1, let value = Int(text), range.contains(value) else {
      throw error(
        node, "\(what) is \(Self.shown(text)); it is a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  func share(_ node: Node, _ what: String) throws(FaultScriptError) -> Double {
    let text = try text(node, what)
    guard let value = Double(text), (0...1).contains(value) else {
      throw error(node, "\(what) is \(Self.shown(text)); it is a number from 0 to 1")
    }
    return value
  }

  func bytes(_ node: Node, _ what: String) throws(FaultScriptError) -> Int {
    let text = try text(node, what)
    if text == "0" { return 0 }
    guard let value = Quantity.bytes(text) else {
      throw error(node, "\(what) is \(Self.shown(text)); it is a size such as 512KiB, 8MiB or 1GiB")
    }
    return value
  }

  func duration(_ node: Node, _ what: String) throws(FaultScriptError) -> Duration {
    let text = try text(node, what)
    guard let value = Quantity.duration(text) else {
      throw error(node, "\(what) is \(Self.shown(text)); it is a time such as 300ms, 1.5s or 2m")
    }
    return value
  }

  /// One of the words that an enumeration has.
  func choice<C: RawRepresentable & CaseIterable>(_ node: Node, _ what: String, _ type: C.Type) throws(FaultScriptError)
    -> C
  where C.RawValue == String {
    let text = try text(node, what)
    guard let value = C(rawValue: text) else {
      let words = C.allCases.map(\.rawValue).joined(separator: ", ")
      throw error(node, "\(what) is \(Self.shown(text)); it is one of \(words)")
    }
    return value
  }

  func isMapping(_ node: Node) -> Bool {
    if case .mapping = node { true } else { false }
  }

  func error(_ node: Node, _ message: String) -> FaultScriptError {
    FaultScriptError(file: file, line: node.mark?.line ?? 1, column: node.mark?.column ?? 1, message: message)
  }

  /// Text of the file, quoted and on one line.
  static func shown(_ text: String) -> String { String(text.prefix(60)).debugDescription }

  private func isPlain(_ node: Node) -> Bool {
    let prefix = "tag:yaml.org,2002:"
    let tag = node.tag.rawValue
    return node.anchor == nil && tag.hasPrefix(prefix) && Self.tags.contains(String(tag.dropFirst(prefix.count)))
  }
}
