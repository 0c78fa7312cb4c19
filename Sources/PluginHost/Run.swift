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
  enum Waiting {
    case load((Result<RunnerMessage.LoadedImage, HostError>) -> Void)
    case call(HostMessage.Call, (Result<RunnerMessage.CallResult, HostError>) -> Void)
  }

  let id: UInt64
  let plan: SpawnPlan
  let loop: EventLoop
  let cgroup: RunCgroup?
  let requested: Duration
  private let control: Int32
  private let service: Int32
  private let output: Int32
  private var keys: [UInt64] = []
  private var pidfd: Int32 = -1
  private var listener: Int32 = -1
  private var listenerKey: UInt64?
  private var namespace: Int32 = -1
  private var meters: Meters?
  private var watchdog: Watchdog
  private var controlFrames: FrameAssembler
  private var serviceFrames: FrameAssembler
  private var denials = DenialRecorder()
  private var log: LogRecorder
  private var scheduled: [Download] = []
  private var waiting: Waiting?
  private var nextCall: UInt64 = 1
  private var isLoading = true
  private var isClosed = false
  private var activities = 0
  private var heldResult: RunnerMessage.CallResult?
  private var cause: Outcome?
  private var crash: RunnerMessage.CrashSite?
  private var killedAt: Duration?
  private var deadline: Duration?
  private var outbox: [(channel: Int32, bytes: ArraySlice<UInt8>)] = []
  private var earlyWalls: RunnerMessage.WallReport?
  private var usage = RunReport.Usage()
  private var endings: [(RunReport) -> Void] = []
  private(set) var report: RunReport?
  private let walls: [Wall: WallState]
  var onEnd: (() -> Void)?
  weak var server: ForkServerClient?

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

  func start(_ completion: @escaping (Result<RunnerMessage.LoadedImage, HostError>) -> Void) {
    waiting = .load(completion)
    do {
      for descriptor in [control, service, output] { try check("fcntl", "\(descriptor)") { ol_set_nonblocking(descriptor) } }
      keys.append(try loop.watch(control) { [unowned self] in receiveControl() })
      keys.append(try loop.watch(service) { [unowned self] in receiveService() })
      keys.append(try loop.watch(output) { [unowned self] in receiveOutput() })
    } catch {
      failHost(error.description)
    }
  }

  func call(_ call: HostMessage.Call, _ completion: @escaping (Result<RunnerMessage.CallResult, HostError>) -> Void) {
    if let report { return completion(.failure(.ended(report))) }
    guard waiting == nil, !isLoading else { return completion(.failure(.failed("another call is under way"))) }
    waiting = .call(call, completion)
    if watchdog.isFrozen { _ = ol_pidfd_signal(pidfd, SIGCONT) }
    watchdog.callBegan(at: BootClock.now, cpu: meters?.cpu() ?? .zero)
    nextCall += 1
    sentAt = BootClock.now
    send(HostMessage.call(call).frame(id: nextCall), on: control)
    arm()
  }

  func end(_ completion: @escaping (RunReport) -> Void) {
    if let report { return completion(report) }
    endings.append(completion)
    kill(Outcome(.returned, ""))
  }

  // MARK: What the fork server says

  func spawned(pidfd: Int32) {
    self.pidfd = pidfd
    if cause != nil { _ = ol_pidfd_signal(pidfd, SIGKILL) }
    if let early = earlyWalls {
      earlyWalls = nil
      wallsClosed(early)
    }
  }

  func spawnFailed(_ reason: String) {
    cause = cause ?? Outcome(.hostFailed, "no runner could be made: \(reason)")
    finish(exit: nil)
  }

  func serverDied(_ reason: String) {
    cause = cause ?? Outcome(.hostFailed, reason)
    finish(exit: nil)
  }

  func exited(_ exit: ServerEvent.Exit) {
    // What the runner said before it ended is still in the channels.
    receiveService()
    receiveControl()
    receiveOutput()
    if listener >= 0 { drainListener() }
    if cause == nil { cause = verdict(on: exit) }
    finish(exit: exit)
  }

  // MARK: Channels

  private func receiveControl() {
    receive(control, { self.controlFrames.append($0) }, { () throws(ProtocolViolation) in try self.controlFrames.next() }) {
      (frame) throws(ProtocolViolation) in try self.handle(RunnerMessage(frame), id: frame.id)
    }
  }

  private func receiveService() {
    receive(service, { self.serviceFrames.append($0) }, { () throws(ProtocolViolation) in try self.serviceFrames.next() }) {
      (frame) throws(ProtocolViolation) in try self.handle(ServiceRequest(frame), id: frame.id)
    }
  }

  private func receive(
    _ descriptor: Int32, _ append: (ArraySlice<UInt8>) -> Void,
    _ next: () throws(ProtocolViolation) -> Frame?, _ handle: (Frame) throws(ProtocolViolation) -> Void
  ) {
    guard !isClosed else { return }
    // A flood is read in portions, so that one plugin can't keep the thread from the others.
    for _ in 0..<16 {
      let part: Sockets.Received?
      do {
        part = try Sockets.receive(descriptor, into: &loop.buffer, flags: Int32(MSG_DONTWAIT), mostDescriptors: 2)
      } catch {
        return violate("the channel broke: \(error.description)")
      }
      guard let part else { return }
      if part.count == 0 { return closed(descriptor) }
      accept(part.descriptors)
      append(loop.buffer[0..<part.count])
      do throws(ProtocolViolation) {
        while cause == nil || descriptor == control, let frame = try next() { try handle(frame) }
      } catch {
        return violate("\(error)")
      }
      if part.count < loop.buffer.count { return }
    }
  }

  /// The listener and the mount namespace, once, from trusted code; any other descriptor is a violation.
  private func accept(_ descriptors: [Int32]) {
    for descriptor in descriptors {
      if isLoading, meters == nil, listener < 0, expectsListener {
        listener = descriptor
      } else if isLoading, meters == nil, namespace < 0 {
        namespace = descriptor
      } else {
        close(descriptor)
        violate("the plugin sent a descriptor")
      }
    }
  }

  private func closed(_ descriptor: Int32) {
    unwatch(descriptor)
    judgeClosing()
  }

  /// A runner that exits closes its channels too. One that isn't on its way out has closed them and goes on.
  private func judgeClosing() {
    loop.setTimer(id | 1 << 63, at: BootClock.now + .milliseconds(2)) { [weak self] in
      guard let self, self.report == nil else { return }
      if self.meters?.isExiting() ?? true { self.judgeClosing() } else { self.violate("the plugin closed its channel") }
    }
  }

  private func receiveOutput() {
    guard !isClosed else { return }
    var buffer = [UInt8](repeating: 0, count: 65536)
    for _ in 0..<16 {
      let count = read(output, &buffer, buffer.count)
      if count == 0 { return unwatch(output) }
      if count < 0 { return }
      log.recordOutput(buffer[0..<count])
      if count < buffer.count { return }
    }
  }

  private func unwatch(_ descriptor: Int32) {
    let index = [control, service, output].firstIndex(of: descriptor)
    if let index, keys.indices.contains(index) { loop.stop(keys[index]) }
  }

  private func send(_ frame: Frame, on channel: Int32) {
    outbox.append((channel, frame.encoded()[...]))
    if outbox.count == 1 { flush() }
  }

  /// Sends what the channels take. A runner that doesn't read keeps only itself waiting: its wall clock goes on.
  private func flush() {
    while let (channel, bytes) = outbox.first {
      var sent = 0
      let code = bytes.withUnsafeBytes { ol_send(channel, $0.baseAddress, $0.count, nil, 0, Int32(MSG_DONTWAIT), &sent) }
      switch code {
      case 0 where sent == bytes.count: outbox.removeFirst()
      case 0: outbox[0].bytes = bytes.dropFirst(sent)
      case EINTR: continue
      case EAGAIN:
        guard outbox.count < 1024 else { return violate("the plugin doesn't read its channel") }
        return loop.setTimer(id | 1 << 62, at: BootClock.now + .milliseconds(1)) { [weak self] in self?.flush() }
      // Closed: how the process ended is the server's to tell.
      default: return outbox.removeAll()
      }
    }
  }

  // MARK: Messages

  private func handle(_ message: RunnerMessage, id: UInt64) throws(ProtocolViolation) {
    switch message {
    case .wallsClosed(let report):
      guard isLoading, meters == nil, id == 0 else { throw .unexpected("wallsClosed") }
      // The runner may be faster than its server's word of it.
      if pidfd < 0 { earlyWalls = report } else { wallsClosed(report) }
    case .loaded(let image):
      guard case .load(let completion) = waiting, id == 1, meters != nil else { throw .unexpected("loaded") }
      // The inode is pinned by the mount; that nobody wrote into it since it was hashed is seen by its times.
      guard (try? Files.identity(of: plan.image.library.path)) == plan.image.library.identity else {
        return kill(Outcome(.loadFailed, "\(plan.image.library.path) was changed while it was loaded"))
      }
      isLoading = false
      waiting = nil
      callOver()
      usage.wakeSeconds = (BootClock.now - requested).inSeconds
      completion(.success(image))
    case .loadFailed(let text):
      guard case .load = waiting, id == 1 else { throw .unexpected("loadFailed") }
      kill(Outcome(.loadFailed, Printable.text(text, limit: 500)))
    case .returned(let result):
      guard case .call = waiting, id == nextCall else { throw .unexpected("an answer to call \(id)") }
      // What it logged before it returned comes first.
      receiveService()
      if activities > 0 { heldResult = result } else { complete(.success(result)) }
    case .entryPointMissing(let name):
      guard case .call = waiting, id == nextCall else { throw .unexpected("an answer to call \(id)") }
      kill(Outcome(.entryPointMissing, "the plugin has no \(Printable.text(name))"))
    case .callRefused(let text):
      guard case .call = waiting, id == nextCall else { throw .unexpected("an answer to call \(id)") }
      complete(.failure(.usage(Printable.text(text, limit: 500))))
    case .crashed(let site): crash = site
    }
  }

  private(set) var lastCall = Duration.zero
  private var sentAt = Duration.zero

  private func complete(_ result: Result<RunnerMessage.CallResult, HostError>) {
    guard case .call(_, let completion) = waiting else { return }
    waiting = nil
    lastCall = BootClock.now - sentAt
    callOver()
    completion(result)
  }

  private func callOver() {
    sample()
    watchdog.callEnded(at: BootClock.now)
    arm()
  }

  private func wallsClosed(_ report: RunnerMessage.WallReport) {
    if let failure = report.failures.first {
      return kill(
        Outcome(.wallUnavailable, "\(failure.step): \(SystemCallError.message(failure.code)); 'outrider doctor' says what this machine has"))
    }
    do {
      var pid: pid_t = 0
      try check("pidfd", "runner") { ol_pidfd_pid(pidfd, &pid) }
      var meters = try Meters(pid: pid)
      meters.takeBaseline()
      self.meters = consume meters
      if let cgroup { _ = try cgroup.limit(beyondBaseline: plan.policy.limits.memory) }
      if listener >= 0 { listenerKey = try loop.watch(listener) { [unowned self] in receiveNotification() } }
    } catch {
      return failHost(error.description)
    }
    let request = HostMessage.LoadRequest(
      path: plan.view.library, device: plan.image.library.identity.device, inode: plan.image.library.identity.inode,
      isExtension: isExtension, bundleIdentifier: plan.image.bundleIdentifier, bundlePath: plan.view.bundle,
      containers: [.init(group: "", path: plan.view.container)])
    watchdog.callBegan(at: BootClock.now, cpu: self.meters?.cpu() ?? .zero)
    send(HostMessage.load(request).frame(id: 1), on: control)
    arm()
  }

  var isExtension = true

  private func handle(_ request: ServiceRequest, id: UInt64) throws(ProtocolViolation) {
    switch request {
    case .log(let level, let subsystem, let category, let message):
      log.record(level: level, subsystem: subsystem, category: category, message: message)
    case .schedule(let download): reply(id, .status(schedule(download)))
    case .cancel(let identifier):
      let index = scheduled.firstIndex { $0.identifier == identifier }
      if let index { scheduled.remove(at: index) }
      reply(id, .status(index == nil ? 101 : 0))
    case .currentDownloads: reply(id, .downloads(scheduled))
    case .acquireExclusiveControl: reply(id, .status(0))
    case .releaseExclusiveControl: break
    case .beginActivity:
      activities += 1
      // Begun after the entry point had returned: the clocks go on as in a call.
      if activities == 1, waiting == nil {
        watchdog.callBegan(at: BootClock.now, cpu: meters?.cpu() ?? .zero)
        arm()
      }
    case .endActivity:
      guard activities > 0 else { throw .unexpected("endActivity without an activity") }
      activities -= 1
      guard activities == 0 else { break }
      if let result = heldResult {
        heldResult = nil
        complete(.success(result))
      } else if waiting == nil {
        callOver()
      }
    }
  }

  private func reply(_ id: UInt64, _ reply: ServiceReply) { send(reply.frame(id: id), on: service) }

  private func schedule(_ download: Download) -> Int32 {
    if case .call(.contentRequest, _) = waiting { return 50 }
    if let rejection = DownloadRules(request: nil).objection(to: download) { return rejection.code }
    if scheduled.contains(where: { $0.identifier == download.identifier }) { return 100 }
    guard scheduled.count < 10_000 else { return 102 }
    scheduled.append(download)
    return 0
  }

  // MARK: Denied calls

  private func receiveNotification() {
    // A flood is answered in portions; between them the deadline is looked at.
    for _ in 0..<32 {
      // Hung up for as long as the process takes to end: nothing to be woken for.
      if ol_is_hung_up(listener) == 1 { return stopListening() }
      guard ol_poll_readable(listener, 0) == 1, answerNotification() else { return }
    }
  }

  private func stopListening() {
    if let listenerKey { loop.stop(listenerKey) }
    listenerKey = nil
  }

  private func drainListener() { while ol_is_hung_up(listener) == 0, ol_poll_readable(listener, 0) == 1, answerNotification() {} }

  private func answerNotification() -> Bool {
    var call = ol_notification()
    guard ol_seccomp_receive(listener, &call) == 0 else {
      // Hung up: nobody is left to ask.
      return false
    }
    let decision = NotificationPolicy(
      policy: plan.policy, isLoading: isLoading, threads: { self.meters?.threads() ?? Int.max }
    ).decide(call)
    switch decision {
    case .proceed: break
    case .note(let name, let argument): note(name, path(of: call, argument))
    case .deny(let layer, let name, let target, _, let kills):
      denials.record(layer: layer, operation: name, target: target)
      if kills { kill(Outcome(.policyViolation, "\(name)(\(target)) is denied, and the policy ends a run for it")) }
    }
    var code: Int32 = 0
    if case .deny(_, _, _, let error, _) = decision { code = error }
    _ = ol_seccomp_answer(listener, call.id, code)
    return true
  }

  /// A path that the plugin named: refused by the mount namespace or by Landlock unless it lies in what was granted.
  private func note(_ name: String, _ path: String?) {
    guard let path else { return }
    let granted =
      [plan.view.bundle, plan.view.container, plan.view.temporary, plan.view.manifest, "/usr", "/lib", "/lib64", "/etc/ld.so.cache"]
      + RunnerView.devices
      + plan.policy.read + plan.policy.write + plan.machine.hello.runtime
    let isGranted = !path.hasPrefix("/") || granted.contains { path == $0 || path.hasPrefix($0 + "/") }
    if !isGranted { denials.record(layer: "files", operation: name, target: Printable.text(path)) }
  }

  private func path(of call: ol_notification, _ argument: Int) -> String? {
    let address = withUnsafeBytes(of: call.arguments) { $0.load(fromByteOffset: argument * 8, as: UInt64.self) }
    var buffer = [CChar](repeating: 0, count: 4096)
    // The number names a thread of our runner as long as the notification is valid.
    guard ol_read_remote_string(pid_t(call.pid), address, &buffer, buffer.count) == 0,
      ol_seccomp_is_valid(listener, call.id) == 0
    else { return nil }
    return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  // MARK: The watchdog

  private func arm() {
    loop.setTimer(id, at: watchdog.nextTick(after: BootClock.now)) { [weak self] in self?.tick() }
  }

  private func tick() {
    sample()
    arm()
  }

  private func sample() {
    guard report == nil, cause == nil else { return }
    let now = BootClock.now
    let due = watchdog.wallDeadline
    let cpu = meters?.cpu() ?? .zero
    let memory = cgroup == nil ? meters?.memoryBeyondBaseline() : meters?.memoryBeyondBaseline().map { min($0, plan.policy.limits.memory) }
    switch watchdog.tick(at: now, cpu: cpu, memory: memory) {
    case .none: break
    case .freeze: _ = ol_pidfd_signal(pidfd, SIGSTOP)
    case .kill(let verdict):
      let phase = isLoading ? " while loading" : ""
      switch verdict {
      case .wallTimeExceeded(let limit):
        deadline = due
        kill(Outcome(.wallTimeExceeded, "one call may take \(limit.formatted)\(phase)"))
      case .cpuTimeExceeded(let limit, let used):
        kill(Outcome(.cpuTimeExceeded, "used \(used.formatted) of \(limit.formatted) CPU time\(phase)"))
      case .memoryExceeded(let limit, let used):
        kill(Outcome(.memoryExceeded, "used \(used >> 10) KiB of \(limit >> 10) KiB (anonymous, shared and page tables)\(phase)"))
      }
    }
  }

  // MARK: The end

  private func violate(_ what: String) { kill(Outcome(.protocolViolation, Printable.text(what, limit: 300))) }
  private func failHost(_ why: String) { kill(Outcome(.hostFailed, why)) }

  /// The first cause wins. The end is reported when the process is gone.
  private func kill(_ outcome: Outcome) {
    guard cause == nil, report == nil else { return }
    cause = outcome
    killedAt = BootClock.now
    watchdog.end(at: BootClock.now)
    loop.setTimer(id, at: nil) {}
    if pidfd >= 0 { _ = ol_pidfd_signal(pidfd, SIGKILL) }
  }

  private func verdict(on exit: ServerEvent.Exit) -> Outcome {
    let phase = isLoading ? "while loading" : waiting == nil ? "between calls" : "in a call"
    if let cgroup, cgroup.hasKilled {
      usage.peakMemoryBytes = plan.policy.limits.memory
      return Outcome(.memoryExceeded, "the kernel ended it at \(plan.policy.limits.memory >> 10) KiB \(phase)")
    }
    if exit.wasSignalled, exit.status == SIGSYS {
      return Outcome(.policyViolation, "it made a system call of another architecture (i386 or x32) \(phase)")
    }
    if exit.wasSignalled, exit.status == SIGXCPU { return Outcome(.cpuTimeExceeded, "the kernel's CPU limit \(phase)") }
    if let crash { return Outcome(.crashed, CrashText.describe(crash) + " \(phase)") }
    return Outcome(
      .crashed,
      exit.wasSignalled ? "ended by \(CrashText.signal(exit.status)) \(phase)" : "exited with status \(exit.status) \(phase)")
  }

  private func finish(exit: ServerEvent.Exit?) {
    guard report == nil, let outcome = cause else { return }
    let now = BootClock.now
    watchdog.end(at: now)
    usage.wallSeconds = watchdog.wall.inSeconds
    usage.peakMemoryBytes = max(usage.peakMemoryBytes, watchdog.peakMemory)
    if let exit { usage.cpuSeconds = Double(exit.cpuNanoseconds) / 1e9 }
    if let killedAt { usage.goneSeconds = (now - killedAt).inSeconds }
    if let deadline { usage.overrunSeconds = (now - deadline).inSeconds }
    let report = RunReport(
      outcome: outcome, usage: usage, denials: denials.denials, droppedDenials: denials.dropped, log: log.lines,
      droppedLogBytes: log.dropped, walls: walls,
      meters: [
        "wall": "CLOCK_BOOTTIME, from the call to its return",
        "cpu": "the process's CPU clock, all threads",
        "memory": cgroup.map { "memory cgroup v\($0.version == .one ? 1 : 2), and RssAnon + RssShmem + VmSwap + VmPTE" }
          ?? "RssAnon + RssShmem + VmSwap + VmPTE, every millisecond of a call",
      ], scheduled: scheduled)
    self.report = report
    closeDown()
    switch waiting {
    case .load(let completion): completion(.failure(.ended(report)))
    case .call(_, let completion): completion(.failure(.ended(report)))
    case nil: break
    }
    waiting = nil
    for ending in endings { ending(report) }
    endings = []
    onEnd?()
  }

  private func closeDown() {
    isClosed = true
    loop.setTimer(id, at: nil) {}
    loop.setTimer(id | 1 << 63, at: nil) {}
    loop.setTimer(id | 1 << 62, at: nil) {}
    for key in keys { loop.stop(key) }
    keys = []
    stopListening()
    for descriptor in [control, service, output, pidfd, listener] where descriptor >= 0 { close(descriptor) }
    meters = nil
    if namespace >= 0 {
      // Taking it apart waits for the kernel; this thread has deadlines to keep.
      let namespace = namespace
      DispatchQueue.global().async { close(namespace) }
    }
  }

  private var expectsListener: Bool { plan.machine.hasListener && !plan.open.contains(.seccomp) }
}

extension Duration {
  /// `300ms`, `1.5s`.
  var formatted: String {
    let milliseconds = Double(inNanoseconds) / 1e6
    if milliseconds < 1000 { return milliseconds == milliseconds.rounded() ? "\(Int(milliseconds))ms" : "\((milliseconds * 10).rounded() / 10)ms" }
    let seconds = milliseconds / 1000
    return seconds == seconds.rounded() ? "\(Int(seconds))s" : "\((seconds * 100).rounded() / 100)s"
  }
}
