internal import Basics
internal import StrictYAML
internal import Yams

/// What policies of both versions have in common.
extension YAMLNodes {
  /// Throws for what can't be a granted path, whatever it leads to.
  func checked(path: String, _ item: Node, _ key: String) throws(YAMLFileError) -> String {
    guard path.utf8.first == UInt8(ascii: "/") else {
      throw error(item, "\(key) holds absolute paths; \(shown(path)) doesn't start with '/'")
    }
    guard !path.utf8.contains(0) else { throw error(item, "\(key): a path can't contain a NUL byte") }
    // The kernel would follow `..` after links, a reader of the policy before them.
    guard !path.pathNames.contains("..") else {
      throw error(item, "\(key): \(shown(path)) contains '..'; write the path that it leads to")
    }
    guard path.utf8.count < 4096 else { throw error(item, "\(key): a path has at most 4095 bytes") }
    // One name for each: what lies in another is found by that.
    return "/" + path.pathNames.joined(separator: "/")
  }

  func walls(_ node: Node) throws(YAMLFileError) -> Set<Wall> {
    var walls: Set<Wall> = []
    for item in try items(node, "require") {
      let name = try scalar(item, "a wall in require")
      guard let wall = Wall(rawValue: name) else {
        throw error(
          item, "\(shown(name)) isn't a wall; the walls are \(list(Wall.allCases.map(\.rawValue)))")
      }
      guard walls.insert(wall).inserted else { throw error(item, "require: \(name) is listed twice") }
    }
    return walls
  }
}
