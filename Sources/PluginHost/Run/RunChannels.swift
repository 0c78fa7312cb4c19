internal import CLinux
internal import Dispatch
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// Owns the descriptors of one run, from its request to its end: what the runner says and is told goes through here, as
/// frames. Loop thread only.
struct RunChannels: ~Copyable {
  enum Channel { case control, service, output }

  /// One read from a channel.
  enum Reading {
    case nothing
    case closed
    case broken(SystemCallError)
    /// `descriptors`: the caller's from now on. `isFull`: there may be more. `wasTruncated`: the kernel left some out.
    case bytes(isFull: Bool, descriptors: [Int32], wasTruncated: Bool)
  }

  /// What became of the frames that wait to be sent.
  enum Sending { case sent, blocked, overfull }

  /// Which descriptors trusted code still has to send.
  struct Expectation {
    /// The process's status and its maps.
    var process = false
    var listener = false
    var namespace = false
  }

  /// Frames that may wait for a runner that doesn't read.
  private static let maxWaiting = 1024

  let loop: EventLoop
  private var controlEnd: DescriptorSlot
  private var serviceEnd: DescriptorSlot
  private var outputEnd: DescriptorSlot
  private var pidfd = DescriptorSlot()
  private var statusFile = DescriptorSlot()
  private var mapsFile = DescriptorSlot()
  private var listenerEnd = DescriptorSlot()
  private var mountNamespace = DescriptorSlot()
  /// The runner's process id, as far as its pidfd tells; 0 before.
  private(set) var pid: pid_t = 0
  private var controlFrames: FrameAssembler
  private var serviceFrames: FrameAssembler
  private var watches: [UInt64] = []
  private var outbox: [(channel: Channel, bytes: ArraySlice<UInt8>)] = []
  private(set) var isClosed = false
  /// Of this thread's time, for what the plugin sends beside its answers, and for what it writes.
  var share = ReadingShare()

  /// `frameBytes`: how long a payload may be that the runner sends.
  init(
    control: consuming OwnedDescriptor, service: consuming OwnedDescriptor, output: consuming OwnedDescriptor,
    frameBytes: Int, loop: EventLoop
  ) {
    self.loop = loop
    controlEnd = DescriptorSlot(control)
    serviceEnd = DescriptorSlot(service)
    outputEnd = DescriptorSlot(output)
    controlFrames = FrameAssembler(longestPayload: frameBytes)
    serviceFrames = FrameAssembler(longestPayload: frameBytes)
  }

  // MARK: Watching

  /// Calls `received` on the loop when there is something to read, until `unwatch` or `stopWatching`.
  mutating func watch(_ received: @escaping (Channel) -> Void) throws(SystemCallError) {
    for channel in [Channel.control, .service, .output] {
      let number = number(of: channel)
      try check("fcntl", "\(number)") { ol_set_nonblocking(number) }
    }
    for channel in [Channel.control, .service, .output] {
      watches.append(try loop.watch(number(of: channel)) { received(channel) })
    }
  }

  func unwatch(_ channel: Channel) {
    if let watch = watch(of: channel) { loop.stop(watch) }
  }

  /// Whether it is told that there is something to read; nothing changes for one that was unwatched.
  func setWatched(_ channel: Channel, _ isWatched: Bool) {
    if let watch = watch(of: channel) { try? loop.change(watch, to: isWatched ? .reading : []) }
  }

  private func watch(of channel: Channel) -> UInt64? {
    let index = channel == .control ? 0 : channel == .service ? 1 : 2
    return watches.indices.contains(index) ? watches[index] : nil
  }

  /// Nothing is received or sent any more.
  mutating func stopWatching() {
    isClosed = true
    for watch in watches { loop.stop(watch) }
    watches = []
  }

  private func number(of channel: Channel) -> Int32 {
    switch channel {
    case .control: controlEnd.number
    case .service: serviceEnd.number
    case .output: outputEnd.number
    }
  }

  // MARK: The process

  /// The handle of the runner's process; -1 before the server has sent it, and after the end.
  var process: Int32 { pidfd.number }

  /// Returns 0 or an errno value: without room for one more descriptor, the kernel doesn't tell the process's id.
  mutating func take(process: consuming OwnedDescriptor) -> Int32 {
    pidfd.fill(process)
    return ol_pidfd_pid(pidfd.number, &pid)
  }

  /// Whether the runner is gone (pidfd_open(2)).
  var hasEnded: Bool { !pidfd.isEmpty && ol_poll_readable(pidfd.number, 0) == 1 }

  /// Whether there may be other processes, all of them in the group that the runner leads.
  var signalsGroup = false

  /// The number of that group; 0 where the runner is alone.
  var group: pid_t { signalsGroup ? pid : 0 }

  /// To all processes of the run, at one moment. False: this host can't.
  func signal(_ signal: RunSignal) -> Bool {
    pidfd.isEmpty ? false : Self.signal(pidfd.number, group: group, signal)
  }

  /// To the runner alone.
  func signalRunner(_ signal: RunSignal) -> Bool {
    pidfd.isEmpty ? false : Self.signal(pidfd.number, group: 0, signal)
  }

  /// `group`: 0 where there is none. Any thread. False where it can't: a host that has given up root mustn't, and a filter around this
  /// process may refuse the call.
  static func signal(_ process: Int32, group: pid_t, _ signal: RunSignal) -> Bool {
    let number =
      switch signal {
      case .stop: SIGSTOP
      case .resume: SIGCONT
      case .kill: SIGKILL
      }
    let error =
      group > 0 ? ol_pidfd_signal_group(process, group, number) : ol_pidfd_signal(process, number)
    return error == 0 || error == ESRCH
  }

  /// Keeps a descriptor that trusted code sent: the process's status and maps, then the listener and the mount namespace, once.
  /// False for any other, which is closed.
  mutating func keep(_ descriptor: consuming OwnedDescriptor, expecting expected: Expectation) -> Bool {
    if expected.process, statusFile.isEmpty {
      statusFile.fill(descriptor)
    } else if expected.process, mapsFile.isEmpty {
      mapsFile.fill(descriptor)
    } else if expected.listener, listenerEnd.isEmpty {
      listenerEnd.fill(descriptor)
    } else if expected.namespace, mountNamespace.isEmpty {
      mountNamespace.fill(descriptor)
    } else {
      return false
    }
    return true
  }

  /// What the runner sent of its process, for the meters.
  mutating func takeStatus() -> OwnedDescriptor? { statusFile.take() }
  mutating func takeMaps() -> OwnedDescriptor? { mapsFile.take() }

  /// Where the filter's questions arrive; -1 where there is no listener.
  var listener: Int32 { listenerEnd.number }

  // MARK: Receiving

  /// The descriptors of the two sockets; -1 after the end.
  var control: Int32 { controlEnd.number }
  var service: Int32 { serviceEnd.number }

  /// Waits for something to arrive on the control channel. Whether there is.
  func awaitControl(for time: Duration) -> Bool { ol_await_readable(controlEnd.number, Int(time.inNanoseconds)) == 1 }

  /// The next whole frame that has been read.
  mutating func nextFrame(on channel: Channel) throws(ProtocolViolation) -> Frame? {
    channel == .control ? try controlFrames.next() : try serviceFrames.next()
  }

  /// Reads once. `isWanted`: whether what arrives is of interest.
  mutating func read(_ channel: Channel, isWanted: Bool) -> Reading {
    let part: Sockets.Received?
    do throws(SystemCallError) {
      part = try Sockets.receive(
        number(of: channel), into: &loop.buffer, flags: Int32(MSG_DONTWAIT), maxDescriptors: 2)
    } catch {
      return .broken(error)
    }
    guard let part else { return .nothing }
    guard part.count > 0 else { return .closed }
    if isWanted {
      if channel == .control {
        controlFrames.append(loop.buffer[0..<part.count])
      } else {
        serviceFrames.append(loop.buffer[0..<part.count])
      }
    }
    return .bytes(
      isFull: part.count == loop.buffer.count, descriptors: part.descriptors, wasTruncated: part.wasTruncated)
  }

  /// One read of what the plugin wrote to its standard output and error into the loop's buffer, as read(2).
  func readOutput() -> Int {
    let number = outputEnd.number
    return loop.buffer.withUnsafeMutableBytes { Glibc.read(number, $0.baseAddress, $0.count) }
  }

  // MARK: Sending

  /// Behind what waits already. `.blocked`: `flush` is to be asked again.
  mutating func send(_ frame: Frame, on channel: Channel) -> Sending {
    outbox.append((channel, frame.encoded()[...]))
    return outbox.count == 1 ? flush() : .sent
  }

  /// Bytes that wait to be sent on a channel.
  func unread(on channel: Channel) -> Int { outbox.reduce(0) { $1.channel == channel ? $0 + $1.bytes.count : $0 } }

  /// Sends what the channels take. A runner that doesn't read keeps only itself waiting: its wall clock goes on.
  mutating func flush() -> Sending {
    guard !isClosed else { return .sent }
    while let (channel, bytes) = outbox.first {
      let number = number(of: channel)
      var sent = 0
      let code = bytes.withUnsafeBytes {
        ol_send(number, $0.baseAddress, $0.count, nil, 0, Int32(MSG_DONTWAIT), &sent)
      }
      switch code {
      case 0 where sent == bytes.count: outbox.removeFirst()
      case 0: outbox[0].bytes = bytes.dropFirst(sent)
      case EINTR: continue
      case EAGAIN: return outbox.count < Self.maxWaiting ? .blocked : .overfull
      // Closed: how the process ended is the server's to tell.
      default: outbox.removeAll()
      }
    }
    return .sent
  }

  /// The runner reads the end of its channel.
  func shutDownControl() { shutdown(controlEnd.number, Int32(SHUT_RDWR)) }

  mutating func close() {
    stopWatching()
    controlEnd.empty()
    serviceEnd.empty()
    outputEnd.empty()
    pidfd.empty()
    statusFile.empty()
    mapsFile.empty()
    listenerEnd.empty()
    guard let namespace = mountNamespace.take()?.release() else { return }
    // Taking it apart waits for the kernel; this thread has deadlines to keep.
    DispatchQueue.global().async { _ = Glibc.close(namespace) }
  }
}
