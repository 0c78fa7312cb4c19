internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// What the fork server says of a run, and what the watchdog decides for it.
extension Run {
  // MARK: What the fork server says

  /// `process`: the handle, which is the server's to send; without it the kernel found no room for it here. `cpu`: what the
  /// process has used so far.
  func spawned(_ process: consuming OwnedDescriptor?, cpu: Duration) {
    meter.spawned(cpu: cpu)
    stopAwaitingServer()
    guard let process else { return runOutOfDescriptors() }
    // While the runner closes its walls: afterwards it would wait for this.
    if OpenFiles.isExhausted(channels.take(process: process)) { runOutOfDescriptors() }
    handle(.handleArrived)
  }

  func spawnFailed(_ reason: String, _ code: Int32) {
    let isExhausted = OpenFiles.isExhausted(code)
    let sentence = "no runner could be made: \(reason)" + (isExhausted ? "; raise the limit (ulimit -n)" : "")
    handle(.gone(verdict: Outcome(.hostFailed, sentence), exhaustion: isExhausted ? sentence : nil))
  }

  func serverDied(_ reason: String) { handle(.gone(verdict: Outcome(.hostFailed, reason))) }

  func exited(_ exit: ServerEvent.Exit) {
    // What the runner said before it ended is still in the channels.
    // No more than the sockets' buffers hold.
    while !receiveService() {}
    while !receiveControl() {}
    receiveAnswer()
    receiveLastOutput()
    supervisor.drain()
    // It tells what was under way.
    while takeOver() {}
    handle(.gone(verdict: machine.phase.cause ?? verdict(on: exit), exit: exit))
  }

  private func verdict(on exit: ServerEvent.Exit) -> Outcome { endRule.outcome(of: exit) }

  var endRule: EndRule {
    let limits = plan.policy.limits
    var rule = EndRule(
      phase: machine.phase.moment, hadBegun: !machine.phase.isClosingWalls, cpuTotal: limits.cpuTotal,
      lastWord: machine.lastWord)
    rule.startsPrograms = plan.policy.startsPrograms
    rule.hasSanitizerInWalls = !plan.options.isBare && Sanitizer.library(of: plan.image) != nil
    if machine.phase.isLoading, plan.image.isCutShort { rule.cutShort = Printable.text(plan.image.library.path) }
    rule.filterKills = !plan.machine.hasListener && !plan.options.open.contains(.seccomp)
    switch meter.noteKillForMemory() {
    case .atLimit: rule.exceededMemory = limits.memory
    case .around: rule.lackedMemory = true
    case .noProcess, nil: break
    }
    return rule
  }

  /// What ends a run for what its processes do together; nil: nothing yet. The kernel ends one of them for memory, and the run is over
  /// for all.
  private func endForProcesses(_ family: ProcessFamily) -> Outcome? {
    if let outcome = endRule.memoryOutcome { return outcome }
    // Each look at them would take longer than the last.
    if family.zombies > Policy.maxProcesses {
      return Outcome(
        .policyViolation,
        "more than \(Policy.maxProcesses) of its processes have ended and weren't waited for (wait(2)) \(machine.phase.moment)"
      )
    }
    let maxProcesses = plan.policy.processes
    guard family.others > maxProcesses else { return nil }
    supervisor.record(.init(wall: "limits", operation: "fork", target: "\(family.others) of \(maxProcesses)", count: 1))
    return Outcome(
      .policyViolation,
      "it had \(family.others) processes beside its own at one time, and the policy allows \(maxProcesses) \(machine.phase.moment)"
    )
  }

  // MARK: A server that says nothing

  /// From now on the server's next word of this run is due: that there is a runner, or that there is none any more.
  func awaitServer() {
    guard machine.phase.report == nil, server.silence.begin() else { return }
    lookAtServer()
  }

  private func stopAwaitingServer() {
    server.silence.end()
    loop.setTimer(timers[.server], at: nil)
  }

  private func lookAtServer() {
    var isExhausted = false
    if case .ending(let ending) = machine.phase {
      isExhausted = ending.exhaustion != nil
      // What the server was asked may have been lost; what this host sent wasn't.
      signal(.kill)
    }
    let client = server.client
    switch server.silence.check(
      hasHandle: channels.process >= 0, isExhausted: isExhausted, hasEnded: hasEnded, server: { client?.look() })
    {
    case .giveUp: client?.giveUp("the fork server doesn't answer")
    case .checkAgain:
      loop.setTimer(timers[.server], at: BootClock.now + ServerSilence.checkInterval) { [weak self] in
        self?.lookAgainAtServer()
      }
    }
  }

  /// Without a handle of its process, or the right to signal it, its server does it. It would end with its channel, unless its server
  /// has stopped it meanwhile.
  func signal(_ signal: RunSignal) {
    if !channels.signal(signal) { server.client?.send(signal, to: id) }
  }

  private func resumeRunner() {
    if !channels.signalRunner(.resume) { server.client?.send(.resume, to: id) }
  }

  private func lookAgainAtServer() {
    // The loop may come to this timer before it comes to what the server has said meanwhile.
    server.client?.receive()
    if server.silence.isAwaited { lookAtServer() }
  }

  // MARK: The watchdog

  func arm() {
    let now = BootClock.now
    if watchdog.isAtWork { server.lease?.extend(for: id, isCounted: meter.isCounted, at: now) }
    loop.setTimer(timers[.deadline], at: watchdog.nextTick(after: now)) { [weak self] in self?.tick() }
  }

  private func tick() {
    lookAtLane()
    // What is here already came before this host looked, however long it was stopped or the machine asleep: in time.
    if let due = watchdog.wallDeadline, BootClock.now >= due {
      server.client?.receive()
      guard machine.phase.report == nil else { return }
      receiveControl()
      receiveService()
      // How it ended is the server's to tell.
      if hasEnded { return awaitServer() }
    }
    sample()
    considerPageIn()
    arm()
  }

  /// Calls that pass there leave the plugin at work, and one that takes long is the run's to watch.
  private func lookAtLane() {
    switch lane.look(at: BootClock.now) {
    case .unused: break
    case .passed(let passed): watchdog.passed(wall: passed.wall, until: passed.until)
    case .overdue: takeOver()
    }
  }

  /// A caller may have let the runner go on.
  func lookAfterThaw() {
    guard lane.takeThaw() else { return }
    watchdog.thawed(at: BootClock.now)
    lookAtLane()
    arm()
  }

  /// Asks the threads of a plugin whose time is over where they are. What it says after this doesn't count, and it has little
  /// time to say it: no more memory, and a lease that ends with this host's attention.
  func askThreads() {
    // It may have been stopped to be looked at.
    resumeRunner()
    let all = meter.threads ?? 0
    handle(.threadsAsked(meter.askThreads(limit: ThreadStacks.maxThreads), of: all))
    awaitThreads(until: BootClock.now + Self.longestQuestion, cpu: meter.cpu + Self.questionCPU)
  }

  private var isAsking: Bool { if case .ending(let ending) = machine.phase { ending.isAsking } else { false } }

  private func awaitThreads(until due: Duration, cpu: Duration) {
    guard isAsking else { return }
    if hasEnded { return handle(.threadsOverdue) }
    let now = BootClock.now
    let memory = meter.memory(shared: supervisor.grants.shared.total) ?? 0
    if now >= due || meter.cpu >= cpu || memory > plan.policy.limits.memory { return handle(.threadsOverdue) }
    server.lease?.extend(for: id, isCounted: meter.isCounted, at: now)
    loop.setTimer(timers[.question], at: now + .milliseconds(2)) { [weak self] in
      self?.awaitThreads(until: due, cpu: cpu)
    }
  }

  /// A thread answers within a few dozen microseconds of its CPU time. Where others have the cores, it may be long until it
  /// has one.
  private static let questionCPU = Duration.milliseconds(30)
  private static let longestQuestion = Duration.milliseconds(250)

  private func considerPageIn() {
    guard !isEnding, watchdog.wallDeadline != nil else { return }
    meter.considerPageIn(
      at: BootClock.now, loop,
      .init(stop: { self.stopRunner() }, ended: { [weak self] in self?.continueRunner() }))
  }

  /// Its server stopped it, because this host wasn't looking. That time isn't the plugin's.
  func stood(still since: Duration) {
    takeOver()
    if isAsking { return resumeRunner() }
    guard !isEnding else { return }
    watchdog.stood(still: since, until: BootClock.now)
    continueRunner()
    arm()
  }

  /// `hasAnswered`: the call is over, whatever the time. `mayLook`: what may have been freed is looked for, before the run ends
  /// for it.
  func sample(hasAnswered: Bool = false, mayLook: Bool = true) {
    guard !isEnding else { return }
    // One moment for all that is decided here: should this thread be stopped from now on, the next look finds that out.
    let now = BootClock.now
    watchdog.checked(at: now)
    meter.callMemory = lane.share
    var memory = meter.memory(shared: supervisor.grants.shared.total)
    if mayLook, supervisor.looksFirst(at: memory) { memory = nil }
    if !meter.isCounted, meter.staysHidden(at: now, isEnding: { machine.lastWord != nil || hasEnded }) {
      return kill(
        Outcome(.memoryExceeded, "its first thread has ended, and /proc shows this user nothing of what the others use")
      )
    }
    let cpu = meter.cpu
    if let family = meter.family, let outcome = endForProcesses(family) { return kill(outcome) }
    let due = watchdog.wallDeadline
    switch watchdog.tick(at: now, cpu: cpu, memory: memory, hasAnswered: hasAnswered) {
    case .none: break
    // One signal stops the whole tree: cgroup.freeze would do no more, and takes six times as long of this thread's time.
    case .freeze:
      guard lane.freeze({ stopRunner() }) else {
        // A caller has just begun a call.
        watchdog.thawed(at: now)
        takeOver()
        return
      }
      server.lease?.release(id)
    case .kill(let verdict):
      if case .wallTimeExceeded = verdict { meter.deadline = due }
      kill(verdict.outcome(isLoading: isLoading, waited: watchdog.waited))
    }
  }
}

extension Run: SupervisedRun {
  var isLoading: Bool { machine.phase.isLoading }
  var moment: String {
    // A call of the lane's is the run's to tell of.
    takeOver()
    return machine.phase.moment
  }
  var isEnding: Bool { machine.phase.cause != nil }
  var pid: pid_t { channels.pid }
  var hasEnded: Bool { channels.hasEnded }

  func stopRunner() { signal(.stop) }

  func continueRunner() {
    guard !isEnding, !watchdog.isFrozen, meter.pages?.rule.isUnderWay != true, !meter.sharedLook.isUnderWay else {
      return
    }
    signal(.resume)
  }

  func sharedMemoryWasChecked() {
    sample(mayLook: false)
    arm()
  }
}
