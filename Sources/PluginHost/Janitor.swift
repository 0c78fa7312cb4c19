internal import Glibc
internal import LinuxSystem

/// Removes what hosts that are gone left behind, and nothing else: names carry the process id and its start time.
enum Janitor {
  private static let parents = ["/tmp", "/var/tmp"]
  /// What a plugin writes there should lie on a disk: in memory nothing might count it.
  static let parent: String = {
    let writable = parents.filter { access($0, W_OK) == 0 }
    return writable.first { !Files.isMemory($0) } ?? writable.first ?? "/tmp"
  }()
  static let isInMemory = Files.isMemory(parent)
  static let prefix = "outrider-run-"

  /// `start`: of this process.
  static func makeFolder(start: UInt64) throws(SystemCallError) -> String {
    try Files.temporaryDirectory(in: parent, prefix: "\(prefix)\(getpid())-\(start)-")
  }

  static func removeFolders() {
    for parent in parents { removeFolders(in: parent) }
  }

  /// A name is easily made up: root removes what is its own or its runners', everybody else what is theirs.
  private static func isOurs(_ owner: UInt32) -> Bool {
    owner == geteuid() || geteuid() == 0 && ForkServerClient.isRunner(owner)
  }

  private static func removeFolders(in parent: String) {
    for name in (try? Files.names(in: parent)) ?? [] where name.hasPrefix(prefix) {
      let parts = name.dropFirst(prefix.count).split(separator: "-")
      guard parts.count == 3, let pid = pid_t(parts[0]), let start = UInt64(parts[1]) else { continue }
      guard ProcessStart.time(of: pid) != start, let identity = try? Files.identity(of: "\(parent)/\(name)"),
        identity.isDirectory, isOurs(identity.owner)
      else { continue }
      Files.removeTree("\(parent)/\(name)")
    }
  }
}
