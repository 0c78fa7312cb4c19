internal import Basics
public import StrictYAML
internal import Yams

/// A policy as people write it, with those that it extends:
///
///     version: 2
///     extends: computation
///     files:
///       read: [/usr/share/games, {path: "/srv/*.db", missing: skip}]
///       write: [$CONTAINER, $TMP]
///     executableMemory: later
///     limits: {wall: 30s, memory: 8MiB, threads: 16}
///
/// Only `version` is required. What isn't understood is refused: a misspelt key would be a wall that isn't there.
public struct PolicyFile: Sendable {
  /// What it comes to, after all that it extends.
  public private(set) var policy: Policy
  /// What it says and probably doesn't mean, each with its place: above all where it allows more than what it extends.
  public private(set) var warnings: [YAMLFileError] = []
  /// What it extends, the nearest first.
  public private(set) var parents: [String] = []

  /// Where each path stands that it grants, and each of those that it extends; of a path that several have, the nearest.
  package private(set) var places: [String: Place] = [:]

  /// A place in a file; both numbers count from 1.
  package struct Place: Sendable, Equatable, CustomStringConvertible {
    package var file: String
    package var line: Int
    package var column: Int

    init(_ error: YAMLFileError) { (file, line, column) = (error.file, error.line, error.column) }

    package var description: String { "\(file):\(line):\(column)" }
  }

  /// A file that was named in `extends` can't be read.
  public struct Unreadable: Error, Sendable {
    /// Why not, as the end of a sentence.
    public let reason: String

    /// Creates the error.
    ///
    /// - Parameter reason: Why not, as the end of a sentence.
    public init(reason: String) { self.reason = reason }
  }

  /// Files one after the other that a policy may extend.
  package static let maxParents = 8

  /// Reads a policy of version 1 or 2.
  ///
  /// - Parameters:
  ///   - text: The file's content: YAML.
  ///   - file: Its name, for errors, and for what it extends: relative names begin in its folder.
  ///   - content: Reads a file that is extended.
  /// - Throws: `YAMLFileError` with the place of the first mistake.
  public init(
    parsing text: String, file: String, reading content: @escaping (String) throws(Unreadable) -> String
  ) throws(YAMLFileError) {
    try self.init(text, file, Chain(content: content))
  }

  /// How one came here.
  private struct Chain {
    let content: (String) throws(Unreadable) -> String
    var names: [String] = []
  }

  private init(_ text: String, _ file: String, _ chain: Chain) throws(YAMLFileError) {
    let nodes = YAMLNodes(file: file)
    // The nodes are weak: the document has to outlive its reading.
    let document = try YAMLDocument(text, file: file, noun: "a policy")
    guard try Self.version(document.root, nodes) == 2 else {
      var reader = FirstPolicyReader(nodes: nodes)
      policy = try reader.policy(document.root)
      places = reader.places
      return
    }
    let names = "the known keys are \(nodes.list(SecondPolicyReader.keys))"
    let pairs = try nodes.pairs(document.root, "a policy", naming: names) { key in
      SecondPolicyReader.keys.contains(key)
        ? nil : "\(nodes.shown(key)) isn't a key of a policy; \(SecondPolicyReader.hint(for: key) ?? names)"
    }
    var parent: PolicyFile?
    for (key, value) in pairs where key == "extends" {
      parent = try Self.parent(named: try nodes.scalar(value, key), value, nodes, file, chain)
    }
    var reader = SecondPolicyReader(nodes: nodes, parent: parent?.policy, parentName: parent?.parents.first ?? "")
    try reader.read(pairs, document.root)
    policy = reader.policy
    warnings = (parent?.warnings ?? []) + reader.warnings
    places = (parent?.places ?? [:]).merging(reader.places) { $1 }
    parents = parent?.parents ?? []
  }

  private static func version(_ root: Node, _ nodes: YAMLNodes) throws(YAMLFileError) -> Int {
    // What isn't a map is refused where its keys are read.
    guard case .mapping(let mapping) = root, nodes.isPlain(root) else { return 1 }
    for (key, value) in mapping where key.scalar?.string == "version" {
      let text = try nodes.scalar(value, "version")
      guard let version = ["1": 1, "2": 2][text] else {
        throw nodes.error(value, "version is \(nodes.shown(text)); this host reads version 1 and version 2")
      }
      return version
    }
    throw nodes.error(
      root, "a policy needs 'version: 2', or 'version: 1'; the known keys are \(nodes.list(SecondPolicyReader.keys))")
  }

  private static func parent(
    named name: String, _ node: Node, _ nodes: YAMLNodes, _ file: String, _ chain: Chain
  ) throws(YAMLFileError) -> PolicyFile {
    var chain = chain
    if let shipped = ShippedPolicy(rawValue: name) {
      var parent = try PolicyFile(shipped.text, name, Chain(content: chain.content))
      parent.parents.insert(name, at: 0)
      // What they allow beyond each other is meant.
      parent.warnings = []
      return parent
    }
    guard name.hasSlash || name.contains("."), !name.utf8.contains(0), name.utf8.count < 4096 else {
      throw nodes.error(
        node,
        "extends: \(nodes.shown(name)) is neither a shipped policy (\(nodes.list(ShippedPolicy.allCases.map(\.rawValue)))) nor a file such as ./base.yaml"
      )
    }
    let path = resolved(name, beside: file)
    guard path != simplified(file), !chain.names.contains(path) else {
      throw nodes.error(node, "extends: \(nodes.shown(name)) is extended by itself")
    }
    guard chain.names.count < maxParents else {
      throw nodes.error(node, "extends: more than \(maxParents) files, one after the other")
    }
    chain.names += [simplified(file)]
    let text: String
    do {
      text = try chain.content(path)
    } catch {
      throw nodes.error(node, "extends: \(nodes.shown(name)) can't be read: \(error.reason)")
    }
    var parent = try PolicyFile(text, path, chain)
    parent.parents.insert(path, at: 0)
    return parent
  }

  private static func resolved(_ name: String, beside file: String) -> String {
    if name.isAbsolutePath { return simplified(name) }
    let folder = file.parentFolder.map { $0 + "/" } ?? ""
    return simplified(folder + name)
  }

  /// Without `.` and empty names; `..` stays where it is, since what is before it may be a link.
  private static func simplified(_ path: String) -> String {
    (path.isAbsolutePath ? "/" : "") + path.pathNames.joined(separator: "/")
  }
}

extension Policy {
  /// Reads a policy that extends no file of the user's, but at most a shipped one.
  ///
  /// - Parameters:
  ///   - text: The file's content: YAML.
  ///   - file: Its name, for errors.
  /// - Throws: `YAMLFileError` with the place of the first mistake.
  public init(parsing text: String, file: String) throws(YAMLFileError) {
    self = try PolicyFile(parsing: text, file: file) { (_) throws(PolicyFile.Unreadable) in
      throw PolicyFile.Unreadable(
        reason: "this policy is read from its text alone, and can't extend a file; extend a shipped policy")
    }.policy
  }
}
