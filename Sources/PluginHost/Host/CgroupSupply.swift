internal import LinuxSystem
internal import Sandbox

/// The memory cgroups of a host, where this user can have any. Loop thread only.
final class CgroupSupply {
  private var cgroups: Cgroups?
  /// Why there are none.
  private var reason = ""

  /// On the loop: which cgroups there are is read.
  func open() { cgroups = Cgroups(reason: &reason) }

  /// The directory of this host's cgroups goes.
  func close() { cgroups = nil }

  var isThere: Bool { cgroups != nil }

  /// How many were made; they are used again.
  var count: Int { cgroups?.serial ?? 0 }

  var state: WallState {
    guard let cgroups else {
      return WallState(
        .absent,
        "\(reason); memory is sampled every millisecond instead: a burst shows beyond the limit, and kernel memory doesn't count"
      )
    }
    return WallState(.full, "memory controller, version \(cgroups.version == .one ? 1 : 2)")
  }

  /// nil where there are none.
  func take() throws(SystemCallError) -> RunCgroup? { try cgroups?.take() }

  func giveBack(_ cgroup: RunCgroup) { cgroups?.giveBack(cgroup) }
}
