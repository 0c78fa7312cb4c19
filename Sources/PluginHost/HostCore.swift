internal import AssetModel
internal import Dispatch
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
  let loop: EventLoop
  let isRunning = Atomic(true)
  let runner: String
  let preload: String?
  let isCold: Bool
  let withoutNamespaces: Set<Wall>
  let untested: Set<Wall>
  let logger: Logger
  let workers = WorkerThreads()
  /// When this process began: with its id it names the folders of its runs.
  let processStart = ProcessStart.time(of: getpid()) ?? 0
  /// Names what this host hands over to plugins, in whichever pid namespace it is.
  let token = UInt64.random(in: 0 ... .max)
  var server: ForkServerClient?
  var bareServer: ForkServerClient?
  var spare = SparePlan()
  var spareCgroup: RunCgroup?
  var waitingForSpare: [() -> Void] = []
  var mounts: DetachedMounts?
  var machine: Machine?
  var cgroups: Cgroups?
  var cgroupReason = ""
  var runs: [UInt64: Run] = [:]
  var folders: [UInt64: String] = [:]
  /// Reports of plugins that were ended and are still referred to.
  private var ended: [UInt64: RunReport] = [:]
  /// A cold run's fork server serves it alone.
  var coldServers: [UInt64: ForkServerClient] = [:]
  /// Runs whose folders and servers are just being taken away, and who waits for that.
  private var leaving: [UInt64: [() -> Void]] = [:]
  var nextRun: UInt64 = 16
  let stagedIn = Mutex<Set<String>>([])
  var programs: [SeccompProgram.Options: [UInt8]] = [:]
  /// The canary's findings, once for each host.
  let proving = Mutex<Task<Result<[Canary.Finding], HostError>, Never>?>(nil)
  let names = Mutex<[UInt64: SpawnPlan.View]>([:])

  init(_ configuration: PluginHost.Configuration) throws(HostError) {
    OpenFiles.fillStandardDescriptors()
    runner = try RunnerLocation.find(configuration.runner)
    preload = RunnerLocation.preload(beside: runner)
    isCold = configuration.isCold
    withoutNamespaces = configuration.withoutNamespaces
    untested = configuration.canaryWithout
    logger = configuration.logger
    do throws(SystemCallError) {
      loop = try EventLoop("outrider.watch")
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
      for run in Set(folders.keys).union(runs.keys) { forget(run) }
      // Whoever waits for a call may not come to its own cleaning up any more.
      for container in stagedIn.withLock({ $0 }) { StagedFile.remove(allOf: token, in: container) }
      spareIsGone()
      tellThoseWhoWait()
      server = nil
      mounts = nil
      cgroups = nil
      done.signal()
    }
    done.wait()
    workers.wait()
    loop.shutDown()
  }

  // MARK: For any task

  /// Puts a copy of a finished download where a plugin may take it.
  func stage(
    _ file: FinishedFile, as name: String, in place: GroupContainers.Place
  ) throws(HostError) -> StagedFile {
    stagedIn.withLock { _ = $0.insert(place.path) }
    return try StagedFile(copying: file, as: name, into: place.path, place.identity, host: token)
  }

  /// Moves a finished file into the container of its app group.
  func move(
    _ path: String, as name: String, group: String, of run: UInt64
  ) async throws(HostError) -> MovedFile {
    let place = try await place(for: path, group: group, of: run)
    let writable = await plan(of: run)?.writable ?? []
    return try MovedFile(moving: path, as: name, into: place, writable: writable)
  }

  /// The container that takes a finished file of an app group. `file`: how a sentence about it begins.
  func place(for file: String, group: String, of run: UInt64) async throws(HostError) -> GroupContainers.Place {
    guard let plan = await plan(of: run) else { throw .failed("the run has ended") }
    guard !plan.boundsContainer else {
      throw .usage(
        "\(file) can't be handed over: the plugin's container is memory here, as \(Janitor.parent) is; name a folder on a disk (--container)"
      )
    }
    guard let place = plan.containers.place(of: group) else {
      let group = Printable.text(group, limit: 60)
      throw .usage("\(file) can't be handed over: the run has no container of the app group '\(group)'")
    }
    return place
  }

  /// Opens a file that is to be handed over, by the rule for what the run's caller names.
  func open(finished path: String, of run: UInt64) async throws(HostError) -> FinishedFile {
    guard let plan = await plan(of: run) else { throw .failed("the run has ended") }
    return try FinishedFile(path, writable: plan.writable)
  }

  func load(
    _ image: PluginImage, policy: Policy, options: PluginHost.LoadOptions, isBare: Bool = false,
    proof: [Canary.Finding] = [], reading: Duration = .zero
  ) async throws(HostError) -> Plugin {
    var request = LoadRequest(image: image, policy: policy, options: options, isBare: isBare, proof: proof)
    request.containers = try Self.open(containersOf: options, policy)
    request.reading = reading
    if !isBare, LoadPages.areDue(for: image), await countsFilePages() {
      request.reading += LoadPages.bringIn(for: image, within: policy.limits.wall - reading)
    }
    let ticket = request.ticket
    let result: Result<Plugin, HostError> = await withTaskCancellationHandler {
      await withCheckedContinuation { [request] continuation in
        loop.submit { [self] in begin(request) { continuation.resume(returning: $0) } }
      }
    } onCancel: {
      ticket.cancel()
      loop.submit { [self] in runs.values.first { $0.line.current === ticket }?.cancel(ticket) }
    }
    return try result.get()
  }

  /// Whether file pages that a runner touches first are charged to it.
  private func countsFilePages() async -> Bool {
    await withCheckedContinuation { continuation in
      loop.submit { [self] in continuation.resume(returning: cgroups != nil) }
    }
  }

  private func plan(of run: UInt64) async -> SpawnPlan? {
    await withCheckedContinuation { continuation in
      loop.submit { [self] in continuation.resume(returning: runs[run]?.plan) }
    }
  }

  /// `signature`: of a function.
  func call(
    _ run: UInt64, _ call: HostMessage.Call, _ signature: CallSignature? = nil
  ) async throws(HostError) -> RunnerMessage.CallResult {
    let ticket = CallTicket()
    let result: Result<RunnerMessage.CallResult, HostError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        loop.submit { [self] in
          guard let found = runs[run] else {
            return continuation.resume(returning: .failure(.failed("the run has ended")))
          }
          found.call(call, signature, ticket) { continuation.resume(returning: $0) }
        }
      }
    } onCancel: {
      ticket.cancel()
      loop.submit { [self] in runs[run]?.cancel(ticket) }
    }
    return try result.get()
  }

  func end(_ run: UInt64) async -> RunReport {
    await withCheckedContinuation { continuation in
      loop.submit { [self] in
        guard let found = runs[run] else {
          let report = ended[run] ?? .empty(Outcome(.hostFailed, "the run had ended before"))
          return forget(run) { continuation.resume(returning: report) }
        }
        found.end { [self] report in
          ended[run] = report
          forget(run) { continuation.resume(returning: report) }
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

  func cgroupCount() async -> Int {
    await withCheckedContinuation { continuation in
      loop.submit { [self] in continuation.resume(returning: cgroups?.serial ?? 0) }
    }
  }

  func spareIsReady() async -> Bool {
    await withCheckedContinuation { continuation in
      loop.submit { [self] in continuation.resume(returning: spare.isReady) }
    }
  }

  func runnerProcess(_ run: UInt64) async -> Int32? {
    await withCheckedContinuation { continuation in
      loop.submit { [self] in continuation.resume(returning: runs[run]?.process) }
    }
  }

  func walls(_ policy: Policy, proof: [Canary.Finding]) async throws(HostError) -> [Wall: WallState] {
    let result: Result<[Wall: WallState], HostError> = await withCheckedContinuation { continuation in
      loop.submit { [self] in
        continuation.resume(
          returning: Result { () throws(HostError) in
            _ = try forkServer()
            let image = try PluginImage(opening: "libc.so.6", searching: true)
            return plan(image, policy, containers: [("", "/", nil)], manifest: nil)
              .walls(cgroup: cgroupState, proof: proof)
          })
      }
    }
    return try result.get()
  }

  func manifestPath(_ run: UInt64) -> String { names.withLock { $0[run]?.manifest ?? "" } }

  // MARK: On the loop

  /// `done`: called on the loop when nothing of the run is left.
  func forget(_ run: UInt64, then done: @escaping () -> Void = {}) {
    let plan = runs.removeValue(forKey: run)?.plan
    names.withLock { $0[run] = nil }
    let cold = coldServers.removeValue(forKey: run)
    let folder = folders.removeValue(forKey: run)
    cold?.detach(from: loop)
    if leaving[run] != nil {
      leaving[run]?.append(done)
      return
    }
    // In the host's own folder it goes with that.
    let replacements = plan.flatMap { folder == nil && $0.replacements.isThere(in: $0.container) ? $0 : nil }
    guard cold != nil || folder != nil || replacements != nil else { return done() }
    leaving[run] = [done]
    workers.submit { [self] in
      cold?.stop()
      if let folder { Janitor.removeFolder(folder) }
      if let replacements { replacements.replacements.remove(from: replacements.container) }
      loop.submit { [self] in for tell in leaving.removeValue(forKey: run) ?? [] { tell() } }
    }
  }
}
