internal import AssetModel
internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// What a runner says, and what it is told. Every byte that arrives is the plugin's word.
extension Run {
  func receiveControl() {
    receive(control, { self.controlFrames.append($0) }, { () throws(ProtocolViolation) in try self.controlFrames.next() }) {
      (frame) throws(ProtocolViolation) in try self.handle(RunnerMessage(frame), id: frame.id)
    }
  }

  func receiveService() {
    receive(service, { self.serviceFrames.append($0) }, { () throws(ProtocolViolation) in try self.serviceFrames.next() }) {
      (frame) throws(ProtocolViolation) in try self.handle(ServiceRequest(frame), id: frame.id)
    }
  }

  func receive(
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
        while cause == nil || descriptor == control, let frame = try next() { try handle(frame); if let due = watchdog.wallDeadline, BootClock.now >= due { sample() } }
      } catch {
        return violate("\(error)")
      }
      if part.count < loop.buffer.count { return }
    }
  }

  /// The listener and the mount namespace, once, from trusted code; any other descriptor is a violation.
  func accept(_ descriptors: [Int32]) {
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

  func closed(_ descriptor: Int32) {
    unwatch(descriptor)
    judgeClosing()
  }

  /// A runner that exits closes its channels too. One that isn't on its way out has closed them and goes on.
  func judgeClosing() {
    loop.setTimer(id | 1 << 63, at: BootClock.now + .milliseconds(2)) { [weak self] in
      guard let self, self.report == nil else { return }
      if self.meters?.isExiting() ?? true { self.judgeClosing() } else { self.violate("the plugin closed its channel") }
    }
  }

  func receiveOutput() {
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

  func handle(_ message: RunnerMessage, id: UInt64) throws(ProtocolViolation) {
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


  func complete(_ result: Result<RunnerMessage.CallResult, HostError>) {
    guard case .call(_, let completion) = waiting else { return }
    waiting = nil
    lastCall = BootClock.now - sentAt
    callOver()
    completion(result)
  }

  func callOver() {
    sample()
    watchdog.callEnded(at: BootClock.now)
    arm()
  }

  func wallsClosed(_ report: RunnerMessage.WallReport) {
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


  func handle(_ request: ServiceRequest, id: UInt64) throws(ProtocolViolation) {
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

  /// One request is under way at a time: who asks again before the last answer is out isn't our client.
  func reply(_ id: UInt64, _ reply: ServiceReply) {
    guard outbox.isEmpty else { return violate("the plugin asks without reading the answers") }
    send(reply.frame(id: id), on: service)
  }

  func schedule(_ download: Download) -> Int32 {
    if case .call(.contentRequest, _) = waiting { return 50 }
    if let rejection = DownloadRules(request: nil).objection(to: download) { return rejection.code }
    if scheduled.contains(where: { $0.identifier == download.identifier }) { return 100 }
    // Kept in the host: bounded in bytes as well, and so is the answer that lists them.
    let size = DownloadSize.of(download)
    guard scheduled.count < 10_000, scheduledBytes + size <= 1 << 20 else { return 102 }
    scheduledBytes += size
    scheduled.append(download)
    return 0
  }
}

/// Bytes of a download as a frame carries it.
enum DownloadSize {
  static func of(_ download: Download) -> Int {
    var writer = ByteWriter()
    writer.download(download)
    return writer.bytes.count
  }
}
