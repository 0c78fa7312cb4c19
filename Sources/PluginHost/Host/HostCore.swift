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
/// `loop.submit` and continuations. An actor on that thread would be entered once more after each answer of a plugin before its
/// caller goes on: measured 72 µs in place of 35 from a task to the thread and back.
final class HostCore: @unchecked Sendable {
  let loop: EventLoop
  private let alarm: LaneAlarm
  private let shutdown = Shutdown()
  private let workers = WorkerThreads()
  /// Whose cgroups and folders the host has. A process that gives them up can't make others.
  let user = geteuid()
  /// Names what this host hands over to plugins, in whichever pid namespace it is.
  private let token = UInt64.random(in: 0 ... .max)
  let runs = RunTable()
  let cgroups = CgroupSupply()
  let pool: ForkServerPool
  let spawner: RunnerSpawner
  let preload: String?
  /// What the host makes for runs to write in.
  private let folders: RunFolders
  /// Reports of plugins that were ended and are still referred to.
  private var ended: [UInt64: RunReport] = [:]
  /// Runs whose folders and servers are just being taken away, and who waits for that.
  private var leaving: [UInt64: [() -> Void]] = [:]
  private var lastRun: UInt64 = 0
  var metrics = MetricsKeeper()
  private let stagedIn = Mutex<Set<String>>([])
  /// Where each run's manifest lies in its view.
  private let manifests = Mutex<[UInt64: String]>([:])
  let untested: Set<Wall>
  /// The canary's findings, once for each host.
  let proving = Mutex<Task<Result<[Canary.Finding], HostError>, Never>?>(nil)

  init(_ configuration: PluginHost.Configuration) throws(HostError) {
    OpenFiles.fillStandardDescriptors()
    let runner = try RunnerLocation.find(configuration.runner)
    preload = RunnerLocation.preload(beside: runner)
    untested = configuration.canaryWithout
    do throws(SystemCallError) {
      loop = try EventLoop("outrider.watch")
      alarm = try LaneAlarm()
    } catch {
      throw .failed("the watchdog doesn't start: \(error.description)")
    }
    folders = RunFolders(workers: workers)
    pool = ForkServerPool(
      .init(
        runner: runner, preload: preload, isCold: configuration.isCold,
        withoutNamespaces: configuration.withoutNamespaces),
      loop: loop, workers: workers, logger: configuration.logger, runs: runs, cgroups: cgroups, folders: folders)
    spawner = RunnerSpawner(
      loop: loop, pool: pool, cgroups: cgroups, filters: FilterSupply(loop: loop, workers: workers), alarm: alarm)
    Janitor.removeFolders()
    loop.submit { [self] in
      loop.onFailure { [runs, weak pool] error in
        pool?.stopStarting()
        pool?.stop()
        for run in runs.all {
          run.serverDied(ClosedFiles.sentence(error))
        }
      }
      cgroups.open()
      // Without it, calls of idle plugins come by this thread.
      try? alarm.watch(on: loop) { [runs] in for run in runs.all { run.lookAfterThaw() } }
    }
  }

  /// Returns when everything is gone; on a thread of the host's, which has that to do, at once.
  func shutDown() {
    guard !loop.isCurrent, !workers.isCurrent else {
      return DispatchQueue(label: "outrider.stopping").async { [self] in shutDown() }
    }
    guard shutdown.begins() else { return shutdown.wait() }
    defer { shutdown.end() }
    pool.stopStarting()
    let done = DispatchSemaphore(value: 0)
    loop.submit { [self] in
      pool.stop()
      for run in runs.all {
        run.serverDied("the host was shut down")
        ended[run.id] = run.machine.phase.report
      }
      for run in folders.runs.union(runs.all.map(\.id)) { forget(run) }
      folders.close()
      // A caller that waits for a call may not get to its own cleaning up any more.
      for container in stagedIn.withLock({ $0 }) { StagedFile.remove(allOf: token, in: container) }
      pool.close()
      cgroups.close()
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
    proof: [Canary.Finding] = [], reading: Duration = .zero, preload: Preload? = nil
  ) async throws(HostError) -> Plugin {
    var request = LoadRequest(
      image: image, policy: policy, options: options, isBare: isBare, proof: proof, wantedPreload: preload)
    try request.openContainers()
    request.reading = reading
    // File pages that a runner touches first are charged to it where it has a cgroup.
    if !isBare, LoadPages.areDue(for: image.library.identity, at: image.library.path),
      await onLoop({ $0.cgroups.isThere })
    {
      request.reading += LoadPages.bringIn(for: image, within: policy.limits.wallTime - reading)
    }
    let ticket = request.ticket
    let result: Result<Plugin, HostError> = await withTaskCancellationHandler {
      await withCheckedContinuation { [request] continuation in
        loop.submit { [self] in begin(request) { continuation.resume(returning: $0) } }
      }
    } onCancel: {
      ticket.cancel()
      loop.submit { [self] in runs.awaiting(ticket.id)?.cancel(ticket) }
    }
    return try result.get()
  }

  /// What `body` says on the loop's thread. Any task.
  func onLoop<Value: Sendable>(_ body: @escaping @Sendable (HostCore) -> Value) async -> Value {
    await withCheckedContinuation { continuation in
      loop.submit { [self] in continuation.resume(returning: body(self)) }
    }
  }

  private func plan(of run: UInt64) async -> SpawnPlan? { await onLoop { $0.runs[run]?.plan } }

  /// Calls an entry point of an extension. `limit`: less time than the policy gives.
  func call(
    _ run: UInt64, _ call: HostMessage.Call, within limit: Duration? = nil
  ) async throws(HostError) -> RunnerMessage.CallResult {
    try await ask(run, call, nil, CallTicket(), scope: try scope(of: run), within: limit)
  }

  /// Calls a function. `lane`: by which it may be called without the loop's thread, where it has no `callbacks` and none are
  /// registered (`mayAsk`). `limit`: less time than the policy gives.
  func call(
    _ run: UInt64, _ call: FunctionCall, lane: CallLane, callbacks: [UInt8: CallbackAnswer] = [:], mayAsk: Bool,
    within limit: Duration? = nil
  ) async throws(HostError) -> RunnerMessage.CallResult {
    let scope = try scope(of: run)
    if Task.isCancelled { throw .cancelled }
    let id = CallTicket.next()
    let mayAsk = mayAsk || !callbacks.isEmpty
    switch !mayAsk ? lane.attempt(call, id, within: limit) : lane.queue() {
    case .finished(let result): return try result.get()
    case .begun: return try await meet(run, CallTicket(id), lane).get()
    case .queued:
      return try await ask(
        run, call.message, call.function.signature, CallTicket(id), lane: lane, callbacks: mayAsk ? callbacks : nil,
        scope: scope, within: limit)
    }
  }

  /// The plugins whose callbacks make a call of this run.
  private func scope(of run: UInt64) throws(HostError) -> Set<CallbackScope> {
    let scope = CallbackScope.current
    guard !scope.contains(CallbackScope(core: self, run: run)) else {
      throw .usage("a callback can't call the plugin that called it: that call waits for the callback")
    }
    return scope
  }

  /// Calls through the run. `callbacks`: nil where the plugin has nothing to call.
  private func ask(
    _ run: UInt64, _ call: HostMessage.Call, _ signature: CallSignature?, _ ticket: CallTicket,
    lane: CallLane? = nil, callbacks: [UInt8: CallbackAnswer]? = nil, scope: Set<CallbackScope>,
    within limit: Duration?
  ) async throws(HostError) -> RunnerMessage.CallResult {
    let result: Result<RunnerMessage.CallResult, HostError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        loop.submit { [self] in
          lane?.arrived()
          guard let found = runs[run] else {
            let report = endedReport(of: run)
            return continuation.resume(returning: .failure(report.map { .ended($0) } ?? .failed("the run has ended")))
          }
          if let callbacks {
            found.callbacks.add(callbacks, scope.union([CallbackScope(core: self, run: run)]), for: ticket.id)
          }
          found.call(call, signature, ticket, within: limit) { continuation.resume(returning: $0) }
        }
      }
    } onCancel: {
      ticket.cancel()
      loop.submit { [self] in runs[run]?.cancel(ticket) }
    }
    return try result.get()
  }

  /// A callback that any call of the run's may call, until it is taken away with nil.
  func setCallback(_ number: UInt8, _ answer: CallbackAnswer?, of run: UInt64) async {
    await onLoop { core in
      guard let answer else { return core.runs[run]?.callbacks.unregister(number) ?? () }
      core.runs[run]?.callbacks.register(number, answer, CallbackScope(core: core, run: run))
    }
  }

  /// Waits for the answer to a call that was begun in the lane, and has the run watch it from now on.
  private func meet(
    _ run: UInt64, _ ticket: CallTicket, _ lane: CallLane
  ) async -> Result<RunnerMessage.CallResult, HostError> {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        lane.meet(ticket.id) { continuation.resume(returning: $0) }
        loop.submit { [self] in runs[run]?.takeOver() }
      }
    } onCancel: {
      loop.submit { [self] in runs[run]?.cancel(ticket) }
    }
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

  /// Returns when the run has ended, for any reason. It isn't ended for this.
  func awaitEnd(of run: UInt64) async {
    await withCheckedContinuation { continuation in
      loop.submit { [self] in
        guard let found = runs[run] else { return continuation.resume() }
        found.awaitEnd { _ in continuation.resume() }
      }
    }
  }

  func discard(_ run: UInt64) {
    loop.submit { [self] in
      ended[run] = nil
      runs[run]?.end { [self] _ in forget(run) }
    }
  }

  func serverProcess() async -> Int32? { await onLoop { $0.pool.lastServer?.process } }

  func cgroupCount() async -> Int { await onLoop { $0.cgroups.count } }

  func spareIsReady() async -> Bool { await onLoop { $0.pool.spare($0.pool.last).isReady } }

  /// Whether a call, or what an extension began, goes on.
  func isBusy(_ run: UInt64) async -> Bool {
    await onLoop { core in
      guard let run = core.runs[run] else { return false }
      // The run hasn't been told yet of a call that was made in the lane.
      run.takeOver()
      return !run.machine.isFree
    }
  }

  func runnerProcess(_ run: UInt64) async -> Int32? { await onLoop { $0.runs[run]?.meter.process } }

  /// Starts the fork server, if need be, and returns when it has a spare runner, or can't have one.
  func prepare(_ preload: Preload) async throws(HostError) {
    guard pool.settings.keepsSpare else { return }
    let started = await onLoop { core in Result { () throws(HostError) in _ = try core.pool.standingServer(preload) } }
    try started.get()
    await withCheckedContinuation { continuation in
      loop.submit { [self] in pool.spare(preload).whenReady(continuation) }
    }
  }

  /// What the last load needed.
  func lastPreload() async -> Preload { await onLoop { $0.pool.last } }

  func walls(_ policy: Policy, proof: [Canary.Finding]) async throws(HostError) -> [Wall: WallState] {
    let result = await onLoop { core in
      Result { () throws(HostError) in
        let server = try core.pool.standingServer(core.pool.last)
        let image = try PluginImage(opening: "libc.so.6", searching: true)
        return try core.planner(server).plan(of: image, policy).walls(cgroup: core.cgroups.state, proof: proof)
      }
    }
    return try result.get()
  }

  func manifestPath(_ run: UInt64) -> String { manifests.withLock { $0[run] ?? "" } }

  // MARK: On the loop

  /// nil where the run wasn't ended by its plugin's owner.
  func endedReport(of run: UInt64) -> RunReport? { ended[run] }

  func newRun() -> UInt64 {
    lastRun += 1
    return lastRun
  }

  func add(_ run: Run) {
    runs.add(run)
    manifests.withLock { $0[run.id] = run.plan.view.manifest }
  }

  /// What a run writes in whose caller named no container. It goes with the run.
  func makeFolder(of run: UInt64, _ server: ForkServerClient) throws(HostError) -> String {
    do throws(SystemCallError) {
      let folder = try folders.take(for: run)
      // Its own owner needs no id map.
      if server.hasOwnIdentity { try checkErrno("chown", folder) { chown(folder, server.uid, server.gid) } }
      return folder
    } catch {
      throw .failed(
        "\(error.subject): no folder can be made for the plugin to write in: \(SystemCallError.message(error.code)); make that possible, or name a folder (--container)"
      )
    }
  }

  /// `done`: called on the loop when nothing of the run is left.
  func forget(_ run: UInt64, then done: @escaping () -> Void = {}) {
    let plan = runs.remove(run)?.plan
    manifests.withLock { $0[run] = nil }
    let cold = pool.takeDedicated(of: run)
    if leaving[run] != nil {
      leaving[run]?.append(done)
      return
    }
    // In the host's own folder it goes with that.
    let replacements =
      folders.has(run) ? nil : plan.flatMap { $0.replacements.isThere(in: $0.container) ? $0 : nil }
    let hasFolder = !folders.removeEmpty(of: run)
    guard cold != nil || hasFolder || replacements != nil else { return done() }
    leaving[run] = [done]
    workers.submit { [self] in
      cold?.stop()
      if hasFolder { folders.remove(of: run) }
      if let replacements { replacements.replacements.remove(from: replacements.container) }
      loop.submit { [self] in for tell in leaving.removeValue(forKey: run) ?? [] { tell() } }
    }
  }
}
