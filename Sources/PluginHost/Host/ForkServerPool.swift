internal import CLinux
internal import HostProtocol
internal import LinuxSystem
internal import Logging
internal import Sandbox
internal import Synchronization

/// Which fork servers a host has: one for all plugins that need Foundation and one for all others, some without walls, and one of
/// its own for each run of a cold host.
///
/// @unchecked Sendable: loop thread only, but for `start`, which reads what never changes.
final class ForkServerPool: @unchecked Sendable {
  /// How fork servers are started.
  struct Settings: Sendable {
    var runner: String
    var preload: String?
    /// A fresh process for every run.
    var isCold: Bool
    var withoutNamespaces: Set<Wall>

    /// A cold host's servers serve one run each.
    var keepsSpare: Bool { !isCold }
  }

  /// Which server a run wants.
  enum Kind: Sendable {
    /// With every wall.
    case walled(Preload)
    /// Without any, and with this sanitizer's runtime, where the plugin needs one.
    case bare(Bare)
  }

  /// One without walls.
  struct Bare: Hashable, Sendable {
    var preload: Preload
    var sanitizer: String?
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
  /// They serve every run but those of `bare` and `cold`.
  private var standing: [Preload: ForkServerClient] = [:]
  /// The kind of the last run.
  private(set) var last = Preload.runtime
  private var bare: [Bare: ForkServerClient] = [:]
  /// A cold run's fork server serves it alone.
  private var cold: [UInt64: ForkServerClient] = [:]
  private let spares: [Preload: SpareRunner]

  init(
    _ settings: Settings, loop: EventLoop, workers: WorkerThreads, logger: Logger, runs: RunTable,
    cgroups: CgroupSupply, folders: RunFolders
  ) {
    self.settings = settings
    self.loop = loop
    self.workers = workers
    self.logger = logger
    self.runs = runs
    spares = Dictionary(
      uniqueKeysWithValues: Preload.allCases.map {
        (
          $0,
          SpareRunner(isWanted: settings.keepsSpare, loop: loop, runs: runs, cgroups: cgroups, folders: folders)
        )
      })
  }

  private var isWanted: Bool { !isStopped.load(ordering: .relaxed) }

  // MARK: Starting

  /// The server for a run, started where there is none. `got`: called on the loop, at once where nothing has to be waited for.
  func server(_ kind: Kind, _ got: @escaping @Sendable (Result<ForkServerClient, HostError>) -> Void) {
    switch kind {
    case .bare(let kind): if let bare = bare[kind], bare.isAlive { return got(.success(bare)) }
    case .walled(let preload) where !settings.isCold:
      return got(Result { () throws(HostError) in try standingServer(preload) })
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

  /// The server of all runs of that kind, started where there is none.
  func standingServer(_ preload: Preload) throws(HostError) -> ForkServerClient {
    guard isWanted else { throw .failed(Self.shutDownText) }
    last = preload
    if let server = standing[preload], server.isAlive { return server }
    let fresh = try adopt(try start(.walled(preload)), .walled(preload))
    standing[preload] = fresh
    spare(preload).server = fresh
    return fresh
  }

  /// The server of the kind that was wanted last; nil where there is none.
  var lastServer: ForkServerClient? { standing[last] }

  /// The runner that stands ready in the server of that kind.
  func spare(_ preload: Preload) -> SpareRunner {
    guard let spare = spares[preload] else { preconditionFailure("each kind has one") }
    return spare
  }

  /// That of the same server; nil where it keeps none.
  func spare(in server: ForkServerClient?) -> SpareRunner? {
    spares.values.first { $0.server != nil && $0.server === server }
  }

  /// On any thread, which waits for some 25 ms.
  private func start(_ kind: Kind) throws(HostError) -> ForkServerClient {
    guard isWanted else { throw .failed(Self.shutDownText) }
    let program =
      switch kind {
      case .walled(let preload):
        ForkServerClient.Program(
          runner: settings.runner, preload: library(of: preload), isCold: settings.isCold,
          without: settings.withoutNamespaces)
      case .bare(let bare):
        ForkServerClient.Program(
          runner: settings.runner, preload: library(of: bare.preload), isBare: true, sanitizer: bare.sanitizer)
      }
    return try ForkServerClient(program, timeout: Self.startTimeout, isWanted: { isWanted })
  }

  private func library(of preload: Preload) -> String? {
    switch preload {
    case .runtime: nil
    case .foundation: settings.preload
    }
  }

  /// Takes over a server that has started; where there is such a bare one by now, that.
  private func adopt(_ fresh: ForkServerClient, _ kind: Kind) throws(HostError) -> ForkServerClient {
    // The host has ended: no deadlines are left that waiting for its end could delay.
    guard isWanted else {
      fresh.stop()
      throw .failed(Self.shutDownText)
    }
    if case .bare(let kind) = kind, let bare = bare[kind], bare.isAlive {
      workers.submit { fresh.stop() }
      return bare
    }
    do throws(SystemCallError) {
      try fresh.attach(to: loop, handlers(of: fresh))
    } catch {
      workers.submit { fresh.stop() }
      throw .failed(error.description)
    }
    switch kind {
    case .bare(let kind): bare[kind] = fresh
    case .walled(let preload):
      fresh.probe(runner: settings.runner)
      if let library = library(of: preload), !fresh.machine.hello.hasPreloaded {
        logger.warning(
          "\(library) can't be loaded; each plugin that needs Foundation loads it for itself, which takes longer")
      }
    }
    return fresh
  }

  private func handlers(of client: ForkServerClient) -> ForkServerClient.Handlers {
    ForkServerClient.Handlers(
      spawned: { [runs] run, process, cpu in runs[run]?.spawned(process, cpu: cpu) },
      spawnFailed: { [runs] run, reason, code in runs[run]?.spawnFailed(reason, code) },
      exited: { [runs] exit in runs[exit.run]?.exited(exit) },
      prepared: { [unowned self, weak client] in spare(in: client)?.arrived() },
      stopped: { [runs, weak client] since in for run in runs.of(client) { run.stood(still: since) } },
      died: { [unowned self, weak client] reason in died(client, reason) })
  }

  private func died(_ client: ForkServerClient?, _ reason: String) {
    logger.warning("\(reason); runs in flight end, the next load starts another one")
    for run in runs.of(client) { run.serverDied(reason) }
    guard let (preload, _) = standing.first(where: { $0.value === client }) else { return }
    standing[preload] = nil
    spare(preload).serverIsGone()
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
    for server in [standing.values.map(\.self), bare.values.map(\.self), cold.values.map(\.self)].joined() {
      server.detach(from: loop)
      server.stop()
    }
  }

  /// What the servers had goes.
  func close() {
    for spare in spares.values { spare.serverIsGone() }
    standing = [:]
  }
}
