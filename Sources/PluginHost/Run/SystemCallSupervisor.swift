internal import AssetModel
internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// What the supervisor asks of the run whose system calls it answers.
protocol SupervisedRun: AnyObject {
  /// The host's own knowledge, not the runner's word.
  var isLoading: Bool { get }
  /// What is under way, as the end of a sentence.
  var moment: String { get }
  /// Whether the first cause of its end is known.
  var isEnding: Bool { get }
  /// Its process id; 0 where it isn't known.
  var pid: pid_t { get }
  /// Whether the process is gone.
  var hasEnded: Bool { get }

  func kill(_ outcome: Outcome)
  func stopRunner()
  /// Unless something else keeps it.
  func continueRunner()
  /// A look at its memory is over: what it uses is measured anew.
  func sharedMemoryWasChecked()
}

/// Answers the system calls that a runner's filter hands to the host, and records what was denied: what observing, tracing and
/// recording build on. `NotificationPolicy` decides. Loop thread only.
final class SystemCallSupervisor {
  enum Timer: UInt8, CaseIterable { case held, look }

  /// A flood is answered in portions; between them the deadline is looked at.
  private static let portion = 32
  private static let longestPortion = Duration.milliseconds(1)
  /// A thread that has been joined is gone by then, whatever else this machine does.
  private static let longestEnd = Duration.milliseconds(100)
  private static let soonestTry = Duration.microseconds(100)
  private static let latestTry = Duration.milliseconds(2)
  /// Looking at every thread takes as long as many other calls' answers: most are gone before that.
  private static let soonestSearch = Duration.microseconds(500)
  /// A plugin that stays at its limit of threads has its host look at them for no more than one part in five of the time.
  private static let restPerSearch = 4

  let plan: SpawnPlan
  let meter: RunMeter
  let loop: EventLoop
  let timers: TimerKeys<Timer>
  weak var run: (any SupervisedRun)?
  /// The run's; -1 before the walls are closed, where there is none, and after the end.
  private(set) var listener: Int32 = -1
  private var watch: UInt64?
  private(set) var denials: DenialRecorder
  /// When the walls were closed.
  private(set) var began = Duration.zero
  /// Places of the plugin's view that held what it named, where that is wanted.
  private(set) var used: Set<String> = []
  /// What the host granted of what it has to count itself.
  var grants = NotificationPolicy.Grants()
  /// Whether the process had one thread when that was asked last.
  private var wasAlone = false
  /// Of the thread that was answered last.
  private var view: (thread: UInt32, files: FileView)?
  /// Calls that can't be decided yet, at most one of each thread, and since when they wait.
  private(set) var held: [(call: ol_notification, since: Duration)] = []
  /// What looking at every thread cost the last time that held calls were answered.
  private var searchCost = Duration.zero

  init(_ plan: SpawnPlan, _ meter: RunMeter, _ loop: EventLoop, _ feed: EventFeed) {
    denials = DenialRecorder(feed: feed)
    self.plan = plan
    self.meter = meter
    self.loop = loop
    timers = loop.newTimers()
  }

  /// The walls are closed. `listener`: stays the caller's, who ends the supervision before closing it.
  func begin(_ listener: Int32) throws(SystemCallError) {
    guard listener >= 0 else { return }
    self.listener = listener
    began = BootClock.now
    watch = try loop.watch(listener) { [unowned self] in receive() }
  }

  private func receive() {
    let end = BootClock.now + Self.longestPortion
    for index in 0..<Self.portion {
      // Others have their turn: an answer may take as long as the path that was asked about.
      if index > 0, BootClock.now >= end { return }
      // Hung up for as long as the process takes to end: nothing to be woken for.
      if ol_is_hung_up(listener) == 1 { return unwatch() }
      guard ol_poll_readable(listener, 0) == 1, answerNext() else { return }
    }
  }

  /// What was asked before the runner ended.
  func drain() {
    guard listener >= 0 else { return }
    while ol_is_hung_up(listener) == 0, ol_poll_readable(listener, 0) == 1, answerNext() {}
  }

  private func unwatch() {
    if let watch { loop.stop(watch) }
    watch = nil
  }

  func end() {
    unwatch()
    for timer in Timer.allCases { loop.setTimer(timers[timer], at: nil) }
    listener = -1
  }

  private func answerNext() -> Bool {
    var call = ol_notification()
    guard ol_seccomp_receive(listener, &call) == 0 else {
      // Hung up: no process with this filter is left.
      return false
    }
    grants.starts.noteCall(from: call.pid)
    // A signal took it out of the call that waited, and it asks anew.
    held.removeAll { $0.call.pid == call.pid }
    answer(call, since: BootClock.now) { true }
    return true
  }

  /// `since`: when it was asked.
  private func answer(_ call: ol_notification, since: Duration, isAnyEnding: () -> Bool) {
    guard let run else { return }
    // Before the threads are counted: what counts as begun by then is among them.
    let now = BootClock.now
    let mapsShared = NotificationPolicy.mapsShared(call)
    // Each time: what a grant became is certain as long as there is one alone that isn't known.
    if mapsShared, grants.shared.total > 0 {
      if lookAtOnce(during: call) {
        grants.hasLooked = true
      } else if !grants.hasLooked, !knowsGrants(before: call, asked: since, at: now) {
        hold(call, since: since, at: now)
        return looksForGrant(asked: since, at: now)
      }
    }
    if !grants.starts.isEmpty, SystemCalls.name(of: call.number) == "clone" {
      grants.starts.forgetBegun(at: now, hasBegun: ThreadProgress.isBeyondClone)
    }
    let decision = decide(call, for: run, at: now) { now - since < Self.longestEnd && isAnyEnding() }
    var denial: RunReport.Denial?
    switch decision {
    case .proceed:
      if awaitsCode(call) { return hold(call, since: since, at: now) }
      denial = noteCode(of: call)
    case .hold, .count: return hold(call, since: since, at: now)
    case .look:
      hold(call, since: since, at: now)
      return beginLook(using: meter.memory(shared: grants.shared.total) ?? 0)
    case .grant(.thread(let asker, let now)):
      grants.add(.thread(asker: asker, at: now), used: ThreadProgress.used(by: asker))
    case .grant(let grant): grants.add(grant)
    case .foreign(let name):
      run.kill(Outcome(.policyViolation, "it made a system call of another architecture (\(name)) \(run.moment)"))
    case .note(let name, let paths):
      denial = noteExhaustion(name, of: call)
      // The calling process exists now, and may have ended before the next look.
      if name == "execve" { meter.family?.count() }
      for argument in paths { denial = note(name, argument, of: call) ?? denial }
    case .deny(let wall, let name, let target, _, let kills):
      let row = denialRow(wall, name, target, of: call)
      denials.record(row)
      denial = row
      if kills {
        let isStart = name == "clone" && SystemCalls.makesProcess(call.arguments.0)
        let what = "\(name)(\(row.target))" + (isStart ? ", which starts another process," : "")
        run.kill(Outcome(.policyViolation, "\(what) is denied, and the policy ends a run for it"))
      }
    case .breach(let rule, let target, _, let kills):
      let row = RunReport.Denial(
        wall: "seccomp", operation: rule.call, target: target, count: 1, rule: rule.policyLine)
      denials.record(row)
      denial = row
      if kills {
        run.kill(
          Outcome(.policyViolation, "\(rule.call)(\(target)) meets a rule of the policy, which ends a run for it"))
      }
    }
    trace(call, decision, denial)
    if mapsShared { grants.hasLooked = false }
    let code: Int32 =
      switch decision {
      case .deny(_, _, _, let error, _), .breach(_, _, let error, _): error
      case .foreign: ENOSYS
      default: 0
      }
    _ = ol_seccomp_answer(listener, call.id, code)
  }

  private func decide(
    _ call: ol_notification, for run: any SupervisedRun, at now: Duration, isAnyEnding: () -> Bool
  ) -> NotificationPolicy.Decision {
    withoutActuallyEscaping(isAnyEnding) { isAnyEnding in
      func decision() -> NotificationPolicy.Decision {
        NotificationPolicy(
          policy: plan.policy, grants: grants, isLoading: run.isLoading, hidesFiles: plan.machine.hidesFiles,
          refusesTruncation: plan.refusesTruncation,
          runner: run.pid, threads: { self.meter.threads ?? Int.max }, isAnyEnding: isAnyEnding,
          traced: plan.tracedCalls, connects: plan.network != nil, now: now
        ).decide(call)
      }
      let first = decision()
      guard case .count(let estimate) = first else { return first }
      count(estimate)
      return decision()
    }
  }

  private func denialRow(_ wall: String, _ name: String, _ target: String, of call: ol_notification) -> RunReport.Denial
  {
    var row = RunReport.Denial(wall: wall, operation: name, target: target, count: 1)
    guard wall == "seccomp" else { return row }
    row.rule = plan.policy.lineRefusing(name, first: call.arguments.0)
    if let file = file(deniedTo: name, call) { row.name(file) }
    return row
  }

  private func count(_ estimate: NotificationPolicy.Estimate) {
    let begun = BootClock.now
    let processes = meter.processes
    let found: Int? =
      switch estimate {
      case _ where processes.isEmpty: nil
      case .fileLocks: HeldObjects.locks(of: processes)
      case .watches: HeldObjects.watches(of: processes)
      }
    let (end, threads) = (BootClock.now, meter.threads ?? Self.maxThreads)
    switch estimate {
    case .fileLocks: grants.fileLocks.ofProcesses.count(found, threads: threads, at: end, cost: end - begun)
    case .watches: grants.watches.count(found, threads: threads, at: end, cost: end - begun)
    }
  }

  /// Where it isn't known how many there are: none of what is held is taken for given back.
  private static let maxThreads = 1 << 20

  /// Whether the host still brings in the pages of what this call maps as code.
  private func awaitsCode(_ call: ol_notification) -> Bool {
    guard meter.pages != nil, SystemCalls.name(of: call.number) == "mmap" else { return false }
    let paths = named(by: call)
    // What the plugin may have written isn't mapped as code, and is none that a loader would read the pages of.
    guard let file = paths.codeFile, !paths.view.refusesCode(file) else { return false }
    return meter.awaitsCode(file, loop)
  }

  /// The thread waits in its call, and the deadlines go on. Each look is about as far from the last as the whole wait has
  /// been long.
  private func hold(_ call: ol_notification, since: Duration, at now: Duration) {
    held.append((call, since))
    let pause = max(min(max(now - since, Self.soonestTry), Self.latestTry), searchCost * Self.restPerSearch)
    loop.setTimer(timers[.held], at: now + pause) { [weak self] in self?.answerHeld() }
  }

  private func answerHeld() {
    // All of these were asked before, so that one search does for all.
    var found: Bool?
    searchCost = .zero
    for (call, since) in exchange(&held, with: []) where isWaiting(call) {
      answer(call, since: since) {
        let begun = BootClock.now
        guard begun - since >= Self.soonestSearch else { return true }
        if let found { return found }
        let isAnyEnding = meter.isAnyThreadEnding ?? false
        found = isAnyEnding
        searchCost = BootClock.now - begun
        return isAnyEnding
      }
    }
  }

  /// Whether the thread that asked still waits in that call: what was read of it meanwhile is its own.
  func isWaiting(_ call: ol_notification) -> Bool { ol_seccomp_is_valid(listener, call.id) == 0 }

  /// What a call names, as its thread sees files. Mostly the same thread calls again.
  func named(by call: ol_notification) -> NotifiedPaths {
    if let view, view.thread == call.pid { return NotifiedPaths(listener: listener, call: call, view: view.files) }
    let files = FileView(plan, root: "/proc/\(call.pid)/root")
    view = (call.pid, files)
    return NotifiedPaths(listener: listener, call: call, view: files)
  }

  /// Whether another thread may change what a call names. Threads are granted here, so that one that was alone still is.
  var hasThreads: Bool {
    // Another process may share the memory.
    if meter.family != nil { return true }
    if wasAlone, !grants.hasThreads { return false }
    wasAlone = meter.threads == 1
    return !wasAlone
  }

  /// A path that the plugin named: recorded where it doesn't get there.
  private func note(
    _ name: String, _ argument: SystemCalls.PathArgument, of call: ol_notification
  ) -> RunReport.Denial? {
    let paths = named(by: call)
    if plan.policy.observation.use {
      if let holder = paths.holder(name, argument) { used.insert(holder) }
      used.formUnion(paths.holdersOnTheWay(argument))
    }
    guard let first = paths.refused(name, argument) else { return nil }
    // The thread that asks stands still. Where it is the only one, what is read from here on is what the kernel will read.
    let isShared = hasThreads
    guard let refusal = isShared ? first : paths.refused(name, argument) else { return nil }
    var denial = RunReport.Denial(
      wall: "files", operation: name, target: "", count: 1, writes: refusal.writes, mayHaveChanged: isShared,
      namesLink: refusal.namesLink, readsToo: refusal.readsToo, asksToExecute: refusal.asksToExecute)
    denial.name(refusal.path)
    denials.record(denial)
    return denial
  }

  /// Code of a file that is granted without execution: its mount keeps the plugin from it, and the kernel answers EPERM.
  private func noteCode(of call: ol_notification) -> RunReport.Denial? {
    guard plan.machine.hidesFiles, SystemCalls.name(of: call.number) == "mmap" else { return nil }
    let paths = named(by: call)
    guard let file = paths.codeFile, paths.view.refusesCode(file) else { return nil }
    var denial = RunReport.Denial(wall: "files", operation: "mmap", target: "", count: 1)
    denial.name(file)
    denials.record(denial)
    return denial
  }

  /// An open(2) of a process that has as many files open as its limit allows: the kernel answers EMFILE.
  private func noteExhaustion(_ name: String, of call: ol_notification) -> RunReport.Denial? {
    let limit = plan.policy.limits.openFiles
    guard SystemCalls.opening.contains(name), OpenFiles.areAll(of: call.pid, limit: limit), isWaiting(call) else {
      return nil
    }
    let denial = RunReport.Denial(wall: "limits", operation: name, target: "\(limit) open files", count: 1)
    denials.record(denial)
    return denial
  }

  /// What something other than the filter kept it from. The first of each kind, as it happens.
  func record(_ denial: RunReport.Denial) {
    denials.record(wall: denial.wall, operation: denial.operation, target: denial.target)
  }

  /// Adds what a run's network refused, when the run ends.
  func merge(_ network: NetworkRecord) {
    for denial in network.denials { denials.merge(denial) }
    denials.drop(network.droppedDenials)
  }

  /// What code was wanted of, or what was to be executed; nil: another call, or it can't be told.
  private func file(deniedTo name: String, _ call: ol_notification) -> String? {
    switch name {
    // Code that is written, and locked and huge pages, are denied whichever file they are of: to name one would say that its grant helps.
    case "mmap" where call.arguments.3 & CallFlags.lockedOrHuge == 0 && !CallFlags.isWritable(call.arguments.2):
      named(by: call).codeFile
    case "execve": named(by: call).given(.init(path: 0))
    default: nil
    }
  }
}
