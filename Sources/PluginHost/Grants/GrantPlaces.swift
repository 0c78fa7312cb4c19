internal import HostProtocol
internal import LinuxSystem

/// Where in a runner's view the paths lie that a policy grants. Mostly under their own name. But what lies in a folder that
/// is shown as a whole is shown with its symbolic links, and nothing can be attached to one that leads to a folder: then the
/// place is where the link leads.
struct GrantPlaces {
  private var places: [String: String] = [:]
  private var covers: Set<String>
  private let link: (String) -> String?

  /// As many links as path_resolution(7) follows.
  private static let maxLinks = 40

  /// `link`: where a symbolic link leads; nil for anything else.
  init(_ paths: [String], runtime: [String], link: @escaping (String) -> String? = Files.link) {
    covers = Set(runtime)
    self.link = link
    // Outer ones first: what they show decides about those within.
    for path in paths.sorted(by: { $0.utf8.count < $1.utf8.count }) {
      let place = destination(of: path)
      places[path] = place
      covers.insert(place)
    }
  }

  func place(of path: String) -> String { places[path] ?? path }

  /// Where any path leads, granted or not. `followsLast`: whether through a link that is its last part, too.
  func destination(of path: String, followsLast: Bool = true) -> String {
    var rest = Self.components(path)[...]
    var place: [Substring] = []
    var links = 0
    while let next = rest.popFirst() {
      if next == ".." {
        _ = place.popLast()
        continue
      }
      place.append(next)
      let found = Self.joined(place)
      guard followsLast || !rest.isEmpty, isShown(found), let target = link(found) else { continue }
      links += 1
      // The kernel would say so, too, to whoever opens it.
      guard links <= Self.maxLinks else { return path }
      if target.hasPrefix("/") { place = [] } else { place.removeLast() }
      rest = Self.components(target) + rest
    }
    return Self.joined(place)
  }

  /// Whether the machine's own entry is what a runner sees under this name.
  private func isShown(_ path: String) -> Bool {
    if RunnerView.links.contains(path) { return true }
    var above = path[...]
    while let slash = above.lastIndex(of: "/"), slash > above.startIndex {
      above = above[..<slash]
      if covers.contains(String(above)) { return true }
    }
    return false
  }

  private static func components(_ path: String) -> [Substring] { path.split(separator: "/").filter { $0 != "." } }

  private static func joined(_ components: [Substring]) -> String { "/" + components.joined(separator: "/") }
}
