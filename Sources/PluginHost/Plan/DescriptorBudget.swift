internal import CLinux
internal import Glibc
internal import LinuxSystem
internal import Sandbox

/// How many descriptors a load takes, so that it is refused before it begins rather than in the middle: a runner whose
/// descriptors the kernel leaves out can't be watched.
struct DescriptorBudget: Equatable {
  /// What a run has in the host from its beginning to its end: two channels and the output, the memory for calls, its pidfd, its meters, the
  /// listener, its namespace, and the lock of its folder.
  static let perRun = 11
  /// Those of them that come later, from the runner.
  static let late = 6
  /// For everything else that goes on meanwhile: looking at /proc and cgroups, hashing, walking a path.
  static let reserve = 16
  /// What a host has of its own: its loop's three, its server's socket, its cgroups' lock; and libdispatch's.
  static let perHost = 12

  /// What a load opens for a moment: the runner's ends, its cgroup, a pipe's both ends, the memory for calls, and a mount for each thing that the
  /// runner sees.
  private static func passing(attachments: Int) -> Int { 7 + attachments }

  /// Beside those that are open already, for one run of a host that has yet to start.
  static let toStart = perHost + perRun + passing(attachments: 8) + reserve

  /// Runs whose descriptors haven't all arrived.
  var loading: Int
  /// Mounts that the host makes for this one, at most.
  var attachments: Int

  /// Descriptors that must be free for one more run.
  var needed: Int { Self.perRun + loading * Self.late + Self.passing(attachments: attachments) + Self.reserve }

  /// How many runs may begin at once where so many descriptors are free; at least one.
  static func runsAtOnce(free: Int, wanted: Int) -> Int {
    let each = perRun + passing(attachments: 8)
    return min(max((free - perHost - reserve) / each, 1), wanted)
  }

  /// The most that `runsAtOnce` asks about.
  static func enough(for runs: Int) -> Int { perHost + reserve + runs * (perRun + passing(attachments: 8)) }

  /// `limit`: of this process. `free`: nil where the kernel left some out.
  static func sentence(limit: Int, needed: Int?) -> String {
    let need = needed.map { "another plugin needs \($0) more than are left" } ?? "a plugin's handles found no room"
    return
      "too many open files: this process may have \(limit) at once (RLIMIT_NOFILE), and \(need); end other plugins, or raise the limit (ulimit -n)"
  }
}
