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

  /// `containers`: at least one.
  func plan(
    _ image: PluginImage, _ policy: Policy, containers: [(group: String, path: String, identity: FileIdentity?)],
    manifest: PluginImage.File?
  ) -> SpawnPlan {
    let machine =
      machine
      ?? Machine(landlockABI: 0, hasListener: false, hello: .init(missing: [], runtime: [], hasPreloaded: false))
    var plan = SpawnPlan(
      image: image, policy: policy, containers: GroupContainers(containers, hidesFiles: machine.hidesFiles),
      manifest: manifest, machine: machine)
    plan.isContainerInMemory = Janitor.isInMemory && folders.values.contains(plan.container)
    return plan
  }

  func forkServer() throws(HostError) -> ForkServerClient {
    guard isWanted else { throw .failed(Self.shutDownText) }
    if let server, server.isAlive { return server }
    let fresh = try adopt(try startServer(), isBare: false)
    server = fresh
    return fresh
  }

  private static let patience = Duration.seconds(20)
  private static let shutDownText = "the host was shut down"

  /// Whoever shuts the host down doesn't wait for a server that is just starting.
  private var isWanted: Bool { isRunning.load(ordering: .relaxed) }

  /// On any thread, which waits for some 25 ms. `isBare`: without a wall, only for the baseline of a benchmark.
  func startServer(isBare: Bool = false) throws(HostError) -> ForkServerClient {
    guard isWanted else { throw .failed(Self.shutDownText) }
    return try ForkServerClient(
      runner: runner, preload: isCold && !isBare ? nil : preload, isBare: isBare,
      without: isBare ? [] : withoutNamespaces,
      patience: Self.patience, isWanted: { isWanted })
  }

  /// Takes over a server that has started; where there is a bare one by now, that.
  func adopt(_ fresh: ForkServerClient, isBare: Bool) throws(HostError) -> ForkServerClient {
    // Nobody has deadlines any more that its end could keep waiting.
    guard isWanted else {
      fresh.stop()
      throw .failed(Self.shutDownText)
    }
    if isBare, let bareServer {
      workers.submit { fresh.stop() }
      return bareServer
    }
    do throws(SystemCallError) {
      try fresh.attach(to: loop, handlers(of: fresh))
    } catch {
      workers.submit { fresh.stop() }
      throw .failed(error.description)
    }
    if isBare {
      bareServer = fresh
      return fresh
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
        if let found = runs[run] { found.spawned(pidfd: pidfd, cpuBefore: cpu) } else if pidfd >= 0 { close(pidfd) }
      },
      spawnFailed: { [unowned self] run, reason, code in runs[run]?.spawnFailed(reason, code) },
      exited: { [unowned self] exit in runs[exit.run]?.exited(exit) },
      prepared: { [unowned self] in spareArrived() },
      stopped: { [unowned self, weak client] since in
        for run in Array(runs.values) where run.server === client { run.stood(still: since) }
      },
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
