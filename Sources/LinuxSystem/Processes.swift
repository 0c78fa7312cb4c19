internal import Basics

/// Processes of the machine, as proc(5) shows them to this user.
package enum Processes {
  /// Whether one of them executes a file below `folder`, an absolute path without links. Those of other users can't be
  /// looked at.
  package static func execute(below folder: String) -> Bool {
    let names = (try? Files.names(in: "/proc")) ?? []
    return names.contains { name in
      guard DecimalText.isDigits(name) else { return false }
      return Files.link("/proc/\(name)/exe")?.lies(below: folder) ?? false
    }
  }
}
