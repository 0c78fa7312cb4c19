internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// What of a run's walls is in force, as its report says.
extension SpawnPlan {
  /// What is in force, wall by wall.
  func walls(cgroup: WallState, proof: [Canary.Finding]) -> [Wall: WallState] {
    func namespace(_ name: String, _ full: String) -> WallState {
      guard let failure = machine.failure(name) else { return WallState(.full, full) }
      return WallState(.absent, "\(failure.step): \(SystemCallError.message(failure.code))")
    }
    let rights = machine.landlockABI
    let states: [Wall: WallState] = [
      .userNamespace: namespace("user", "one unprivileged id, no capabilities"),
      .mountNamespace: namespace("mount", "an empty root with the run's own files and the runtime, read-only"),
      .pidNamespace: namespace(
        "pid",
        mayStartProcesses
          ? "the run's own: the runner is its first process, and its end is that of all"
          : "the runner is its only process"),
      .networkNamespace: namespace(
        "network",
        network == nil
          ? "no interface but a loopback that is down"
          : "the run's own: a loopback on which the host answers for what the policy lists"),
      .ipcNamespace: namespace("ipc", "shared among runners; no call that reaches it is allowed"),
      .utsNamespace: namespace("uts", "shared among runners"),
      .landlock: rights == 0
        ? WallState(.absent, "the kernel has no Landlock")
        : WallState(
          rights >= LandlockRights.firstWithScopes ? .full : .partial,
          "ABI \(rights)"
            + (rights >= LandlockRights.firstWithScopes ? "" : ": no scopes for signals and abstract sockets")),
      .seccomp: WallState(
        machine.hasListener ? .full : .partial,
        machine.hasListener
          ? "allow-list, denied calls are seen" : "allow-list; denied calls can't be seen on this kernel"),
      .rlimits: WallState(
        .full, "open files, file size, timers and signals, memory locks, core, CPU backstop, data at 4 GiB"),
      .cgroup: cgroup,
      .environment: WallState(.full, environment.map { $0.prefix { $0 != "=" } }.joined(separator: " ")),
      .descriptors: WallState(.full, "two channels, the output pipe and /dev/null"),
      .watchdog: WallState(.full, "wall and CPU time on a thread of its own, memory where no cgroup counts it"),
    ]
    return states.merging(disproved(by: proof, states)) { $1 }.merging(
      options.open.map { ($0, WallState(.absent, "left open on purpose")) }
    ) { $1 }
  }

  /// Of a run that was asked to have none.
  var noWalls: [Wall: WallState] {
    var states = Dictionary(
      uniqueKeysWithValues: Wall.allCases.map {
        ($0, WallState(.absent, "left out: the run was asked to have no sandbox"))
      })
    states[.watchdog] = WallState(.full, "wall and CPU time on a thread of its own, and samples of the memory")
    return states
  }

  /// The walls whose limit the canary exceeded without being stopped, or couldn't try: a policy that requires those fails.
  private func disproved(by proof: [Canary.Finding], _ states: [Wall: WallState]) -> [(Wall, WallState)] {
    // The last of several for one wall counts: what was seen rather than what wasn't.
    (proof.filter { !$0.wasTried } + proof.filter(\.wasTried)).compactMap { finding in
      guard !finding.isInForce, let wall = finding.wall else { return nil }
      let bearer = wall == .cgroup && states[.cgroup]?.state != .full ? .watchdog : wall
      guard states[bearer]?.state != .absent else { return nil }
      guard finding.wasTried else { return (bearer, WallState(.partial, "\(finding.limit): \(finding.detail)")) }
      return (bearer, WallState(.absent, "\(finding.limit) isn't in force: \(finding.detail)"))
    }
  }
}
