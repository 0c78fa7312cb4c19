internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Logging
internal import Sandbox
internal import Synchronization

/// Fork servers, and what the machine was found to have.
extension HostCore {
  var cgroupState: WallState {
    guard let cgroups else {
      return WallState(
        .absent,
        "\(cgroupReason); memory is sampled every millisecond instead: a burst shows beyond the limit, and kernel memory doesn't count"
      )
    }
    return WallState(.full, "memory controller, version \(cgroups.version == .one ? 1 : 2)")
  }

  func plan(_ image: PluginImage, _ policy: Policy, container: String, manifest: PluginImage.File?) -> SpawnPlan {
    var plan = SpawnPlan(
      image: image, policy: policy, container: container, manifest: manifest,
      machine: machine
        ?? Machine(landlockABI: 0, hasListener: false, hello: .init(missing: [], runtime: [], hasPreloaded: false)))
    plan.isContainerInMemory = Janitor.isInMemory && folders.values.contains(container)
    return plan
  }

  func forkServer() throws(HostError) -> ForkServerClient {
    guard isWanted else { throw .failed("the host was shut down") }
    if let server, server.isAlive { return server }
    let fresh = try startServer(preload: isCold ? nil : preload)
    server = fresh
    return fresh
  }

  /// A server without a wall, only for the baseline of a benchmark.
  func bareForkServer() throws(HostError) -> ForkServerClient {
    if let bareServer { return bareServer }
    let fresh = try ForkServerClient(
      runner: runner, preload: preload, isBare: true, patience: Self.patience, isWanted: { isWanted })
    do throws(SystemCallError) {
      try fresh.attach(to: loop, handlers(of: fresh))
    } catch {
      throw .failed(error.description)
    }
    bareServer = fresh
    return fresh
  }

  private static let patience = Duration.seconds(20)

  /// Whoever shuts the host down doesn't wait for a server that is just starting.
  private var isWanted: Bool { isRunning.load(ordering: .relaxed) }

  func startServer(preload: String?) throws(HostError) -> ForkServerClient {
    let fresh = try ForkServerClient(
      runner: runner, preload: preload, without: withoutNamespaces, patience: Self.patience, isWanted: { isWanted })
    do throws(SystemCallError) {
      try fresh.attach(to: loop, handlers(of: fresh))
    } catch {
      throw .failed(error.description)
    }
    var abi: Int32 = 0
    _ = ol_landlock_abi(&abi)
    machine = Machine(landlockABI: Int(abi), hasListener: ol_seccomp_probe() == 0, hello: fresh.hello)
    mounts = fresh.hasOwnIdentity ? DetachedMounts(runner: runner, uid: fresh.uid, gid: fresh.gid) : nil
    return fresh
  }

  private func handlers(of client: ForkServerClient) -> ForkServerClient.Handlers {
    ForkServerClient.Handlers(
      spawned: { [unowned self] run, pidfd, cpu in
        if let found = runs[run] { found.spawned(pidfd: pidfd, cpuBefore: cpu) } else { close(pidfd) }
      },
      spawnFailed: { [unowned self] run, reason in runs[run]?.spawnFailed(reason) },
      exited: { [unowned self] exit in runs[exit.run]?.exited(exit) },
      prepared: { [unowned self] in spareArrived() },
      died: { [unowned self, weak client] reason in
        logger.warning("\(reason); runs in flight end, the next load starts another one")
        for run in Array(runs.values) where run.server === client { run.serverDied(reason) }
        if server === client {
          server = nil
          spareIsGone()
          tellThoseWhoWait()
        }
      })
  }
}
