internal import CLinux
internal import HostProtocol
internal import LinuxSystem
internal import Logging
internal import Sandbox
internal import Synchronization

/// Which fork servers a host has, and what is found out about the machine with them: one for all runs, some without walls, and one of its own for each run of a cold host.
///
/// @unchecked Sendable: loop thread only, but for `start`, which reads what never changes.
final class ForkServerPool: @unchecked Sendable {
  /// How fork servers are started.
  struct Settings: Sendable {
    var runner: String
    var preload: String?
    /// A fresh process without Foundation for every run.
    var isCold: Bool
    var withoutNamespaces: Set<Wall>

    /// A cold host's servers serve one run each.
    var keepsSpare: Bool { !isCold }
  }

  /// Which server a run wants.
  enum Kind: Sendable {
    /// With every wall.
    case walled
    /// Without any, and with this sanitizer's runtime, where the plugin needs one.
    case bare(String?)
  }

  private static let startTimeout = Duration.seconds(20)
  private static let shutDownText = "the host was shut down"

  let settings: Settings
  private let loop: EventLoop
  private let workers: WorkerThreads
  private let logger: Logger
  private let runs: RunTable
  /// Set when the host shuts down, which then doesn't wait for a server that is just starting.
  private let isStopped = Atomic(false)
  /// Serves every run but those of `bare` and `cold`.
  private(set) var main: ForkServerClient?
  /// Without walls, by the sanitizer that each has; "" for none.
  private var bare: [String: ForkServerClient] = [:]
  /// A cold run's fork server serves it alone.
  private var cold: [UInt64: ForkServerClient] = [:]
  let spares: SpareRunner
  /// What was found out with the last server; nil before.
  private(set) var machine: Machine?
  /// Where the host maps the owners of files; nil where the fork server clones by path.
  private(set) var mounts: DetachedMounts?

  init(
    _ settings: Settings, loop: EventLoop, workers: WorkerThreads, logger: Logger, runs: RunTable, cgroups: CgroupSupply
  ) {
    self.settings = settings
    self.loop = loop
    self.workers = workers
    self.logger = logger
    self.runs = runs
    spares = SpareRunner(isWanted: settings.keepsSpare, loop: loop, runs: runs, cgroups: cgroups)
  }

  private var isWanted: Bool { !isStopped.load(ordering: .relaxed) }

  // MARK: Starting

  /// The server for a run, started where there is none. `got`: called on the loop, at once where nothing has to be waited for.
  func server(_ kind: Kind, _ got: @escaping @Sendable (Result<ForkServerClient, HostError>) -> Void) {
    switch kind {
    case .bare(let sanitizer): if let bare = bare[sanitizer ?? ""], bare.isAlive { return got(.success(bare)) }
    case .walled where !settings.isCold: return got(Result { () throws(HostError) in try mainServer() })
    case .walled: break
    }
    // Others have deadlines meanwhile.
    workers.submit { [self] in
      let started = Result { () throws(HostError) in try start(kind) }
      loop.submit { [self] in
        got(Result { () throws(HostError) in try adopt(started.get(), kind) })
      }
    }
  }

  func mainServer() throws(HostError) -> ForkServerClient {
    guard isWanted else { throw .failed(Self.shutDownText) }
    if let main, main.isAlive { return main }
    let fresh = try adopt(try start(.walled), .walled)
    main = fresh
    spares.server = fresh
    return fresh
  }

  /// On any thread, which waits for some 25 ms.
  private func start(_ kind: Kind) throws(HostError) -> ForkServerClient {
    guard isWanted else { throw .failed(Self.shutDownText) }
    let program =
      switch kind {
      case .walled:
        ForkServerClient.Program(
          runner: settings.runner, preload: settings.isCold ? nil : settings.preload, isCold: settings.isCold,
          without: settings.withoutNamespaces)
      case .bare(let sanitizer):
        ForkServerClient.Program(
          runner: settings.runner, preload: settings.preload, isBare: true, sanitizer: sanitizer)
      }
    return try ForkServerClient(program, timeout: Self.startTimeout, isWanted: { isWanted })
  }

  /// Takes over a server that has started; where there is such a bare one by now, that.
  private func adopt(_ fresh: ForkServerClient, _ kind: Kind) throws(HostError) -> ForkServerClient {
    // The host has ended: no deadlines are left that waiting for its end could delay.
    guard isWanted else {
      fresh.stop()
      throw .failed(Self.shutDownText)
    }
    if case .bare(let sanitizer) = kind, let bare = bare[sanitizer ?? ""], bare.isAlive {
      workers.submit { fresh.stop() }
      return bare
    }
    do throws(SystemCallError) {
      try fresh.attach(to: loop, handlers(of: fresh))
    } catch {
      workers.submit { fresh.stop() }
      throw .failed(error.description)
    }
    if case .bare(let sanitizer) = kind {
      bare[sanitizer ?? ""] = fresh
      return fresh
    }
    machine = Machine(probing: fresh.hello)
    mounts = fresh.hasOwnIdentity ? DetachedMounts(runner: settings.runner, uid: fresh.uid, gid: fresh.gid) : nil
    return fresh
  }

  private func handlers(of client: ForkServerClient) -> ForkServerClient.Handlers {
    ForkServerClient.Handlers(
      spawned: { [runs] run, process, cpu in runs[run]?.spawned(process, cpu: cpu) },
      spawnFailed: { [runs] run, reason, code in runs[run]?.spawnFailed(reason, code) },
      exited: { [runs] exit in runs[exit.run]?.exited(exit) },
      prepared: { [spares] in spares.arrived() },
      stopped: { [runs, weak client] since in for run in runs.of(client) { run.stood(still: since) } },
      died: { [unowned self, weak client] reason in died(client, reason) })
  }

  private func died(_ client: ForkServerClient?, _ reason: String) {
    logger.warning("\(reason); runs in flight end, the next load starts another one")
    for run in runs.of(client) { run.serverDied(reason) }
    guard main === client else { return }
    main = nil
    spares.serverIsGone()
  }

  // MARK: Ending

  /// That run, of a cold host, has this server for itself.
  func dedicate(_ server: ForkServerClient, to run: UInt64) { cold[run] = server }

  /// The server that a run had for itself, which the caller stops.
  func takeDedicated(of run: UInt64) -> ForkServerClient? {
    let server = cold.removeValue(forKey: run)
    server?.detach(from: loop)
    return server
  }

  /// One that is just starting isn't waited for any more. Any thread.
  func stopStarting() { isStopped.store(true, ordering: .relaxed) }

  /// Ends every server, and with them their runners.
  func stop() {
    for server in [main].compactMap(\.self) + Array(bare.values) + Array(cold.values) {
      server.detach(from: loop)
      server.stop()
    }
  }

  /// What the servers had goes.
  func close() {
    spares.serverIsGone()
    main = nil
    mounts = nil
  }
}
