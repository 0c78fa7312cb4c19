internal import AssetModel
internal import CLinux
internal import Foundation
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Logging
internal import Sandbox
internal import Synchronization

/// The part of a host that lives on the watchdog's thread.
///
/// @unchecked Sendable: everything mutable is touched on `loop`'s thread only; the public side reaches it by
/// `loop.submit` and continuations.
final class HostCore: @unchecked Sendable {
  private let loop: EventLoop
  private let isRunning = Atomic(true)
  private let runner: String
  private let preload: String?
  private let isCold: Bool
  private let logger: Logger
  private var server: ForkServerClient?
  private var bareServer: ForkServerClient?
  private var mounts: DetachedMounts?
  private var machine: Machine?
  private var cgroups: Cgroups?
  private var cgroupReason = ""
  private var runs: [UInt64: Run] = [:]
  private var folders: [UInt64: String] = [:]
  /// Reports of plugins that were ended and are still referred to.
  private var ended: [UInt64: RunReport] = [:]
  /// A cold run's fork server serves it alone.
  private var coldServers: [UInt64: ForkServerClient] = [:]
  private var nextRun: UInt64 = 16
  private var programs: [SeccompProgram.Options: [UInt8]] = [:]
  private let names = Mutex<[UInt64: SpawnPlan.View]>([:])

  init(_ configuration: PluginHost.Configuration) throws(HostError) {
    runner = try RunnerLocation.find(configuration.runner)
    preload = RunnerLocation.preload(beside: runner)
    isCold = configuration.isCold
    logger = configuration.logger
    do throws(SystemCallError) {
      loop = try EventLoop()
    } catch {
      throw .failed("the watchdog doesn't start: \(error.description)")
    }
    Janitor.removeFolders()
    loop.submit { [self] in cgroups = Cgroups(reason: &cgroupReason) }
  }

  func shutDown() {
    guard isRunning.exchange(false, ordering: .relaxed) else { return }
    let done = DispatchSemaphore(value: 0)
    loop.submit { [self] in
      server?.detach(from: loop)
      server?.stop()
      for cold in Array(coldServers.values) + [bareServer].compactMap({ $0 }) {
        cold.detach(from: loop)
        cold.stop()
      }
      for run in Array(runs.values) { run.serverDied("the host was shut down") }
      for run in Array(folders.keys) { forget(run) }
      server = nil
      mounts = nil
      cgroups = nil
      done.signal()
    }
    done.wait()
    loop.shutDown()
  }

  // MARK: For any task

  func load(
    _ image: PluginImage, policy: Policy, options: PluginHost.LoadOptions, isBare: Bool = false
  ) async throws(HostError) -> Plugin {
    let requested = BootClock.now
    let result: Result<Plugin, HostError> = await withCheckedContinuation { continuation in
      loop.submit { [self] in
        begin(image, policy, options, isBare, requested) { continuation.resume(returning: $0) }
      }
    }
    return try result.get()
  }

  func call(_ run: UInt64, _ call: HostMessage.Call) async throws(HostError) -> RunnerMessage.CallResult {
    let result: Result<RunnerMessage.CallResult, HostError> = await withCheckedContinuation { continuation in
      loop.submit { [self] in
        guard let found = runs[run] else { return continuation.resume(returning: .failure(.failed("the run has ended"))) }
        found.call(call) { continuation.resume(returning: $0) }
      }
    }
    return try result.get()
  }

  func end(_ run: UInt64) async -> RunReport {
    await withCheckedContinuation { continuation in
      loop.submit { [self] in
        guard let found = runs[run] else {
          return continuation.resume(returning: ended[run] ?? .empty(Outcome(.hostFailed, "the run had ended before")))
        }
        found.end { [self] report in
          forget(run)
          ended[run] = report
          continuation.resume(returning: report)
        }
      }
    }
  }

  /// Seconds of the last call, from its frame being sent to its answer being understood.
  func lastCallSeconds(_ run: UInt64) async -> Double {
    await withCheckedContinuation { continuation in
      loop.submit { [self] in continuation.resume(returning: runs[run]?.lastCall.inSeconds ?? 0) }
    }
  }

  func discard(_ run: UInt64) {
    loop.submit { [self] in
      ended[run] = nil
      runs[run]?.end { [self] _ in forget(run) }
    }
  }

  func serverProcess() async -> Int32? {
    await withCheckedContinuation { continuation in
      loop.submit { [self] in continuation.resume(returning: server?.process) }
    }
  }

  func walls(_ policy: Policy) async throws(HostError) -> [Wall: WallState] {
    let result: Result<[Wall: WallState], HostError> = await withCheckedContinuation { continuation in
      loop.submit { [self] in
        continuation.resume(
          returning: Result { () throws(HostError) in
            _ = try forkServer()
            return plan(try PluginImage(opening: "libc.so.6", searching: true), policy, container: "/", manifest: nil)
              .walls(cgroup: cgroupState)
          })
      }
    }
    return try result.get()
  }

  func manifestPath(_ run: UInt64) -> String { names.withLock { $0[run]?.manifest ?? "" } }
  func viewPath(_ run: UInt64, of relative: String) -> String { names.withLock { ($0[run]?.container ?? "") + relative } }

  // MARK: On the loop

  private var cgroupState: WallState {
    guard let cgroups else {
      return WallState(.absent, "\(cgroupReason); memory is sampled every millisecond instead: a burst shows beyond the limit, and kernel memory doesn't count")
    }
    return WallState(.full, "memory controller, version \(cgroups.version == .one ? 1 : 2)")
  }

  private func plan(_ image: PluginImage, _ policy: Policy, container: String, manifest: PluginImage.File?) -> SpawnPlan {
    SpawnPlan(
      image: image, policy: policy, container: container, manifest: manifest,
      machine: machine ?? Machine(landlockABI: 0, hasListener: false, hello: .init(missing: [], runtime: [], hasPreloaded: false)))
  }

  private func forkServer() throws(HostError) -> ForkServerClient {
    if let server, server.isAlive { return server }
    let fresh = try startServer(preload: isCold ? nil : preload)
    server = fresh
    return fresh
  }

  /// A server without a wall, only for the baseline of a benchmark.
  private func bareForkServer() throws(HostError) -> ForkServerClient {
    if let bareServer { return bareServer }
    let fresh = try ForkServerClient(runner: runner, preload: preload, isBare: true, patience: .seconds(20))
    do throws(SystemCallError) {
      try fresh.attach(to: loop, handlers(of: fresh))
    } catch {
      throw .failed(error.description)
    }
    bareServer = fresh
    return fresh
  }

  private func startServer(preload: String?) throws(HostError) -> ForkServerClient {
    let fresh = try ForkServerClient(runner: runner, preload: preload, patience: .seconds(20))
    do throws(SystemCallError) {
      try fresh.attach(to: loop, handlers(of: fresh))
    } catch {
      throw .failed(error.description)
    }
    var abi: Int32 = 0
    _ = ol_landlock_abi(&abi)
    machine = Machine(landlockABI: Int(abi), hasListener: ol_seccomp_probe() == 0, hello: fresh.hello)
    mounts = geteuid() == 0 ? DetachedMounts(runner: runner, uid: fresh.uid, gid: fresh.gid) : nil
    return fresh
  }

  private func handlers(of client: ForkServerClient) -> ForkServerClient.Handlers {
    ForkServerClient.Handlers(
      spawned: { [unowned self] run, pidfd in
        if let found = runs[run] { found.spawned(pidfd: pidfd) } else { close(pidfd) }
      },
      spawnFailed: { [unowned self] run, reason in runs[run]?.spawnFailed(reason) },
      exited: { [unowned self] exit in runs[exit.run]?.exited(exit) },
      died: { [unowned self, weak client] reason in
        logger.warning("\(reason); runs in flight end, the next load starts another one")
        for run in Array(runs.values) where run.server === client { run.serverDied(reason) }
        if server === client { server = nil }
      })
  }

  private func begin(
    _ image: PluginImage, _ policy: Policy, _ options: PluginHost.LoadOptions, _ isBare: Bool, _ requested: Duration,
    _ completion: @escaping (Result<Plugin, HostError>) -> Void
  ) {
    let id = nextRun
    nextRun += 1
    do throws(HostError) {
      let server = isBare ? try bareForkServer() : isCold ? try startServer(preload: nil) : try forkServer()
      if isCold, !isBare { coldServers[id] = server }
      let container = try prepareContainer(options.container, run: id, server: server)
      let manifest = try options.manifest.map { (path) throws(HostError) in try Manifest.open(path) }
      var plan = self.plan(image, policy, container: container, manifest: manifest)
      if isBare {
        plan = SpawnPlan(
          image: image, policy: policy, container: container, manifest: manifest,
          machine: Machine(landlockABI: 0, hasListener: false, hello: server.hello))
      }
      plan.open = options.withoutWalls
      plan.hasMemoryCgroup = cgroups != nil && !isBare && !plan.open.contains(.cgroup)
      let walls = plan.walls(cgroup: cgroupState)
      try require(policy, walls)
      let run = try spawn(id, plan, server, walls, requested)
      run.isExtension = options.isExtension
      names.withLock { $0[id] = plan.view }
      run.start { [self] result in
        switch result {
        case .success(let image):
          completion(.success(Plugin(core: self, run: id, image: image, container: container)))
        case .failure(let error):
          forget(id)
          completion(.failure(error))
        }
      }
    } catch {
      forget(id)
      completion(.failure(error))
    }
  }

  private func require(_ policy: Policy, _ walls: [Wall: WallState]) throws(HostError) {
    for wall in policy.require.sorted(by: { $0.rawValue < $1.rawValue }) {
      guard let state = walls[wall], state.state != .full else { continue }
      var report = RunReport.empty(
        Outcome(.wallUnavailable, "the policy requires \(wall.rawValue), which is \(state.state.rawValue): \(state.detail)"))
      report.walls = walls
      throw .ended(report)
    }
  }

  private func prepareContainer(_ path: String?, run: UInt64, server: ForkServerClient) throws(HostError) -> String {
    do throws(SystemCallError) {
      guard let path else {
        let folder = try Janitor.makeFolder()
        folders[run] = folder
        // Its own owner needs no id map.
        if geteuid() == 0 { try checkErrno("chown", folder) { chown(folder, server.uid, server.gid) } }
        return folder
      }
      let real = try Files.real(path)
      guard try Files.identity(of: real).isDirectory else { throw SystemCallError("open", code: ENOTDIR, subject: path) }
      return real
    } catch {
      throw .input("\(path ?? error.subject): \(SystemCallError.message(error.code))")
    }
  }

  private func spawn(
    _ id: UInt64, _ plan: SpawnPlan, _ server: ForkServerClient, _ walls: [Wall: WallState], _ requested: Duration
  ) throws(HostError) -> Run {
    var theirs: [Int32] = []
    var mine: [Int32] = []
    defer { for descriptor in theirs { close(descriptor) } }
    do throws(SystemCallError) {
      for isStream in [true, true] {
        let (host, runner) = try Sockets.pair(stream: isStream)
        mine.append(host)
        theirs.append(runner)
      }
      let pipe = try Sockets.pipe()
      mine.append(try pipe.first.duplicate().release())
      theirs.append(try pipe.second.duplicate().release())
      let cgroup = !plan.hasMemoryCgroup ? nil : try cgroups?.take()
      if let cgroup { theirs.append(try cgroup.procs().release()) }
      let request = try self.request(id, plan, server, hasCgroup: cgroup != nil, &theirs)
      let run = Run(
        id: id, plan: plan, loop: loop, cgroup: cgroup, walls: walls, control: mine[0], service: mine[1],
        output: mine[2], requested: requested)
      run.server = server
      run.onEnd = { [weak self] in if let cgroup { self?.cgroups?.giveBack(cgroup) } }
      runs[id] = run
      try server.spawn(request, descriptors: theirs)
      return run
    } catch {
      if runs[id] == nil { for descriptor in mine { close(descriptor) } }
      throw .failed(error.description)
    }
  }

  private func request(
    _ id: UInt64, _ plan: SpawnPlan, _ server: ForkServerClient, hasCgroup: Bool, _ descriptors: inout [Int32]
  ) throws(SystemCallError) -> SpawnRequest {
    var attachments: [SpawnRequest.Attachment]?
    if plan.machine.hidesFiles {
      let container = PluginImage.File(path: plan.container, identity: try Files.identity(of: plan.container))
      var list: [SpawnRequest.Attachment] = []
      for part in try plan.parts(container: container) {
        let source: SpawnRequest.Attachment.Source
        if let file = part.file {
          if let mounts {
            do throws(HostError) {
              descriptors.append(try mounts.clone(file, mustMap: part.mustMap).release())
            } catch {
              throw SystemCallError("mount", code: EPERM, subject: "\(error)")
            }
            source = .descriptor
          } else {
            source = .path(file.path, device: file.identity.device, inode: file.identity.inode)
          }
        } else {
          source = .memory(bytes: part.memory)
        }
        list.append(.init(source: source, target: part.target, attributes: part.attributes, createsFile: part.createsFile))
      }
      attachments = list
    }
    if server === bareServer {
      return SpawnRequest(
        run: id, environment: plan.environment, limits: [], landlock: nil, filter: [], hasListener: false,
        isDumpable: false, joinsCgroup: false, attachments: nil, freshPoints: [])
    }
    return SpawnRequest(
      run: id, environment: plan.environment, limits: plan.limits(), landlock: plan.landlock(),
      filter: plan.open.contains(.seccomp) ? [] : try program(plan.programOptions),
      hasListener: plan.machine.hasListener && !plan.open.contains(.seccomp),
      isDumpable: plan.policy.observesFiles && geteuid() != 0, joinsCgroup: hasCgroup, attachments: attachments,
      freshPoints: plan.freshPoints)
  }

  private func program(_ options: SeccompProgram.Options) throws(SystemCallError) -> [UInt8] {
    if let known = programs[options] { return known }
    do throws(SeccompProgram.CompileError) {
      let bytes = try SeccompProgram(options).bytes
      programs[options] = bytes
      return bytes
    } catch {
      throw SystemCallError("seccomp", code: EINVAL, subject: "compile: \(error)")
    }
  }

  private func forget(_ run: UInt64) {
    runs[run] = nil
    names.withLock { $0[run] = nil }
    if let cold = coldServers.removeValue(forKey: run) {
      cold.detach(from: loop)
      cold.stop()
    }
    if let folder = folders.removeValue(forKey: run) { Files.removeTree(folder) }
  }
}

extension RunReport {
  /// The report of a run that never began.
  public static func empty(_ outcome: Outcome) -> RunReport {
    RunReport(
      outcome: outcome, usage: Usage(), denials: [], droppedDenials: 0, log: [], droppedLogBytes: 0, droppedLogLines: 0,
      walls: [:],
      meters: [:], scheduled: [])
  }
}

/// Where the runner's executable and the library that it preloads lie.
enum RunnerLocation {
  static func find(_ configured: String?) throws(HostError) -> String {
    if let configured { return try check(configured) }
    if let path = getenv("OUTRIDER_RUNNER") { return try check(String(cString: path)) }
    guard let own = try? Files.real("/proc/self/exe") else { throw .failed("/proc/self/exe can't be read") }
    for directory in [PluginImage.directory(of: own), PluginImage.directory(of: own) + "/../libexec"] {
      let path = directory + "/outrider-runner"
      if Files.exists(path), let real = try? Files.real(path) { return real }
    }
    throw .failed("no outrider-runner beside \(own); name it in OUTRIDER_RUNNER or in the configuration")
  }

  private static func check(_ path: String) throws(HostError) -> String {
    guard let real = try? Files.real(path), access(real, X_OK) == 0 else { throw .failed("\(path): no executable runner") }
    return real
  }

  static func preload(beside runner: String) -> String? {
    let directory = PluginImage.directory(of: runner)
    return ["\(directory)/libOutriderPreload.so", "\(directory)/../lib/libOutriderPreload.so"].first(where: Files.exists)
  }
}

/// A manifest is any regular file up to 64 MiB; its content is the extension's affair.
enum Manifest {
  static let largest: Int64 = 64 << 20

  static func open(_ path: String) throws(HostError) -> PluginImage.File {
    do throws(SystemCallError) {
      let real = try Files.real(path)
      let identity = try Files.identity(of: real)
      guard identity.isRegularFile else { throw SystemCallError("open", code: 0, subject: "\(path): not a regular file") }
      guard identity.size <= largest else {
        throw SystemCallError("open", code: 0, subject: "\(path): \(identity.size) bytes; a manifest has at most 64 MiB")
      }
      return PluginImage.File(path: real, identity: identity)
    } catch {
      throw .input(error.code == 0 ? error.subject : "\(path): \(SystemCallError.message(error.code))")
    }
  }
}

/// Removes what hosts that are gone left behind, and nothing else: names carry the process id and its start time.
enum Janitor {
  private static let parent = "/tmp"
  private static let prefix = "outrider-run-"

  static func makeFolder() throws(SystemCallError) -> String {
    try Files.temporaryDirectory(in: parent, prefix: "\(prefix)\(getpid())-\(ProcessStart.time(of: getpid()) ?? 0)-")
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
