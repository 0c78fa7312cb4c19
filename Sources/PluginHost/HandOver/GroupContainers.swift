internal import Basics
internal import HostProtocol
internal import LinuxSystem

/// The containers of one run: which app group has which folder, and where the plugin sees it. The one place where paths
/// cross the border, both ways. Pure.
struct GroupContainers: Sendable, Equatable {
  struct Place: Sendable, Equatable {
    /// "" stands for every group.
    var group: String
    /// On the machine.
    var path: String
    /// In the plugin's view.
    var view: String
    /// Of a folder that the caller named; nil for one that the host made.
    var identity: FileIdentity?
  }

  /// Each is a mount of its own.
  static let maxCount = 32

  /// At least one. The first is the plugin's home.
  let places: [Place]

  /// `hidesFiles`: the plugin has its own view; otherwise it sees the machine's paths.
  init(_ folders: [(group: String, path: String, identity: FileIdentity?)], hidesFiles: Bool) {
    places = folders.enumerated().map { index, folder in
      Place(
        group: folder.group, path: folder.path, view: hidesFiles ? Self.view(index) : folder.path,
        identity: folder.identity)
    }
  }

  private static func view(_ index: Int) -> String {
    index == 0 ? RunnerView.container : "\(RunnerView.containers)/\(index)"
  }

  /// The groups of which the extension is a member; nil: of every one.
  var groups: Set<String>? {
    let groups = Set(places.map(\.group))
    return groups.contains("") ? nil : groups
  }

  /// Where the files of a group go; nil for a foreign group.
  func place(of group: String) -> Place? { places.first { $0.group == group || $0.group.isEmpty } }

  /// What the plugin calls a path of the machine; nil for one that is in no container.
  func view(of path: String) -> String? { Self.translate(path, places.map { ($0.path, $0.view) }) }

  /// What a path of the plugin's is on the machine; nil for one that is in no container. By its names alone: what the plugin
  /// has made of them, only an open file tells.
  func path(ofView view: String) -> String? { Self.translate(view, places.map { ($0.view, $0.path) }) }

  /// By the innermost folder, since one container may lie in another.
  private static func translate(_ path: String, _ folders: [(from: String, to: String)]) -> String? {
    guard path.isAbsolutePath, !path.utf8.contains(0) else { return nil }
    let parts = path.pathNames
    guard !parts.contains("..") else { return nil }
    let plain = "/" + parts.joined(separator: "/")
    let match = folders.filter { plain.lies(in: $0.from) }.max {
      $0.from.utf8.count < $1.from.utf8.count
    }
    return match.map { $0.to + plain.rest(after: $0.from) }
  }

  /// What is wrong with the groups that a caller names; nil if nothing is.
  static func rejectionReason(for groups: [String]) -> String? {
    if groups.count > maxCount { return "\(groups.count) containers; at most \(maxCount) are possible" }
    var seen: Set<String> = []
    for group in groups where !seen.insert(group).inserted {
      return "the app group '\(group)' has two containers; each has one"
    }
    if seen.count > 1, seen.contains("") { return "one container is for every app group, and another for one of them" }
    return nil
  }
}
