internal import AssetModel
internal import Basics

/// Jobs that have no slot and aren't in the queue, and what becomes of a job when the journal has it.
extension TransferEngine {
  /// Ends a hold: the job may be scheduled again.
  func release(_ id: JobID) {
    guard var hold = holds.removeValue(forKey: id) else { return }
    if parts.commands.changes.pending[id] != nil { return parts.commands.handle(.retry(id)) }
    if !hold.reason.isPartOfTrying { hold.entry.idle += max(.zero, clock.boot - hold.since) }
    scheduler.enqueue(hold.entry, now: clock.boot)
    needsSchedule = true
  }

  func hold(
    _ entry: Scheduler.Entry, _ reason: Hold.Reason, until: Duration?, _ facts: Hold.Facts = Hold.Facts()
  ) {
    keepWaiting(entry, reason, until: until, facts)
    reportWait(of: entry.id)
  }

  /// As `hold`, without an event.
  func keepWaiting(
    _ entry: Scheduler.Entry, _ reason: Hold.Reason, until: Duration?, _ facts: Hold.Facts = Hold.Facts()
  ) {
    let serial = number()
    holds[entry.id] = Hold(
      entry: entry, reason: reason, facts: facts, since: clock.boot, until: until, serial: serial)
    if let until { setDue(entry.id, at: until, serial) }
  }

  func reportWait(of id: JobID) {
    if let standing = parts.explainer.standing(of: id) {
      events.send(.waiting(id, Explanation(standing, now: clock.boot)))
    }
  }

  /// An event says why a download can't even begin. Those that only wait for a slot aren't news.
  func reportIfBlocked(_ id: JobID, _ transferClass: TransferClass, _ origin: UInt32) {
    let now = clock.boot
    guard scheduler.isWaiting(id),
      origins[origin].isBlocked(now: now) || parts.network.conditions.gate(for: transferClass, now: now) != nil,
      let standing = parts.explainer.standing(of: id)
    else { return }
    let explanation = Explanation(standing, now: now)
    if explanation.code != .queued { events.send(.waiting(id, explanation)) }
  }

  /// Carries out what was to follow; the journal has `record`.
  func enter(_ disposition: Disposition, _ record: JobRecord) {
    let now = clock.boot
    switch disposition {
    case .queued(let reportsBlock):
      let entry = entry(of: record)
      scheduler.enqueue(entry, now: now)
      if reportsBlock { reportIfBlocked(record.id, entry.transferClass, entry.origin) }
    case .queuedBehindPortal:
      scheduler.enqueue(entry(of: record), now: now)
      reportWait(of: record.id)
    case .held(let reason, let end):
      let until: Duration? =
        switch end {
        case .at(let moment): moment
        case .after(let delay): now + delay
        case .never: nil
        }
      hold(entry(of: record), reason, until: until, Hold.Facts(record))
    case .outOfSpace(let shortage): parts.room.holdForSpace(entry(of: record), shortage)
    case .paused:
      hold(entry(of: record), .paused("user"), until: nil)
      events.send(.paused(record.id))
    case .reclassified(let isUrgent, let reason, let until):
      let entry = entry(of: record)
      if isUrgent { origins[entry.origin].breaker.probeNow(now: now) }
      if record.state == .paused {
        hold(entry, .paused("user"), until: nil)
      } else if let reason, !isUrgent {
        hold(entry, reason, until: until, Hold.Facts(record))
      } else {
        scheduler.enqueue(entry, now: now)
      }
    case .cancelled:
      parts.network.proxyHealth.forget(record.id)
      events.send(.cancelled(record.id))
    case .failed(let failure):
      parts.network.proxyHealth.forget(record.id)
      events.send(.failed(record.id, failure))
    case .unchanged(let size):
      let specification = record.specification
      let path = "\(specification.directory)/\(specification.fileName)"
      events.send(.finished(record.id, DownloadedFile(path: path, size: size, isUnchanged: true)))
    case .left: break
    }
  }
}
