internal import Glibc
internal import LinuxSystem

/// Removes what hosts that are gone left behind, and nothing else: names carry the process id and its start time.
enum Janitor {
  static let parent = "/tmp"
  static let prefix = "outrider-run-"

  /// `start`: of this process.
  static func makeFolder(start: UInt64) throws(SystemCallError) -> String {
    try Files.temporaryDirectory(in: parent, prefix: "\(prefix)\(getpid())-\(start)-")
  }

  static func removeFolders() {
    for name in (try? Files.names(in: parent)) ?? [] where name.hasPrefix(prefix) {
      let parts = name.dropFirst(prefix.count).split(separator: "-")
      guard parts.count == 3, let pid = pid_t(parts[0]), let start = UInt64(parts[1]) else { continue }
      guard ProcessStart.time(of: pid) != start, let identity = try? Files.identity(of: "\(parent)/\(name)"),
        identity.isDirectory
      else { continue }
      Files.removeTree("\(parent)/\(name)")
    }
  }
}
