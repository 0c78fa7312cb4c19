internal import AssetModel
internal import HostProtocol
internal import LinuxSystem

/// What an extension asks for while it runs.
extension Run {
  /// Bytes of answers that a plugin may leave unread: the longest that there is.
  private static let longestUnread = Frame.longestPayload

  func handle(_ request: ServiceRequest, id: UInt64) throws(ProtocolViolation) {
    switch request {
    case .log(let level, let subsystem, let category, let message):
      record.log.record(level: level, subsystem: subsystem, category: category, message: message)
    case .schedule(let download): schedule(download, id)
    case .cancel(let identifier):
      if relay == nil { reply(id, .status(record.scheduled.cancel(identifier))) } else { ask(.cancel(identifier), id) }
    case .currentDownloads:
      if relay == nil { reply(id, .downloads(record.scheduled.current)) } else { ask(.currentDownloads, id) }
    case .acquireExclusiveControl(let timeout): acquire(timeout, id)
    case .releaseExclusiveControl:
      relay?.release()
      controlChanged()
    case .beginActivity: handle(.activityBegan)
    case .endActivity: handle(.activityEnded)
    case .observe(let isObserving): relay?.observe(isObserving)
    case .callback(let number, let arguments): try answer(number, arguments, id)
    }
  }

  /// The plugin calls a callback of the call that is under way.
  private func answer(_ number: UInt8, _ arguments: [CallValue], _ id: UInt64) throws(ProtocolViolation) {
    takeOver()
    let (ticket, hasReturned): (UInt64, Bool)
    switch machine.phase {
    case .calling(let call): (ticket, hasReturned) = (call.ticket, false)
    // Said before it had returned, by another thread.
    case .holding(let call, _, isDrained: false): (ticket, hasReturned) = (call.ticket, true)
    default: throw .unexpected("callback \(number), which no call that is under way was given")
    }
    try callbacks.ask(number, arguments, of: ticket, hasReturned: hasReturned) { [weak self] answer in
      guard let self, !isEnding else { return }
      reply(id, .callback(answer.bits, filled: answer.filled))
      // Its call may have returned meanwhile.
      if case .holding = machine.phase { receiveService() }
    }
  }

  private func controlChanged() {
    let control = relay?.control ?? ControlUse()
    handle(.controlChanged(isEngaged: control.isEngaged, isWaiting: control.isWaiting))
  }

  private func schedule(_ download: Download, _ id: UInt64) {
    // What it said before its content request returned counts as said in it.
    if machine.isInContentRequest { return reply(id, .status(ScheduledDownloads.Refusal.duringRequest)) }
    guard let relay else { return reply(id, .status(record.scheduled.add(download))) }
    let rules = DownloadRules(
      applicationGroups: plan.containers.groups, request: nil,
      allowsPlainHTTPToLoopback: relay.allowsPlainHTTPToLoopback)
    if let rejection = rules.rejectionReason(for: download) { return reply(id, .status(rejection.code)) }
    ask(.schedule(ScheduledDownloads.waiting(download)), id)
  }

  private func acquire(_ timeout: Int64?, _ id: UInt64) {
    guard let relay else { return reply(id, .status(0)) }
    let isTaken = relay.acquire(timeout: timeout.map { .nanoseconds(max($0, 0)) }, id: id)
    controlChanged()
    if !isTaken { reply(id, .status(-1)) }
  }

  private func ask(_ request: ServiceRelay.Request, _ id: UInt64) {
    guard relay?.ask(request, id: id) == false else { return }
    kill(Outcome(.protocolViolation, "the plugin asks before it has its last answer"))
  }

  /// The host's client has answered.
  func deliver(_ answer: ServiceRelay.Answer) {
    guard !isEnding else { return }
    // For the report; what the rules of a run without a client say of it doesn't matter here.
    if case .schedule(let download) = answer.request, answer.isDone { _ = record.scheduled.add(download) }
    // One that was granted goes on, one that was refused is idle again if it was before.
    if case .acquire = answer.request { controlChanged() }
    reply(answer.reply)
  }

  private func reply(_ id: UInt64, _ reply: ServiceReply) { self.reply(reply.frame(id: id)) }

  private func reply(_ frame: Frame) {
    guard channels.unread(on: .service) + frame.payload.count <= Self.longestUnread else {
      return kill(Outcome(.protocolViolation, "the plugin asks without reading the answers"))
    }
    send(frame, on: .service)
  }
}
