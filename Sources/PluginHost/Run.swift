internal import AssetModel
internal import CLinux
internal import Dispatch
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Logging
internal import Sandbox

/// One runner from its fork to its end: its channels, its watchdog, its denials, its first cause. Lives on the loop's
/// thread; everything that it decides, `Watchdog` and the protocol's codecs decide for it.
final class Run {
  typealias Completion = (Result<RunnerMessage.CallResult, HostError>) -> Void

  enum Waiting {
    case load((Result<RunnerMessage.LoadedImage, HostError>) -> Void)
    case call(HostMessage.Call, Completion)
  }

  enum Timer: UInt64, CaseIterable {
    case deadline, controlBacklog, serviceBacklog, sending, closing, server, held, turn, look
  }

  let id: UInt64
  let plan: SpawnPlan
  let loop: EventLoop
  var cgroup: RunCgroup?
  let requested: Duration
  let control: Int32
  let service: Int32
  let output: Int32
  var keys: [UInt64] = []
  var pidfd: Int32 = -1
  /// The runner's, once its server has told.
  var pid: pid_t = 0
  /// What came with `settled`, until the meters have it.
  var status: Int32 = -1
  var maps: Int32 = -1
  var hasSettled = false
  /// Since when nothing of the runner's memory can be seen.
  private var hiddenSince: Duration?
  var listener: Int32 = -1
  var listenerKey: UInt64?
  var namespace: Int32 = -1
  /// From the moment when the walls are closed.
  var meters: Meters?
  var openedMeters: Meters?
  /// From the moment when the limit of the cgroup holds.
  var pageIn: PageInRule?
  var pageReader: PageReader?
  /// Bytes in the cgroup that aren't the plugin's.
  var cgroupBaseline: Int?
  var watchdog: Watchdog
  var controlFrames: FrameAssembler
  var serviceFrames: FrameAssembler
  var denials = DenialRecorder()
  var log: LogRecorder
  var scheduled = ScheduledDownloads()
  /// Where the host's client answers what the extension asks; nil: this run does.
  var relay: ServiceRelay?
  var statuses: [RunReport.Status] = []
  /// What the host granted of what it has to count itself.
  var grants = NotificationPolicy.Grants()
  var sharedLook = SharedMemoryLook()
  /// Calls that can't be decided yet, at most one of each thread, and since when they wait.
  var held: [(call: ol_notification, since: Duration)] = []
  var waiting: Waiting?
  /// Which call that is, and those behind it.
  var line = CallLine()
  /// Of the function that is called; nil for an entry point.
  var signature: CallSignature?
  var nextCall: UInt64 = 1
  var isLoading = true
  var isClosed = false
  var activities = 0
  var heldResult: RunnerMessage.CallResult?
  /// Whether everything that was said before that result has been heard.
  var isHeldResultDue = false
  var cause: Outcome?
  var lastWord: EndRule.LastWord?
  /// What a load is told that the host had no descriptors for.
  var exhaustion: String?
  var killedAt: Duration?
  var deadline: Duration?
  var outbox: [(channel: Int32, bytes: ArraySlice<UInt8>)] = []
  var earlyWalls: RunnerMessage.WallReport?
  var usage = RunReport.Usage()
  var endings: [(RunReport) -> Void] = []
  private(set) var report: RunReport?
  var answerWait = AnswerWait()
  var waits: AnswerWait.Way = .asleep
  var lastCall = Duration.zero
  var sentAt = Duration.zero
  var isExtension = true
  let walls: [Wall: WallState]
  var onEnd: (() -> Void)?
  /// Whether the host has no other plugin.
  var isAlone: (() -> Bool)?
  /// After each call, and after the end.
  var onRest: (() -> Void)?
  /// What the process had used before it was this run's.
  private var cpuBefore = Duration.zero
  weak var server: ForkServerClient?
  /// Whether the server's word of the runner's beginning or end is due.
  var awaitsServer = false

  private static let cores = sysconf(Int32(_SC_NPROCESSORS_ONLN))

  init(
    id: UInt64, plan: SpawnPlan, loop: EventLoop, cgroup: RunCgroup?, walls: [Wall: WallState], control: Int32,
    service: Int32, output: Int32, requested: Duration
  ) {
    self.id = id
    self.plan = plan
    self.loop = loop
    self.cgroup = cgroup
    self.walls = walls
    self.control = control
    self.service = service
    self.output = output
    self.requested = requested
    let limits = plan.policy.limits
    watchdog = Watchdog(
      limits: limits, cores: Self.cores, hasMemoryCgroup: cgroup != nil, now: requested)
    controlFrames = FrameAssembler(longestPayload: limits.frameBytes)
    serviceFrames = FrameAssembler(longestPayload: limits.frameBytes)
    log = LogRecorder(limit: limits.logBytes)
  }

  // MARK: What the host wants

  func start(
    _ ticket: CallTicket, _ completion: @escaping (Result<RunnerMessage.LoadedImage, HostError>) -> Void
  ) {
    waiting = .load(completion)
    line.current = ticket
    do {
      for descriptor in [control, service, output] {
        try check("fcntl", "\(descriptor)") { ol_set_nonblocking(descriptor) }
      }
      keys.append(try loop.watch(control) { [unowned self] in receiveControl() })
      keys.append(try loop.watch(service) { [unowned self] in receiveService() })
      keys.append(try loop.watch(output) { [unowned self] in receiveOutput() })
      awaitServer()
      arm()
    } catch {
      fail(error)
    }
  }

  /// Sends what nobody is before.
  func begin(_ call: HostMessage.Call, _ signature: CallSignature?, _ completion: @escaping Completion) {
    let frame = HostMessage.call(call).frame(id: nextCall + 1)
    do throws(HostError) {
      try CallBounds.check(frame, signature, frameBytes: plan.policy.limits.frameBytes)
    } catch {
      return completion(.failure(error))
    }
    waiting = .call(call, completion)
    self.signature = signature
    thaw()
    watchdog.callBegan(at: BootClock.now, cpu: cpu())
    countWaiting()
    nextCall += 1
    sentAt = BootClock.now
    send(frame, on: control)
    arm()
    awaitShortAnswer()
  }

  func thaw() { if watchdog.isFrozen { _ = ol_pidfd_signal(pidfd, SIGCONT) } }

  /// A call that is answered at once is waited for on its own channel.
  func awaitShortAnswer() {
    let end = sentAt + AnswerWait.patience
    waits = answerWait.way(cores: Self.cores)
    while waiting != nil, cause == nil {
      let left = end - BootClock.now
      guard left > .zero else { return }
      if waits == .asleep, ol_await_readable(control, Int(left.inNanoseconds)) != 1 { return }
      receiveControl()
    }
  }

  func end(_ completion: @escaping (RunReport) -> Void) {
    if let report { return completion(report) }
    endings.append(completion)
    kill(Outcome(.returned, ""))
  }

  // MARK: What the fork server says

  func spawned(pidfd: Int32, cpuBefore: Duration) {
    self.pidfd = pidfd
    self.cpuBefore = cpuBefore
    stopAwaitingServer()
    // Its number is the server's to send: without it the kernel found no room for it here.
    guard pidfd >= 0 else { return runOutOfDescriptors() }
    // While the runner closes its walls: afterwards it would wait for this.
    if OpenFiles.isExhausted(ol_pidfd_pid(pidfd, &pid)) { runOutOfDescriptors() }
    if cause != nil {
      _ = ol_pidfd_signal(pidfd, SIGKILL)
      awaitServer()
    }
    if let early = earlyWalls {
      earlyWalls = nil
      wallsClosed(early)
    }
  }

  func spawnFailed(_ reason: String, _ code: Int32) {
    if OpenFiles.isExhausted(code) { exhaustion = "no runner could be made: \(reason); raise the limit (ulimit -n)" }
    cause = cause ?? Outcome(.hostFailed, exhaustion ?? "no runner could be made: \(reason)")
    finish(exit: nil)
  }

  func serverDied(_ reason: String) {
    cause = cause ?? Outcome(.hostFailed, reason)
    finish(exit: nil)
  }

  func exited(_ exit: ServerEvent.Exit) {
    // What the runner said before it ended is still in the channels.
    // No more than the sockets' buffers hold.
    while !receiveService() {}
    while !receiveControl() {}
    receiveLastOutput()
    if listener >= 0 { drainListener() }
    if cause == nil { cause = verdict(on: exit) }
    finish(exit: exit)
  }

  // MARK: The watchdog

  /// The name of one of this run's timers on the loop.
  func key(_ timer: Timer) -> UInt64 { id << 4 | timer.rawValue }

  func arm() {
    let now = BootClock.now
    if watchdog.isAtWork { server?.lease?.extend(for: id, isCounted: cgroup != nil, at: now) }
    loop.setTimer(key(.deadline), at: watchdog.nextTick(after: now)) { [weak self] in self?.tick() }
  }

  func tick() {
    // What is here already came before this host looked, however long it was stopped or the machine asleep: in time.
    if let due = watchdog.wallDeadline, BootClock.now >= due {
      server?.receive()
      guard report == nil else { return }
      receiveControl()
      receiveService()
      // How it ended is the server's to tell.
      if hasEnded { return awaitServer() }
    }
    sample()
    considerPageIn(at: BootClock.now)
    arm()
  }

  /// Its server stopped it, because this host wasn't looking. That time isn't the plugin's.
  func stood(still since: Duration) {
    guard report == nil, cause == nil else { return }
    watchdog.stood(still: since, until: BootClock.now)
    continueRunner()
    arm()
  }

  var process: Int32? { meters?.pid }

  /// CPU time of this run.
  func cpu() -> Duration { meters?.cpu().map { $0 - cpuBefore } ?? .zero }

  /// `hasAnswered`: the call is over, whatever the time. `mayLook`: what may have been freed is looked for, before the run ends
  /// for it.
  func sample(hasAnswered: Bool = false, mayLook: Bool = true) {
    guard report == nil, cause == nil else { return }
    let now = BootClock.now
    var memory = memory()
    if mayLook, looksFirst(at: memory) { memory = nil }
    if cgroup == nil, staysHidden(at: now) {
      return kill(
        Outcome(.memoryExceeded, "its first thread has ended, and /proc shows this user nothing of what the others use")
      )
    }
    let due = watchdog.wallDeadline
    switch watchdog.tick(at: now, cpu: cpu(), memory: memory, hasAnswered: hasAnswered) {
    case .none: break
    // One process is the tree: cgroup.freeze would do no more, and takes six times as long of this thread's time.
    case .freeze:
      _ = ol_pidfd_signal(pidfd, SIGSTOP)
      server?.lease?.rest(id)
    case .kill(let verdict):
      let phase = isLoading ? " while loading" : ""
      switch verdict {
      case .wallTimeExceeded(let limit):
        deadline = due
        let waited = watchdog.waited
        let beside = waited > .zero ? ", beside \(waited.formatted) of waiting for exclusive control" : ""
        kill(Outcome(.wallTimeExceeded, "one call may take \(limit.formatted)\(beside)\(phase)"))
      case .cpuTimeExceeded(let limit, let used):
        kill(Outcome(.cpuTimeExceeded, "used \(used.formatted) of \(limit.formatted) CPU time\(phase)"))
      case .memoryExceeded(let limit, let used):
        kill(
          Outcome(
            .memoryExceeded, "used \(used >> 10) KiB of \(limit >> 10) KiB (anonymous, shared and page tables)\(phase)")
        )
      case .preparationTimeExceeded(let limit):
        kill(Outcome(.hostFailed, "the runner hadn't closed its walls after \(limit.formatted); load the plugin again"))
      }
    }
  }

  /// A process that is just ending looks the same for a moment.
  private func staysHidden(at now: Duration) -> Bool {
    guard lastWord == nil, meters?.isHidden ?? false else {
      hiddenSince = nil
      return false
    }
    let since = hiddenSince ?? now
    hiddenSince = since
    return now - since >= .milliseconds(10) && !hasEnded
  }

  /// With a cgroup the kernel decides, and the sample is for the report alone.
  func memory() -> Int? {
    let used = meters?.memoryBeyondBaseline(shared: grants.shared.total)
    return cgroup == nil ? used : used.map { min($0, plan.policy.limits.memory) }
  }

  /// What the samples missed: what came and went between two of them, and what no process shows. What the kernel charges in
  /// advance, 64 pages for each core, is no reason to look closer.
  private func peakInCgroup() -> Int {
    guard let cgroup, let cgroupBaseline, meters != nil else { return 0 }
    let peak = cgroup.peak(beyond: cgroupBaseline + watchdog.peakMemory + 512 << 10)
    return min(max(peak - cgroupBaseline, 0), plan.policy.limits.memory)
  }

  // MARK: The end

  func violate(_ what: String) { kill(Outcome(.protocolViolation, Printable.text(what, limit: 300))) }
  func failHost(_ why: String) { kill(Outcome(.hostFailed, why)) }

  /// The first cause wins. The end is reported when the process is gone.
  func kill(_ outcome: Outcome) {
    guard cause == nil, report == nil else { return }
    cause = outcome
    pageReader?.cancel()
    server?.lease?.rest(id)
    killedAt = BootClock.now
    watchdog.end(at: BootClock.now)
    loop.setTimer(key(.deadline), at: nil) {}
    awaitServer()
    guard pidfd >= 0 else { return }
    _ = ol_pidfd_signal(pidfd, SIGKILL)
    helpToEnd()
  }

  /// Most of a process's end is unmapping what it had mapped. Another core can do half of that: this thread's own, unless
  /// it has other plugins to look after.
  private func helpToEnd() {
    guard Self.cores > 1 else { return }
    if isAlone?() ?? false {
      _ = ol_pidfd_release_memory(pidfd)
      return
    }
    let process = fcntl(pidfd, F_DUPFD_CLOEXEC, 0)
    guard process >= 0 else { return }
    DispatchQueue.global().async {
      _ = ol_pidfd_release_memory(process)
      close(process)
    }
  }

  /// What was under way.
  var phase: String { isLoading ? "while loading" : waiting == nil ? "between calls" : "in a call" }

  func verdict(on exit: ServerEvent.Exit) -> Outcome {
    let limits = plan.policy.limits
    var rule = EndRule(phase: phase, hadBegun: meters != nil, cpuTotal: limits.cpuTotal, lastWord: lastWord)
    rule.filterKills = !plan.machine.hasListener && !plan.open.contains(.seccomp)
    if cgroup?.hasKilled == true {
      usage.peakMemoryBytes = limits.memory
      rule.exceededMemory = limits.memory
    }
    return rule.outcome(of: exit)
  }

  func finish(exit: ServerEvent.Exit?) {
    guard report == nil, let outcome = cause else { return }
    let now = BootClock.now
    watchdog.end(at: now)
    usage.wallSeconds = watchdog.wall.inSeconds
    usage.peakMemoryBytes = max(usage.peakMemoryBytes, watchdog.peakMemory, peakInCgroup())
    // The kernel's two clocks differ by less than a tick, and neither runs backwards for a reader of one.
    if let exit { usage.cpuSeconds = max(Double(exit.cpuNanoseconds) / 1e9 - cpuBefore.inSeconds, 0) }
    if let killedAt { usage.goneSeconds = (now - killedAt).inSeconds }
    if let deadline { usage.overrunSeconds = (now - deadline).inSeconds }
    let report = RunReport(
      outcome: outcome, plugin: .init(path: plan.image.library.path, sha256: plan.image.digest), usage: usage,
      denials: denials.denials, droppedDenials: denials.dropped, log: log.lines,
      droppedLogBytes: log.droppedBytes, droppedLogLines: log.droppedLines, walls: walls,
      meters: [
        "wall": "CLOCK_BOOTTIME, from the call to its return",
        "cpu": "the process's CPU clock, all threads",
        "memory": cgroup.map { "memory cgroup v\($0.version == .one ? 1 : 2), and RssAnon + RssShmem + VmSwap + VmPTE" }
          ?? "RssAnon + shared memory granted and not freed + VmSwap + VmPTE, every millisecond of a call",
      ], scheduled: scheduled.downloads, statuses: statuses)
    self.report = report
    relay?.end()
    stopWatching()
    switch waiting {
    case .load(let completion): completion(.failure(exhaustion.map { .exhausted($0) } ?? .ended(report)))
    case .call(_, let completion): completion(.failure(.ended(report)))
    case nil: break
    }
    waiting = nil
    failLine(report)
    for ending in endings { ending(report) }
    endings = []
    closeDescriptors()
    onEnd?()
    onRest?()
  }

  private func stopWatching() {
    isClosed = true
    pageReader?.cancel()
    server?.lease?.rest(id)
    for timer in Timer.allCases { loop.setTimer(key(timer), at: nil) {} }
    for key in keys { loop.stop(key) }
    keys = []
    stopListening()
  }

  private func closeDescriptors() {
    for descriptor in [control, service, output, pidfd, status, maps, listener] where descriptor >= 0 {
      close(descriptor)
    }
    meters = nil
    openedMeters = nil
    if namespace >= 0 {
      // Taking it apart waits for the kernel; this thread has deadlines to keep.
      let namespace = namespace
      DispatchQueue.global().async { close(namespace) }
    }
  }

  var expectsListener: Bool { plan.machine.hasListener && !plan.open.contains(.seccomp) }
}
