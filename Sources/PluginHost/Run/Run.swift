internal import AssetModel
internal import CLinux
internal import Dispatch
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// One runner from its request to its end. Carries out what `RunMachine` and `Watchdog` decide: `RunChannels` has its
/// descriptors, `RunMeter` measures it, `SystemCallSupervisor` answers its system calls. Loop thread only.
final class Run {
  typealias CallCompletion = (Result<RunnerMessage.CallResult, HostError>) -> Void
  typealias LoadCompletion = (Result<RunnerMessage.LoadedImage, HostError>) -> Void

  enum Timer: UInt8, CaseIterable {
    case deadline, controlBacklog, serviceBacklog, outputBacklog, sending, closing, server, turn, debugger, question
  }

  /// Who waits for what, by their tickets.
  struct Callers {
    var load: LoadCompletion?
    var calls: [UInt64: CallCompletion] = [:]
    var ends: [(RunReport) -> Void] = []
  }

  static let cores = sysconf(Int32(_SC_NPROCESSORS_ONLN))

  let id: UInt64
  let plan: SpawnPlan
  let loop: EventLoop
  let timers: TimerKeys<Timer>
  let walls: [Wall: WallState]
  private(set) var machine: RunMachine
  var channels: RunChannels
  let meter: RunMeter
  let supervisor: SystemCallSupervisor
  var watchdog: Watchdog
  let lane: CallLane
  /// nil: it has none.
  private let network: RunNetwork?
  private var callers = Callers()
  var server = RunServer()
  weak var owner: (any RunOwner)?
  /// Where the host's client answers what the extension asks; nil: this run does.
  var relay: ServiceRelay?
  let callbacks: CallbackDispatcher
  var record: RunRecord

  init(
    id: UInt64, plan: SpawnPlan, cgroup: RunCgroup?, walls: [Wall: WallState], channels: consuming RunChannels,
    lane: CallLane, network: RunNetwork?, ticket: CallTicket, requested: Duration
  ) {
    self.id = id
    self.plan = plan
    self.walls = walls
    loop = channels.loop
    timers = loop.newTimers()
    self.channels = channels
    self.channels.signalsGroup = plan.mayStartProcesses
    self.lane = lane
    self.network = network
    let limits = plan.policy.limits
    machine = RunMachine(loader: ticket.id, frameBytes: limits.frameBytes)
    meter = RunMeter(
      cgroup: cgroup, memoryLimit: limits.memory, mayStartProcesses: plan.mayStartProcesses, requested: requested)
    record = RunRecord(limits)
    supervisor = SystemCallSupervisor(plan, meter, loop, record.events)
    // What ends between two looks counts as if it had run until the second one.
    watchdog = Watchdog(
      limits: limits, cores: Self.cores, looksOften: cgroup == nil || plan.mayStartProcesses, now: requested)
    callbacks = CallbackDispatcher(loop)
    supervisor.run = self
  }

  // MARK: What the host wants

  func start(_ completion: @escaping LoadCompletion) {
    callers.load = completion
    do {
      try channels.watch { [unowned self] in receive(on: $0) }
      awaitServer()
      arm()
    } catch {
      fail(error)
    }
  }

  /// At once, or after those that were made before.
  func call(
    _ call: HostMessage.Call, _ signature: CallSignature?, _ ticket: CallTicket, within limit: Duration?,
    _ completion: @escaping CallCompletion
  ) {
    if ticket.isCancelled {
      callbacks.remove(ticket.id)
      return completion(.failure(.cancelled))
    }
    callers.calls[ticket.id] = completion
    handle(.asked(PluginCall(call: call, signature: signature, ticket: ticket.id, limit: limit)))
  }

  func cancel(_ ticket: CallTicket) {
    // A call of the lane's may have been cancelled before this run was told to take it over.
    takeOver()
    handle(.cancelled(ticket.id))
  }

  func end(_ completion: @escaping (RunReport) -> Void) {
    awaitEnd(completion)
    guard machine.phase.report == nil else { return }
    // Calls may have passed in the lane since the plugin was looked at, also where it was closed for one that came as the plugin was to
    // be frozen.
    takeOver()
    if watchdog.isAtWork { sample(hasAnswered: true) }
    kill(Outcome(.returned, ""))
  }

  func awaitEnd(_ completion: @escaping (RunReport) -> Void) {
    if let report = machine.phase.report { return completion(report) }
    callers.ends.append(completion)
  }

  /// The first cause wins. The end is reported when the process is gone.
  func kill(_ outcome: Outcome) { handle(.kill(outcome)) }

  /// A system call of the host's own, for this run, has failed.
  func fail(_ error: SystemCallError) {
    if OpenFiles.isExhausted(error.code) {
      runOutOfDescriptors()
    } else {
      kill(Outcome(.hostFailed, error.description))
    }
  }

  /// The kernel has left out a descriptor of this run: the run ends, and no other does. Only our own code is in the runner
  /// yet; the fork server ends it.
  func runOutOfDescriptors() {
    handle(.descriptorsExhausted(DescriptorBudget.sentence(limit: OpenFiles.limit, needed: nil)))
  }

  func note(lastWord word: EndRule.LastWord) { machine.note(lastWord: word) }

  func note(_ frame: RunnerMessage.StackFrame) { machine.note(frame) }

  func note(_ frame: RunnerMessage.StackFrame, of thread: UInt32) { machine.note(frame, of: thread) }

  // MARK: What is done

  func handle(_ event: RunEvent) {
    // A call that was answered just then has opened it again.
    while takeOver() {}
    for effect in machine.handle(event) { perform(effect) }
  }

  /// Closes the lane, before anything else happens to the run. A call that is under way there is the run's own from now on.
  /// False where it is closed.
  @discardableResult
  func takeOver() -> Bool {
    guard let legacy = lane.leave() else { return false }
    if legacy.isThawed { watchdog.thawed(at: BootClock.now) }
    if let passed = legacy.passed { watchdog.passed(wall: passed.wall, until: passed.until) }
    let effects = machine.handle(.tookOver(last: legacy.last, call: legacy.direct?.pluginCall))
    if let direct = legacy.direct { watchdog.callBegan(at: direct.since, cpu: meter.cpu, limit: direct.limit) }
    arm()
    for effect in effects { perform(effect) }
    return true
  }

  private func perform(_ effect: RunEffect) {
    switch effect {
    case .openMeters:
      if channels.pid > 0 { try? meter.open(&channels) }
      meter.takeBaseline()
    case .load:
      if let tell = plan.options.onReadyForDebugger {
        watchdog.prepared()
        arm()
        tell(channels.pid)
        awaitDebugger()
      } else {
        beginLoad()
      }
    case .completeLoad(let image):
      meter.loaded(at: BootClock.now)
      callers.load.take()?(.success(image))
    case .begin(let frame, let countsWait, let limit): begin(frame, countsWait: countsWait, within: limit)
    case .adopt(let call):
      let lane = lane
      callers.calls[call.ticket] = { lane.deliver(call.ticket, $0) }
      arm()
      if lane.sleepForSocket() { receiveAnswer() }
    case .drainService: receiveService()
    case .complete(let call, let result): complete(call, result)
    case .refuse(let ticket, let error):
      callbacks.remove(ticket)
      if let completion = callers.calls.removeValue(forKey: ticket) {
        completion(.failure(error))
      } else {
        callers.load.take()?(.failure(error))
      }
    case .becomeIdle(let isBusy): becomeIdle(isBusy: isBusy)
    case .resume:
      thaw()
      watchdog.activityBegan(at: BootClock.now, cpu: meter.cpu)
      arm()
    case .countWait(let counts):
      countWait(counts)
      arm()
    case .scheduleTurn:
      loop.setTimer(timers[.turn], at: BootClock.now) { [weak self] in self?.handle(.turnCame) }
    case .stop: stop()
    case .askThreads: askThreads()
    case .kill: killProcess()
    case .shutDownControl:
      lane.askNoMore()
      channels.shutDownControl()
    case .report(let cause, let exit):
      lane.runEnds()
      handle(.reported(report(cause, exit)))
    case .unwatch: unwatch()
    case .end(let report): end(report)
    }
  }

  /// No clock of the plugin's runs yet.
  private func awaitDebugger() {
    guard machine.phase.isLoading, !machine.phase.isDying, !channels.hasEnded else { return }
    if DebuggerWait.isOver(channels.pid) { return beginLoad() }
    loop.setTimer(timers[.debugger], at: BootClock.now + DebuggerWait.betweenLooks) { [weak self] in
      self?.awaitDebugger()
    }
  }

  private func beginLoad() {
    do {
      // The runner may have been faster than its server's word of it.
      try meter.open(&channels)
      meter.takeBaseline()
      guard try meter.begin() else {
        let limit = plan.policy.limits.memory
        return kill(Outcome(.memoryExceeded, "\(limit) bytes are less than what loading anything takes"))
      }
      meter.beginPageIn(plan.places)
      try supervisor.begin(channels.listener)
      try beginNetwork()
    } catch {
      return fail(error)
    }
    watchdog.callBegan(at: BootClock.now, cpu: meter.cpu, after: plan.options.reading)
    ask(HostMessage.load(plan.loadRequest).frame(id: 1))
    if lane.sleepForSocket() { receiveAnswer() }
    arm()
  }

  private func beginNetwork() throws(SystemCallError) {
    nonisolated(unsafe) weak let supervisor = supervisor
    try network?.begin { [loop] denial in loop.submit { supervisor?.record(denial) } }
  }

  private func begin(_ frame: Frame, countsWait: Bool, within limit: Duration?) {
    thaw()
    watchdog.callBegan(at: BootClock.now, cpu: meter.cpu, limit: limit)
    countWait(countsWait)
    arm()
    lane.begin(at: BootClock.now)
    ask(frame)
    awaitShortAnswer()
  }

  /// A call that is answered at once is waited for on its own channel.
  private func awaitShortAnswer() {
    if lane.isShared {
      if lane.wait() { receiveAnswer() }
      if machine.phase.isAwaited, lane.sleepForSocket() { receiveAnswer() }
      return
    }
    let (way, end) = lane.choice
    while machine.phase.isAwaited {
      let left = end - BootClock.now
      guard left > .zero else { return }
      if way == .blocking, !channels.awaitControl(for: left) { return }
      receiveControl()
    }
  }

  private func thaw() { if watchdog.isFrozen { signal(.resume) } }

  private func countWait(_ counts: Bool) {
    if counts { watchdog.waitBegan(at: BootClock.now) } else { watchdog.waitEnded(at: BootClock.now) }
  }

  private func complete(_ call: PluginCall, _ result: Result<RunnerMessage.CallResult, HostError>) {
    if call.call.isReported, let name = call.call.entryPoint, case .success(let result) = result,
      case .signed(let status) = result.value
    {
      record.statuses.append(.init(entryPoint: name, status: status))
    }
    lane.end(at: BootClock.now)
    let error = callbacks.remove(call.ticket)
    callers.calls.removeValue(forKey: call.ticket)?(error.map { .failure(.callback($0)) } ?? result)
  }

  private func becomeIdle(isBusy: Bool) {
    sample(hasAnswered: true)
    if !isBusy { watchdog.callEnded(at: BootClock.now) }
    // What an extension asks for while it runs is handled between its calls and their answers.
    if machine.isFree, !plan.options.isExtension {
      let counted = meter.isCounted
      lane.open(
        after: machine.lastCall,
        .init(
          control: channels.control, service: channels.service, process: channels.process, pid: channels.pid,
          group: channels.group, lease: server.lease?.timer,
          leaseTime: counted ? Lease.durations.counted : Lease.durations.uncounted))
    }
    arm()
    owner?.runBecameIdle(self)
  }

  // MARK: The end

  private func stop() {
    lane.runEnds()
    meter.pages?.reader.cancel()
    watchdog.end(at: BootClock.now)
    loop.setTimer(timers[.deadline], at: nil)
  }

  private func killProcess() {
    loop.setTimer(timers[.question], at: nil)
    server.lease?.release(id)
    meter.killed(at: BootClock.now)
    awaitServer()
    signal(.kill)
    if channels.process >= 0 { helpToEnd() }
  }

  /// Most of a process's end is unmapping what it had mapped. Another core can do half of that: this thread's own, unless
  /// it has other plugins to look after.
  private func helpToEnd() {
    guard Self.cores > 1 else { return }
    if owner?.isAlone(self) ?? false {
      _ = ol_pidfd_release_memory(channels.process)
      return
    }
    let process = fcntl(channels.process, F_DUPFD_CLOEXEC, 0)
    guard process >= 0 else { return }
    DispatchQueue.global().async {
      _ = ol_pidfd_release_memory(process)
      close(process)
    }
  }

  private func report(_ cause: Outcome, _ exit: ServerEvent.Exit?) -> RunReport {
    let now = BootClock.now
    watchdog.end(at: now)
    let network = network?.end()
    if let network { supervisor.merge(network) }
    let denials = supervisor.denials
    var report = RunReport(
      outcome: cause, plugin: .init(path: plan.image.library.path, sha256: plan.image.digest),
      usage: meter.usage(at: now, watchdog, exit, spun: lane.spun), denials: denials.denials,
      droppedDenials: denials.dropped, log: [], droppedLogBytes: 0, droppedLogLines: 0, walls: walls,
      meters: meter.descriptions, scheduled: [], statuses: [])
    record.add(to: &report)
    report.connections = network?.connections ?? []
    if plan.policy.observation.use {
      report.usedGrants = plan.grants.filter { supervisor.used.contains($0.place) }.map(\.line)
    }
    if cause.kind == .crashed {
      report.stack = machine.stack.ofPlugin
      if case .crashed(let site) = machine.lastWord { report.fault = CrashText.fault(site) }
    }
    (report.threads, report.untoldThreads) = (machine.threads.ofPlugin, machine.threads.untold)
    return report
  }

  private func unwatch() {
    callbacks.cancel()
    relay?.end()
    channels.stopWatching()
    meter.pages?.reader.cancel()
    server.lease?.release(id)
    for timer in Timer.allCases { loop.setTimer(timers[timer], at: nil) }
    supervisor.end()
  }

  private func end(_ report: RunReport) {
    record.events.end()
    for end in exchange(&callers.ends, with: []) { end(report) }
    channels.close()
    lane.free()
    meter.end()
    owner?.runEnded(self)
    owner?.runBecameIdle(self)
  }
}
