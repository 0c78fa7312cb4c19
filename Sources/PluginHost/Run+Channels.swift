internal import AssetModel
internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// What a runner says, and what it is told. Every byte that arrives is the plugin's word.
extension Run {
  /// Frames of one channel that are handled in one go: then the loop looks at its deadlines and at the other plugins.
  private static let portion = 32
  private static let longestPortion = Duration.milliseconds(1)

  /// Whether everything that has arrived is handled; what isn't follows by itself.
  @discardableResult
  func receiveControl() -> Bool {
    receive(control, \.controlFrames, .controlBacklog) { (frame) throws(ProtocolViolation) in
      try self.handle(RunnerMessage(frame), id: frame.id)
    }
  }

  @discardableResult
  func receiveService() -> Bool {
    let isDrained = receive(service, \.serviceFrames, .serviceBacklog) { (frame) throws(ProtocolViolation) in
      try self.handle(ServiceRequest(frame), id: frame.id)
    }
    if isDrained {
      isHeldResultDue = heldResult != nil
      settleResult()
    }
    return isDrained
  }

  private func receive(
    _ descriptor: Int32, _ frames: ReferenceWritableKeyPath<Run, FrameAssembler>, _ backlog: Timer,
    _ handle: (Frame) throws(ProtocolViolation) -> Void
  ) -> Bool {
    let due = BootClock.now + Self.longestPortion
    var handled = 0
    var isMore = true
    while !isClosed {
      do throws(ProtocolViolation) {
        while listens(to: descriptor), let frame = try self[keyPath: frames].next() {
          try handle(frame)
          handled += 1
          if handled >= Self.portion || BootClock.now >= due {
            loop.setTimer(key(backlog), at: BootClock.now) { [weak self] in self?.receiveBacklog(backlog) }
            return false
          }
        }
      } catch {
        violate("\(error)")
        return true
      }
      guard isMore, BootClock.now < due, let count = fill(descriptor, frames) else { return true }
      isMore = count == loop.buffer.count
    }
    return true
  }

  /// Once a run's cause is known, only where it crashed is still of interest.
  private func listens(to descriptor: Int32) -> Bool { cause == nil || descriptor == control }

  private func receiveBacklog(_ backlog: Timer) {
    if backlog == .controlBacklog { receiveControl() } else { receiveService() }
  }

  /// One read into the frames; nil when there was nothing.
  private func fill(_ descriptor: Int32, _ frames: ReferenceWritableKeyPath<Run, FrameAssembler>) -> Int? {
    let part: Sockets.Received?
    do {
      part = try Sockets.receive(descriptor, into: &loop.buffer, flags: Int32(MSG_DONTWAIT), maxDescriptors: 2)
    } catch {
      violate("the channel broke: \(error.description)")
      return nil
    }
    guard let part else { return nil }
    if part.count == 0 {
      closed(descriptor)
      return nil
    }
    accept(part.descriptors)
    // Until the walls are closed only our own code sends any.
    if part.wasTruncated, meters == nil { runOutOfDescriptors() }
    if listens(to: descriptor) { self[keyPath: frames].append(loop.buffer[0..<part.count]) }
    return part.count
  }

  /// The process's status and maps, then the listener and the mount namespace, once, from trusted code; any other descriptor
  /// is a violation.
  func accept(_ descriptors: [Int32]) {
    for descriptor in descriptors {
      if isLoading, !hasSettled, status < 0 {
        status = descriptor
      } else if isLoading, !hasSettled, maps < 0 {
        maps = descriptor
      } else if isLoading, meters == nil, listener < 0, expectsListener {
        listener = descriptor
      } else if isLoading, meters == nil, namespace < 0 {
        namespace = descriptor
      } else {
        close(descriptor)
        violate("the plugin sent a descriptor")
      }
    }
  }

  func closed(_ descriptor: Int32) {
    unwatch(descriptor)
    checkClosing()
  }

  /// A runner that exits closes its channels too. One that isn't on its way out has closed them and goes on.
  func checkClosing() {
    loop.setTimer(key(.closing), at: BootClock.now + .milliseconds(2)) { [weak self] in
      guard let self, self.report == nil else { return }
      if self.hasEnded { self.awaitServer() }
      if self.meters?.isExiting() ?? true { self.checkClosing() } else { self.violate("the plugin closed its channel") }
    }
  }

  func receiveOutput() {
    guard !isClosed else { return }
    // What is left is there when the loop comes round again, after its deadlines.
    let due = BootClock.now + Self.longestPortion
    repeat {
      let count = readOutput()
      if count == 0 { return unwatch(output) }
      if count < 0 { return }
    } while BootClock.now < due
  }

  /// The plugin is gone, and no more than a pipe's buffer is left.
  func receiveLastOutput() {
    while readOutput() > 0 {}
    log.finishOutput()
  }

  /// As read(2).
  private func readOutput() -> Int {
    let count = loop.buffer.withUnsafeMutableBytes { read(output, $0.baseAddress, $0.count) }
    if count > 0 { loop.buffer.withUnsafeBytes { log.recordOutput(.init(rebasing: $0[..<count])) } }
    return count
  }

  func unwatch(_ descriptor: Int32) {
    let index = [control, service, output].firstIndex(of: descriptor)
    if let index, keys.indices.contains(index) { loop.stop(keys[index]) }
  }

  func send(_ frame: Frame, on channel: Int32) {
    outbox.append((channel, frame.encoded()[...]))
    if outbox.count == 1 { flush() }
  }

  /// Sends what the channels take. A runner that doesn't read keeps only itself waiting: its wall clock goes on.
  func flush() {
    guard !isClosed else { return }
    while let (channel, bytes) = outbox.first {
      var sent = 0
      let code = bytes.withUnsafeBytes {
        ol_send(channel, $0.baseAddress, $0.count, nil, 0, Int32(MSG_DONTWAIT), &sent)
      }
      switch code {
      case 0 where sent == bytes.count: outbox.removeFirst()
      case 0: outbox[0].bytes = bytes.dropFirst(sent)
      case EINTR: continue
      case EAGAIN:
        guard outbox.count < 1024 else { return violate("the plugin doesn't read its channel") }
        return loop.setTimer(key(.sending), at: BootClock.now + .milliseconds(1)) { [weak self] in self?.flush() }
      // Closed: how the process ended is the server's to tell.
      default: return outbox.removeAll()
      }
    }
  }

  func handle(_ message: RunnerMessage, id: UInt64) throws(ProtocolViolation) {
    // An answer that comes while its runner is being killed is none: the report already says why there isn't one.
    if record(lastWord: message) || cause != nil { return }
    switch message {
    case .settled:
      guard isLoading, !hasSettled, id == 0 else { throw .unexpected("settled") }
      hasSettled = true
      if pid > 0 { try? openMeters() }
      measureBaseline()
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
      line.current = nil
      usage.wakeSeconds = (BootClock.now - requested).inSeconds
      // Before the sample is taken: whoever waits goes on meanwhile.
      completion(.success(image))
      callOver()
    case .loadFailed(let text):
      guard case .load = waiting, id == 1 else { throw .unexpected("loadFailed") }
      kill(Outcome(.loadFailed, Printable.text(text, limit: 500)))
    case .returned(let result):
      guard case .call(let call, _) = waiting, id == nextCall, heldResult == nil else {
        throw .unexpected("an answer to call \(id)")
      }
      try AnswerRule.check(result, of: call, signature: signature)
      heldResult = result
      // What it said before it returned comes first.
      receiveService()
    case .entryPointMissing:
      guard case .call(let call, _) = waiting, id == nextCall, heldResult == nil else {
        throw .unexpected("an answer to call \(id)")
      }
      complete(.failure(.entryPointMissing("the plugin has no \(Printable.text(call.name))")))
    case .symbolIsData:
      guard case .call(let call, _) = waiting, id == nextCall, heldResult == nil, call.entryPoint == nil else {
        throw .unexpected("an answer to call \(id)")
      }
      complete(.failure(.entryPointMissing("\(Printable.text(call.name)) is data, not a function")))
    case .crashed, .wildPointer: break
    }
  }

  /// Whether that was what the runner says of its own end.
  private func record(lastWord message: RunnerMessage) -> Bool {
    switch message {
    case .crashed(let site): lastWord = .crashed(site)
    case .wildPointer(let pointer):
      let name = if case .call(let call, _) = waiting { call.name } else { "" }
      lastWord = .wildPointer(pointer, call: name)
    default: return false
    }
    return true
  }

  /// Hands over what a call returned once everything that it began is over.
  func settleResult() {
    guard let result = heldResult, isHeldResultDue, activities == 0 else { return }
    heldResult = nil
    isHeldResultDue = false
    complete(.success(result))
  }

  func complete(_ result: Result<RunnerMessage.CallResult, HostError>) {
    guard case .call(let call, let completion) = waiting else { return }
    waiting = nil
    line.current = nil
    if call.isReported, let name = call.entryPoint, case .success(let result) = result,
      case .signed(let status) = result.value
    {
      statuses.append(.init(entryPoint: name, status: status))
    }
    lastCall = BootClock.now - sentAt
    answerWait.took(lastCall, waits)
    completion(result)
    callOver()
    beginNext()
  }

  func callOver() {
    sample(hasAnswered: true)
    if !isBusy { watchdog.callEnded(at: BootClock.now) }
    arm()
    onRest?()
  }

  func wallsClosed(_ report: RunnerMessage.WallReport) {
    if let failure = report.failures.first {
      if let outcome = ReplacedFile.outcome(step: failure.step, code: failure.code, places: plan.places) {
        return kill(outcome)
      }
      return kill(
        Outcome(
          .wallUnavailable,
          "\(failure.step): \(SystemCallError.message(failure.code)); 'outrider doctor' says what this machine has"))
    }
    do {
      // The runner may have been faster than its server's word of it.
      if openedMeters == nil { try openMeters() }
      if cgroupBaseline == nil { measureBaseline() }
      meters = openedMeters.take()
      let limit = plan.policy.limits.memory
      if let cgroup, !(try cgroup.limit((cgroupBaseline ?? 0) + limit)) {
        return kill(Outcome(.memoryExceeded, "\(limit) bytes are less than what loading anything takes"))
      }
      cgroup?.beginPeak()
      beginPageIn()
      if listener >= 0 { listenerKey = try loop.watch(listener) { [unowned self] in receiveNotification() } }
    } catch {
      return fail(error)
    }
    let request = HostMessage.LoadRequest(
      path: plan.view.library, device: plan.image.library.identity.device, inode: plan.image.library.identity.inode,
      isExtension: isExtension, bundleIdentifier: plan.image.bundleIdentifier, bundlePath: plan.view.bundle,
      containers: plan.containers.places.map { .init(group: $0.group, path: $0.view) })
    watchdog.callBegan(at: BootClock.now - plan.reading, cpu: cpu())
    send(HostMessage.load(request).frame(id: 1), on: control)
    arm()
  }

  private func openMeters() throws(SystemCallError) {
    let own = status < 0 ? nil : OwnedDescriptor(taking: status)
    let mapped = maps < 0 ? nil : OwnedDescriptor(taking: maps)
    (status, maps) = (-1, -1)
    guard pid > 0 else { throw SystemCallError("pidfd", code: ESRCH, subject: "runner") }
    openedMeters = try Meters(of: pid, status: own, maps: mapped)
  }

  /// Where the plugin's memory begins. Without the process's meters it is measured later.
  private func measureBaseline() {
    guard openedMeters != nil else { return }
    openedMeters?.takeBaseline()
    cgroupBaseline = cgroup?.usage() ?? 0
  }
}
