internal import HostProtocol
internal import LinuxSystem

/// Where in a runner's view the paths lie that a policy grants. Mostly under their own name. But what lies in a folder that
/// is shown as a whole is shown with its symbolic links, and nothing can be attached to one that leads to a folder: then the
/// place is where the link leads.
struct GrantPlaces {
  private var places: [String: String] = [:]
  private var covers: Set<String>
  /// Bytes of the longest of them: a plugin that names long paths has no more than that looked up for each.
  private var longestCover: Int
  private let link: (String) -> String?

  /// As many links as path_resolution(7) follows.
  private static let maxLinks = 40

  /// `link`: where a symbolic link leads; nil for anything else.
  init(_ paths: [String], runtime: [String], link: @escaping (String) -> String? = Files.link) {
    covers = Set(runtime)
    longestCover = covers.map(\.utf8.count).max() ?? 0
    self.link = link
    // Outer ones first: what they show decides about those within.
    for path in paths.sorted(by: { $0.utf8.count < $1.utf8.count }) {
      let place = destination(of: path)
      places[path] = place
      covers.insert(place)
      longestCover = max(longestCover, place.utf8.count)
    }
  }

  func place(of path: String) -> String { places[path] ?? path }

  /// Where any path leads, granted or not. `followsLast`: whether through a link that is its last part, too.
  func destination(of path: String, followsLast: Bool = true) -> String {
    var rest = Self.components(path)[...]
    var place: [Step] = []
    var links = 0
    while let next = rest.popFirst() {
      if next == ".." {
        _ = place.popLast()
        continue
      }
      place.append(step(next, after: place.last))
      guard followsLast || !rest.isEmpty, let found = place.last, found.isShown, let target = link(found.path) else {
        continue
      }
      links += 1
      // The kernel refuses to open it then, too (ELOOP).
      guard links <= Self.maxLinks else { return path }
      if target.hasPrefix("/") { place = [] } else { place.removeLast() }
      rest = Self.components(target) + rest
    }
    return place.last?.path ?? "/"
  }

  /// How far a path was followed.
  private struct Step {
    var path: String
    /// The machine's own entry is what a runner sees under this name.
    var isShown: Bool
    /// So is all that lies in it.
    var isCover: Bool
  }

  private func step(_ name: Substring, after above: Step?) -> Step {
    let path = (above?.path ?? "") + "/" + name
    let isWithin = above?.isCover ?? false
    let isCover = isWithin || path.utf8.count <= longestCover && covers.contains(path)
    return Step(path: path, isShown: isWithin || RunnerView.links.contains(path), isCover: isCover)
  }

  /// Divided at bytes, as the kernel does: a slash before a combining character is one, too.
  static func components(_ path: String) -> [Substring] {
    path.utf8.split(separator: UInt8(ascii: "/")).map(Substring.init).filter { $0 != "." }
  }
}
