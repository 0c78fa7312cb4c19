internal import Glibc
internal import LinuxSystem

/// Tells a file that was replaced or removed while a plugin was loaded from a wall that this machine doesn't have.
enum ReplacedFile {
  /// `step`: the system call that failed and on what, which was trusted code's. nil where it was something else.
  static func outcome(step: String, code: Int32, places: ViewPlaces) -> Outcome? {
    let parts = step.split(separator: " ", maxSplits: 1).map(String.init)
    guard parts.count == 2 else { return nil }
    let path: String
    switch (parts[0], code) {
    // The name leads elsewhere than when the host opened it, or nowhere.
    case ("open_tree", ESTALE), ("open_tree", ENOENT), ("open_tree", ENOTDIR), ("open_tree", ELOOP): path = parts[1]
    // What was to cover its own name in the plugin's bundle doesn't find that name any more.
    case ("move_mount", ENOENT), ("move_mount", ENOTDIR):
      path = places.machinePath(of: parts[1])
      guard path != parts[1] else { return nil }
    default: return nil
    }
    return Outcome(.loadFailed, "\(path) was replaced while the plugin was loaded; load it again")
  }

  static func outcome(of error: SystemCallError, places: ViewPlaces) -> Outcome? {
    outcome(step: "\(error.call) \(error.subject)", code: error.code, places: places)
  }
}
