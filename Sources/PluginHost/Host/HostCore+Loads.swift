internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// From a request for a plugin to its run.
extension HostCore {
  func begin(_ request: LoadRequest, _ completion: @escaping @Sendable (Result<Plugin, HostError>) -> Void) {
    let kind: ForkServerPool.Kind =
      request.isBare
      ? .bare(.init(preload: request.preload, sanitizer: Sanitizer.library(of: request.image)))
      : .walled(request.preload)
    pool.server(kind) { [self] in begin(request, $0, completion) }
  }

  /// With the server that is to make its runner, or why there is none.
  private func begin(
    _ request: LoadRequest, _ server: Result<ForkServerClient, HostError>,
    _ completion: @escaping @Sendable (Result<Plugin, HostError>) -> Void
  ) {
    let id = newRun()
    do throws(HostError) {
      guard !request.ticket.isCancelled else { throw .cancelled }
      let server = try server.get()
      try admit(request, server)
      if pool.settings.isCold, !request.isBare { pool.dedicate(server, to: id) }
      let plan = try plan(of: id, request, server)
      let walls = request.isBare ? plan.noWalls : plan.walls(cgroup: cgroups.state, proof: request.proof)
      try Self.require(request.policy, walls)
      let run = try spawner.spawn(id, plan, server, walls, request)
      start(run, request, completion)
    } catch {
      metrics.refusedLoad()
      forget(id) { completion(.failure(error)) }
    }
  }

  private func start(
    _ run: Run, _ request: LoadRequest, _ completion: @escaping @Sendable (Result<Plugin, HostError>) -> Void
  ) {
    run.owner = self
    if let services = request.options.services {
      run.relay = ServiceRelay(services, loop: loop) { [weak run] in run?.deliver($0) }
    }
    add(run)
    let (id, containers, lane, limits) = (run.id, run.plan.containers, run.lane, request.policy.limits)
    run.start { [self, unowned run] result in
      switch result {
      case .success(let image):
        metrics.loaded(run)
        completion(
          .success(
            Plugin(core: self, run: id, image: image, containers: containers, lane: lane, limits: limits)))
      case .failure(let error):
        forget(id) { completion(.failure(error)) }
      }
    }
  }

  private func plan(
    of run: UInt64, _ request: LoadRequest, _ server: ForkServerClient
  ) throws(HostError) -> SpawnPlan {
    var containers = request.containers
    let isOwn = containers.isEmpty
    if isOwn { containers = [.init(group: "", path: try makeFolder(of: run, server))] }
    return try planner(server).plan(
      for: request, in: containers, isContainerInMemory: isOwn && Janitor.isInMemory && !request.isBare)
  }

  /// For runs of that server.
  func planner(_ server: ForkServerClient) -> SpawnPlanner {
    SpawnPlanner(
      machine: server.machine, handsOverMounts: server.mounts != nil, hasCgroups: cgroups.isThere)
  }

  private static func require(_ policy: Policy, _ walls: [Wall: WallState]) throws(HostError) {
    for wall in policy.require.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard let state = walls[wall], state.state != .full else { continue }
      var report = RunReport.empty(
        Outcome(
          .wallUnavailable, "the policy requires \(wall.rawValue), which is \(state.state.rawValue): \(state.detail)"))
      report.walls = walls
      throw .ended(report)
    }
  }

  /// Before anything of a load is begun. Refusing one here costs no other load anything.
  private func admit(_ request: LoadRequest, _ server: ForkServerClient) throws(HostError) {
    guard geteuid() == user else {
      throw .failed(
        "user \(user) made this host, and its process runs as user \(geteuid()) now; plugins that are loaded go on, "
          + "and a new host loads others")
    }
    let budget = DescriptorBudget(
      loading: runs.loading,
      // More don't fit a request, which is said later and otherwise. An ordinary user's are the fork server's to clone.
      attachments: server.mounts == nil
        ? 0
        : min(
          request.policy.read.count + request.policy.write.count + request.image.neighbours.count + 4,
          Int(OL_MOST_DESCRIPTORS)))
    let free = OpenFiles.free(upTo: budget.needed)
    guard free < budget.needed else { return }
    throw .exhausted(DescriptorBudget.sentence(limit: OpenFiles.limit, needed: budget.needed - free))
  }
}

extension HostCore: RunOwner {
  func runBecameIdle(_ run: Run) { pool.spare(in: run.server.client)?.becameIdle() }

  func runEnded(_ run: Run) {
    metrics.ended(run)
    if let cgroup = run.meter.cgroup { cgroups.giveBack(cgroup) }
  }

  func isAlone(_ run: Run) -> Bool { runs.isAlone(run) }
}
