internal import Basics
internal import StrictYAML
internal import Yams

/// Reads `files` of a policy of version 2.
struct FileGrantReader {
  static let keys = PatternGrant.Access.allCases.map(\.rawValue) + ["missing"]
  static let variables = ["$BUNDLE", "$CONTAINER", "$MANIFEST", "$RUNTIME", "$TMP"]
  /// All paths of a policy with those of its parents.
  static let maxPaths = 1024

  let nodes: YAMLNodes
  private(set) var policy: Policy
  let parent: Policy?
  /// What is more than the parent allows.
  private(set) var widenings: [(Node, String)] = []
  /// What holds without being said, or is probably not meant.
  private(set) var needless: [(Node, String)] = []
  private(set) var places: [String: PolicyFile.Place] = [:]
  /// Whether paths that aren't there are left out, where nothing is said of one.
  private var skipsMissing = false
  private var seen: [ExactText: PatternGrant.Access] = [:]

  init(nodes: YAMLNodes, policy: Policy, parent: Policy?) {
    (self.nodes, self.policy, self.parent) = (nodes, policy, parent)
  }

  mutating func read(_ node: Node) throws(YAMLFileError) {
    let pairs = try nodes.pairs(node, "files", known: Self.keys)
    for (key, value) in pairs where key == "missing" { skipsMissing = try skips(value, "files.missing") }
    for (key, value) in pairs {
      guard let access = PatternGrant.Access(rawValue: key) else { continue }
      // Without a parent the list is all that may be written.
      if access == .write, parent == nil { (policy.writesContainer, policy.writesTemporary) = (false, false) }
      for item in try nodes.items(value, "files.\(key)") {
        try read(item, access)
        try checkCount(item)
      }
      // An empty list is meant.
      if access == .write, parent == nil, !policy.writesContainer, !policy.write.isEmpty || policy.writesTemporary {
        needless.append((value, "$CONTAINER isn't under write: the plugin can only read its container"))
      }
    }
  }

  /// After each: a million paths would each be compared with those before.
  private func checkCount(_ item: Node) throws(YAMLFileError) {
    let count =
      policy.read.count + policy.write.count + policy.libraries.count + policy.list.count + policy.patterns.count
    guard count <= Self.maxPaths else {
      throw nodes.error(
        item,
        "files has more than \(Self.maxPaths) paths, with those that it extends; name the folders that they lie in")
    }
  }

  private mutating func read(_ item: Node, _ access: PatternGrant.Access) throws(YAMLFileError) {
    let key = "files.\(access.rawValue)"
    var (text, isOptional) = ("", skipsMissing)
    if case .mapping = item {
      for (name, value) in try nodes.pairs(item, "an entry of \(key)", known: ["path", "missing"]) {
        if name == "path" { text = try nodes.scalar(value, "path") } else { isOptional = try skips(value, "missing") }
      }
      guard !text.isEmpty else { throw nodes.error(item, "an entry of \(key) needs 'path'") }
    } else {
      text = try nodes.scalar(item, "a path in \(key)")
    }
    if text.hasPrefix("$") { return try readOwn(text, item, access) }
    text = try nodes.checked(path: text, item, key)
    if let other = seen[ExactText(text)] {
      throw nodes.error(
        item,
        other == access
          ? "\(key): \(nodes.shown(text)) is listed twice"
          : "\(nodes.shown(text)) is under \(other.rawValue) and under \(access.rawValue); one of them is meant")
    }
    seen[ExactText(text)] = access
    places[text] = PolicyFile.Place(nodes.error(item, ""))
    try grant(text, isOptional, item, access)
  }

  private mutating func grant(
    _ text: String, _ isOptional: Bool, _ item: Node, _ access: PatternGrant.Access
  ) throws(YAMLFileError) {
    if parent != nil, !isCovered(text, access) {
      widenings.append((item, "\(access.rawValue) of \(nodes.shown(text))"))
    }
    guard !PathPattern.isPattern(text) else {
      do throws(PathPattern.Invalid) {
        let grant = PatternGrant(access, try PathPattern(text), isOptional: isOptional)
        policy.patterns.removeAll { $0.access == grant.access && $0.pattern == grant.pattern }
        policy.patterns.append(grant)
      } catch {
        throw nodes.error(item, "files.\(access.rawValue): \(error.message)")
      }
      return
    }
    switch access {
    case .read: Self.add(text, to: &policy.read)
    case .write: Self.add(text, to: &policy.write)
    case .execute: Self.add(text, to: &policy.libraries)
    case .list: Self.add(text, to: &policy.list)
    }
    if isOptional { policy.optional.insert(text) } else { policy.optional.remove(text) }
  }

  private static func add(_ path: String, to list: inout [String]) {
    if !list.containsExactly(path) { list.append(path) }
  }

  /// What a plugin has of its own.
  private mutating func readOwn(
    _ text: String, _ item: Node, _ access: PatternGrant.Access
  ) throws(YAMLFileError) {
    let name = String(text.prefix { $0 != "/" })
    guard Self.variables.contains(name) else {
      throw nodes.error(
        item, "\(nodes.shown(name)) isn't a variable of policies; they are \(nodes.list(Self.variables))")
    }
    guard name == text else {
      throw nodes.error(item, "\(name) stands alone: what holds for it holds for all that lies in it")
    }
    let allowed: Bool
    switch (access, name) {
    case (.write, "$CONTAINER"):
      if parent != nil, !policy.writesContainer { widenings.append((item, "write of $CONTAINER")) }
      policy.writesContainer = true
      allowed = true
    case (.write, "$TMP"):
      if parent != nil, !policy.writesTemporary { widenings.append((item, "write of $TMP")) }
      policy.writesTemporary = true
      allowed = true
    case (.read, _), (.execute, "$BUNDLE"), (.execute, "$RUNTIME"): allowed = true
    default: allowed = false
    }
    guard allowed else {
      throw nodes.error(
        item,
        access == .list
          ? "files.list: \(name) can be read anyway"
          : "files.\(access.rawValue): \(name) can't be granted; \(access == .write ? "$CONTAINER and $TMP can" : "$BUNDLE and $RUNTIME can")"
      )
    }
  }

  /// Whether the parent grants it already, as far as texts tell.
  private func isCovered(_ text: String, _ access: PatternGrant.Access) -> Bool {
    guard let parent else { return true }
    let lists =
      switch access {
      case .read: parent.read + parent.write + parent.libraries
      case .write: parent.write
      case .execute: parent.libraries
      case .list: parent.list + parent.read + parent.write + parent.libraries
      }
    return lists.contains { text.lies(in: $0) }
      || parent.patterns.contains { grant in
        let isEnough = grant.access == access || access == .read && grant.access != .list || access == .list
        return isEnough
          && (grant.pattern.text.isExactly(text) || !PathPattern.isPattern(text) && grant.pattern.covers(text))
      }
  }

  private func skips(_ node: Node, _ what: String) throws(YAMLFileError) -> Bool {
    switch try nodes.scalar(node, what) {
    case "skip": return true
    case "error": return false
    case let text: throw nodes.error(node, "\(what) is \(nodes.shown(text)); it is skip or error")
    }
  }
}
