internal import StrictYAML
internal import Yams

/// What only scripts have among the nodes of YAML.
extension YAMLNodes {
  func texts(_ node: Node, _ what: String) throws(YAMLFileError) -> [String] {
    var result: [String] = []
    for item in try items(node, what) { result.append(try scalar(item, "an item of \(what)")) }
    return result
  }

  func share(_ node: Node, _ what: String) throws(YAMLFileError) -> Double {
    let text = try scalar(node, what)
    guard let value = Double(text), (0...1).contains(value) else {
      throw error(node, "\(what) is \(shown(text)); it is a number from 0 to 1")
    }
    return value
  }

  /// Bytes, or none.
  func size(_ node: Node, _ what: String) throws(YAMLFileError) -> Int {
    try scalar(node, what) == "0" ? 0 : bytes(node, what)
  }

  /// One of the words that an enumeration has.
  func choice<C: RawRepresentable & CaseIterable>(_ node: Node, _ what: String, _ type: C.Type) throws(YAMLFileError)
    -> C
  where C.RawValue == String {
    let text = try scalar(node, what)
    guard let value = C(rawValue: text) else {
      throw error(node, "\(what) is \(shown(text)); it is one of \(list(C.allCases.map(\.rawValue)))")
    }
    return value
  }

  func isMapping(_ node: Node) -> Bool {
    if case .mapping = node { true } else { false }
  }
}
