internal import AssetModel
internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// What a runner says, and what it is told. Every byte that arrives is the plugin's word.
extension Run {
  /// Frames of one channel that are handled in one go: then the loop looks at its deadlines and at the other plugins.
  private static let portion = 32

  func receive(on channel: RunChannels.Channel) {
    switch channel {
    case .control: receiveControl()
    case .service: receiveService()
    case .output: receiveOutput()
    }
  }

  /// Whether everything that has arrived is handled; what isn't follows by itself.
  @discardableResult
  func receiveControl() -> Bool {
    receive(.control, .controlBacklog) { (frame) throws(ProtocolViolation) in
      try self.handle(RunnerMessage(frame), id: frame.id)
    }
  }

  @discardableResult
  func receiveService() -> Bool {
    let used = ThreadClock.now
    var isCounted = false
    let isDrained = receive(.service, .serviceBacklog) { (frame) throws(ProtocolViolation) in
      let request = try ServiceRequest(frame)
      try self.handle(request, id: frame.id)
      // A callback is what the plugin waits for, one by itself.
      if case .callback = request { return }
      isCounted = true
    }
    if isCounted { pause(.service, .serviceBacklog, since: used) }
    // One that stays, and that another thread of the plugin called: the call ends when its answer has been sent.
    if isDrained, !callbacks.isAsking, case .holding = machine.phase { handle(.serviceDrained) }
    return isDrained
  }

  private func receive(
    _ channel: RunChannels.Channel, _ backlog: Timer, _ handle: (Frame) throws(ProtocolViolation) -> Void
  ) -> Bool {
    let began = BootClock.now
    let due = began + channels.share.portion(at: began)
    var handled = 0
    var isMore = true
    while !channels.isClosed {
      do throws(ProtocolViolation) {
        while machine.listens(to: channel), let frame = try channels.nextFrame(on: channel) {
          try handle(frame)
          handled += 1
          if handled >= Self.portion || BootClock.now >= due {
            loop.setTimer(timers[backlog], at: BootClock.now) { [weak self] in self?.resumeReading(channel) }
            return false
          }
        }
      } catch {
        self.handle(.violated(error))
        return true
      }
      guard isMore, BootClock.now < due, let isFull = read(channel) else { return true }
      isMore = isFull
    }
    return true
  }

  /// One read; nil when there was nothing, and whether there may be more.
  private func read(_ channel: RunChannels.Channel) -> Bool? {
    switch channels.read(channel, isWanted: machine.listens(to: channel)) {
    case .nothing: return nil
    case .closed:
      channels.unwatch(channel)
      checkClosing()
      return nil
    case .broken(let error) where ClosedFiles.areReason(for: error):
      kill(Outcome(.hostFailed, ClosedFiles.sentence(error)))
      return nil
    case .broken(let error):
      kill(Outcome(.protocolViolation, Printable.text("the channel broke: \(error.description)", limit: 300)))
      return nil
    case .bytes(let isFull, let descriptors, let wasTruncated):
      for descriptor in descriptors { keep(OwnedDescriptor(taking: descriptor)) }
      if wasTruncated, machine.phase.isClosingWalls { runOutOfDescriptors() }
      return isFull
    }
  }

  /// Once, and from trusted code; any other descriptor is a violation.
  private func keep(_ descriptor: consuming OwnedDescriptor) {
    var expected = RunChannels.Expectation()
    if case .closingWalls(let preparation) = machine.phase {
      expected = .init(process: !preparation.isReady, listener: plan.expectsListener, namespace: true)
    }
    guard !channels.keep(descriptor, expecting: expected) else { return }
    kill(Outcome(.protocolViolation, "the plugin sent a descriptor"))
  }

  /// A runner that exits closes its channels too. One that isn't on its way out has closed them and goes on.
  private func checkClosing() {
    loop.setTimer(timers[.closing], at: BootClock.now + .milliseconds(2)) { [weak self] in
      guard let self else { return }
      if channels.hasEnded { awaitServer() }
      if meter.isExiting {
        checkClosing()
      } else {
        kill(endRule.channelClosed)
      }
    }
  }

  /// What has been answered in the shared memory, after what was sent on the control channel before.
  func receiveAnswer() {
    receiveControl()
    takeAnswer()
  }

  private func takeAnswer() {
    do throws(ProtocolViolation) {
      if let answer = try lane.take() { try handle(answer.message, id: answer.id) }
    } catch {
      handle(.violated(error))
    }
  }

  private func receiveOutput() {
    guard !channels.isClosed else { return }
    // What is left is there when the loop comes round again, after its deadlines.
    let used = ThreadClock.now
    let began = BootClock.now
    let due = began + channels.share.portion(at: began)
    defer { pause(.output, .outputBacklog, since: used) }
    repeat {
      let count = readOutput()
      if count == 0 { return channels.unwatch(.output) }
      if count < 0 { return }
    } while BootClock.now < due
  }

  /// What has been read since then is enough for a while, or not. What others have used of the processor meanwhile isn't the
  /// plugin's: beside a busy machine it would be read as many times more slowly.
  private func pause(_ channel: RunChannels.Channel, _ backlog: Timer, since used: Duration) {
    let now = BootClock.now
    guard let end = channels.share.spent(ThreadClock.now - used, at: now), !channels.isClosed else { return }
    channels.setWatched(channel, false)
    loop.setTimer(timers[backlog], at: end) { [weak self] in self?.resumeReading(channel) }
  }

  /// Whatever the timer was set for last: a channel that was paused is read again.
  private func resumeReading(_ channel: RunChannels.Channel) {
    guard !channels.isClosed else { return }
    channels.setWatched(channel, true)
    receive(on: channel)
  }

  /// The plugin is gone, and no more than a pipe's buffer is left.
  func receiveLastOutput() {
    while readOutput() > 0 {}
    record.log.finishOutput()
  }

  /// As read(2).
  private func readOutput() -> Int {
    let count = channels.readOutput()
    if count > 0 { loop.buffer.withUnsafeBytes { record.log.recordOutput(.init(rebasing: $0[..<count])) } }
    return count
  }

  /// Asks the runner: in the memory that it shares with this host, where the frame has room there.
  func ask(_ frame: Frame) {
    var isAsked = false
    if case .calling(let call) = machine.phase, let signature = call.signature {
      // Its long arguments and buffers aren't copied within the runner then.
      isAsked = lane.ask(call.call, signature, id: frame.id)
    }
    guard !isAsked, !lane.ask(frame, room: PlacedData.payloadRoom) else { return }
    send(frame, on: .control)
    lane.askOnSocket(id: frame.id)
  }

  func send(_ frame: Frame, on channel: RunChannels.Channel) { sent(channels.send(frame, on: channel)) }

  private func sent(_ result: RunChannels.Sending) {
    switch result {
    case .sent: break
    case .blocked:
      loop.setTimer(timers[.sending], at: BootClock.now + .milliseconds(1)) { [weak self] in
        guard let self else { return }
        sent(channels.flush())
      }
    case .overfull: kill(Outcome(.protocolViolation, "the plugin doesn't read its channel"))
    }
  }

  private func handle(_ message: RunnerMessage, id: UInt64) throws(ProtocolViolation) {
    // It is named by what was called.
    takeOver()
    switch message {
    case .crashed(let site): note(lastWord: .crashed(site))
    case .stackFrame(let frame): note(frame)
    case .threadFrame(let thread, let frame): note(frame, of: thread)
    case .threadTold(let thread, let name): self.handle(.threadTold(thread, name: name))
    case .wildPointer(let pointer): note(lastWord: .wildPointer(pointer, call: machine.calledName))
    case .answered:
      guard lane.rang() else { throw .unexpected("'answered' out of turn") }
      takeAnswer()
    case .reenteredCallback: note(lastWord: .reenteredCallback)
    case .corruptQuestion: throw .unexpected("something else in the place of the host's question")
    case .ready: handle(.ready(id: id))
    case .wallsClosed(let report): handle(.wallsClosed(failure: report.failures.first.map(outcome), id: id))
    case .loaded(let image):
      let library = plan.image.library
      let isUnchanged = (try? Files.identity(of: library.path)) == library.identity
      answered(.loaded(image, isUnchanged: isUnchanged, path: library.path, id: id))
    case .loadFailed(let text): answered(.loadFailed(text, id: id))
    case .returned(let result):
      guard !callbacks.isAskingForCall else { throw .unexpected("an answer to a call whose callback is under way") }
      answered(.returned(result, id: id))
    case .entryPointMissing: answered(.missing(isData: false, id: id))
    case .symbolIsData: answered(.missing(isData: true, id: id))
    }
  }

  /// Wherever the answer was, the question isn't open any more.
  private func answered(_ event: RunEvent) {
    lane.answeredOnSocket()
    handle(event)
  }

  /// What a wall that couldn't be closed means.
  private func outcome(of failure: RunnerMessage.WallReport.Failure) -> Outcome {
    ReplacedFile.outcome(step: failure.step, code: failure.code, places: plan.places)
      ?? Outcome(
        .wallUnavailable,
        "\(failure.step): \(SystemCallError.message(failure.code)); 'outrider doctor' says what this machine has")
  }
}
