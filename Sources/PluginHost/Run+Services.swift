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
      log.record(level: level, subsystem: subsystem, category: category, message: message)
    case .schedule(let download): schedule(download, id)
    case .cancel(let identifier):
      if relay == nil { reply(id, .status(scheduled.cancel(identifier))) } else { ask(.cancel(identifier), id) }
    case .currentDownloads:
      if relay == nil { reply(id, .downloads(scheduled.current)) } else { ask(.currentDownloads, id) }
    case .acquireExclusiveControl(let timeout): acquire(timeout, id)
    case .releaseExclusiveControl: changeBusiness { relay?.release() }
    case .beginActivity: changeBusiness { activities += 1 }
    case .endActivity:
      guard activities > 0 else { throw .unexpected("endActivity without an activity") }
      changeBusiness { activities -= 1 }
      if waiting != nil { settleResult() }
    case .observe(let isObserving): relay?.observe(isObserving)
    }
  }

  /// Work that outlives its entry point. Who holds exclusive control, or is about to, must go on too: frozen, it would keep
  /// the other side waiting.
  var isBusy: Bool { activities > 0 || relay?.control.isEngaged ?? false }

  private func changeBusiness(_ change: () -> Void) {
    let wasBusy = isBusy
    change()
    if !wasBusy, isBusy, waiting == nil {
      // Begun after the entry point had returned: the clocks of the last call go on.
      thaw()
      watchdog.activityBegan(at: BootClock.now, cpu: cpu())
      arm()
    }
    countWaiting()
    if wasBusy, !isBusy, waiting == nil { callOver() }
  }

  /// An asynchronous request's wait for the other side isn't the extension's time (B21). A content request's is: an
  /// installation waits for that. So is one outside an activity, in which the call itself waits (B73).
  func countWaiting() {
    var isContentRequest = false
    if case .call(.contentRequest, _) = waiting { isContentRequest = true }
    if activities > 0, !isContentRequest, relay?.control.isWaiting ?? false {
      watchdog.waitBegan(at: BootClock.now)
    } else {
      watchdog.waitEnded(at: BootClock.now)
    }
    arm()
  }

  private func schedule(_ download: Download, _ id: UInt64) {
    // What it began may go on after it has returned. What it said before that counts as said in it.
    if case .call(.contentRequest, _) = waiting, !isHeldResultDue {
      return reply(id, .status(ScheduledDownloads.Refusal.duringRequest))
    }
    guard let relay else { return reply(id, .status(scheduled.add(download))) }
    let rules = DownloadRules(
      applicationGroups: plan.containers.groups, request: nil,
      allowsPlainHTTPToLoopback: relay.allowsPlainHTTPToLoopback)
    if let rejection = rules.rejectionReason(for: download) { return reply(id, .status(rejection.code)) }
    ask(.schedule(ScheduledDownloads.waiting(download)), id)
  }

  private func acquire(_ timeout: Int64?, _ id: UInt64) {
    guard let relay else { return reply(id, .status(0)) }
    var isTaken = false
    changeBusiness { isTaken = relay.acquire(timeout: timeout.map { .nanoseconds(max($0, 0)) }, id: id) }
    if !isTaken { reply(id, .status(-1)) }
  }

  private func ask(_ request: ServiceRelay.Request, _ id: UInt64) {
    if relay?.ask(request, id: id) == false { violate("the plugin asks before it has its last answer") }
  }

  /// The host's client has answered.
  func deliver(_ answer: ServiceRelay.Answer) {
    guard report == nil, cause == nil else { return }
    // For the report; what the rules of a run without a client say of it doesn't matter here.
    if case .schedule(let download) = answer.request, answer.isDone { _ = scheduled.add(download) }
    // One that was granted goes on, one that was refused rests if it did before.
    if case .acquire = answer.request {
      countWaiting()
      if !isBusy, waiting == nil { callOver() }
    }
    reply(answer.reply)
  }

  private func reply(_ id: UInt64, _ reply: ServiceReply) { self.reply(reply.frame(id: id)) }

  private func reply(_ frame: Frame) {
    let unread = outbox.reduce(0) { $1.channel == service ? $0 + $1.bytes.count : $0 }
    guard unread + frame.payload.count <= Self.longestUnread else {
      return violate("the plugin asks without reading the answers")
    }
    send(frame, on: service)
  }
}
