internal import Basics
internal import HostProtocol
internal import LinuxSystem

/// Where in a runner's view the paths lie that a policy grants. Mostly under their own name. But what lies in a folder that
/// is shown as a whole is shown with its symbolic links, and nothing can be attached to one that leads to a folder: then the
/// place is where the link leads.
struct GrantPlaces {
  private var places: [ExactText: String] = [:]
  private var covers: Set<ExactText> = []
  /// Bytes of the longest of them: a plugin that names long paths has no more than that looked up for each.
  private var longestCover = 0
  /// Whether each lies where all the others leave it. Not where links change meanwhile, so that two places come and go with
  /// each other.
  private(set) var isResolved = true
  private let link: (String) -> String?

  /// As many links as path_resolution(7) follows.
  private static let maxLinks = 40

  /// `link`: where a symbolic link leads; nil for anything else.
  init(_ paths: [String], runtime: [String], link: @escaping (String) -> String? = Files.link) {
    self.link = link
    cover(runtime)
    // Outer ones first: what they show decides about those within.
    for path in paths.sorted(by: { $0.utf8.count < $1.utf8.count }) {
      let place = destination(of: path)
      places[ExactText(path)] = place
      cover([place])
    }
    // By a link an inner one may lead to a folder around an outer one, and show links on the way to that.
    for _ in 0..<Self.maxLinks {
      let found = places.keys.reduce(into: [:]) { $0[$1] = destination(of: $1.text) }
      if found == places { return }
      places = found
      covers = []
      cover(runtime + places.values)
    }
    isResolved = paths.isEmpty
  }

  private mutating func cover(_ places: [String]) {
    covers.formUnion(places.map(ExactText.init))
    longestCover = places.map(\.utf8.count).max().map { max($0, longestCover) } ?? longestCover
  }

  func place(of path: String) -> String { places[ExactText(path)] ?? path }

  /// Where any path leads, granted or not. `followsLast`: whether through a link that is its last part, too.
  func destination(of path: String, followsLast: Bool = true) -> String {
    destination(of: path, names: path.pathNames, followsLast: followsLast)
  }

  /// `names`: of the path.
  func destination(of path: String, names: [String], followsLast: Bool) -> String {
    var rest = names[...]
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
      if target.isAbsolutePath { place = [] } else { place.removeLast() }
      rest = target.pathNames + rest
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

  private func step(_ name: String, after above: Step?) -> Step {
    let path = (above?.path ?? "") + "/" + name
    let isWithin = above?.isCover ?? false
    let isCover = isWithin || path.utf8.count <= longestCover && covers.contains(ExactText(path))
    return Step(path: path, isShown: isWithin || RunnerView.links.contains(path), isCover: isCover)
  }
}
