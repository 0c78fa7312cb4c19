internal import Basics
internal import CLinux
internal import Glibc

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

  /// Whether it has ended, waiting for that so many seconds at most. One that its parent hasn't waited for has ended, too.
  package static func hasEnded(_ process: Int32, within seconds: Int32) -> Bool {
    var handle: Int32 = -1
    let code = ol_pidfd_open(process, &handle)
    guard code == 0 else { return code == ESRCH }
    defer { close(handle) }
    return ol_poll_readable(handle, seconds * 1000) != 0
  }
}
