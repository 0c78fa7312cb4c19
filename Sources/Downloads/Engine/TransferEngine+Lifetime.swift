internal import AssetModel
internal import Basics

/// From the journal to the first slot, and from the last one to the end.
extension TransferEngine {
  /// Takes over every open job of the journal. Before the network thread runs.
  func restore() throws {
    let now = clock.boot
    let moment = clock.now
    rebase(moment)
    for record in try journal.journal.origins() {
      let number = origins.number(of: record.origin)
      origins[number].restore(record, now: now, moment: moment)
    }
    guard options.takesUpOpenJobs else { return }
    var held: [JobID] = []
    try journal.journal.forEachOpenJob { job in
      let entry = Scheduler.Entry(
        id: job.id, app: apps.number(of: job.app), origin: origins.number(of: job.origin),
        transferClass: job.transferClass,
        priority: job.priority, remaining: job.remaining, since: Self.sinceBoot(job.enqueued, clock))
      if job.state == .paused {
        keepWaiting(entry, .paused("user"), until: nil)
        held.append(job.id)
      } else if let wait = job.wait, case let remaining = wait.remaining(at: moment), remaining > 0 {
        keepWaiting(entry, .retry(""), until: now + .nanoseconds(remaining))
        held.append(job.id)
      } else {
        scheduler.enqueue(entry, now: now)
      }
    }
    // The journal can't be read within a reading.
    for id in held {
      if let record = try? journal.journal.job(id) { holds[id]?.facts = Hold.Facts(record) }
      reportWait(of: id)
    }
    needsSchedule = true
  }

  /// At the first start in a boot: what is left of every wait is counted in this boot from now on. A wall clock that is set
  /// afterwards changes nothing any more, and a second start in the same boot doesn't wait again from the beginning.
  func rebase(_ now: StoredMoment) {
    func isOld(_ wait: StoredWait?) -> Bool { wait.map { $0.since.bootIdentifier != now.bootIdentifier } ?? false }
    func rebased(_ wait: StoredWait?) -> StoredWait? {
      wait.flatMap { wait in
        let remaining = wait.remaining(at: now)
        return remaining > 0 ? StoredWait(since: now, length: remaining) : nil
      }
    }
    var changes: [JournalChange] = []
    for var origin in (try? journal.journal.origins()) ?? [] where isOld(origin.retryAfter) || isOld(origin.rangeless) {
      origin.retryAfter = rebased(origin.retryAfter)
      origin.rangeless = rebased(origin.rangeless)
      changes.append(.origin(origin))
    }
    var waiting: [JobID] = []
    try? journal.journal.forEachOpenJob { if isOld($0.wait) { waiting.append($0.id) } }
    for id in waiting {
      guard var record = try? journal.journal.job(id) else { continue }
      record.lastProgress = Self.carried(record.lastProgress, seen: record.wait?.since, to: now)
      record.wait = rebased(record.wait)
      changes.append(.job(record))
    }
    // A journal that can't be written yet has kept the old waits, and those are bounded as well.
    if !changes.isEmpty { try? journal.journal.commit(changes) }
  }

  /// A moment of an earlier boot, so placed in this one that what was counted until it was last `seen` in its own is kept.
  static func carried(_ moment: StoredMoment, seen: StoredMoment?, to now: StoredMoment) -> StoredMoment {
    guard moment.bootIdentifier != now.bootIdentifier else { return moment }
    let counted = seen.flatMap { $0.bootIdentifier == moment.bootIdentifier ? moment.elapsed(until: $0) : nil } ?? 0
    let start = now.boot.subtractingReportingOverflow(counted)
    return StoredMoment(
      bootIdentifier: now.bootIdentifier, boot: start.overflow ? .min : start.partialValue, wall: now.wall)
  }

  func close(_ reply: EngineReply<Void>) {
    isClosing = true
    whenClosed.append(reply)
    for job in Array(active.values) where job.machine.canStop { parts.endings.stop(job, then: .close) }
    // The last try of each: what the journal doesn't take now is told as lost.
    parts.commands.performDeferred(clock.boot, isLast: true)
    for id in parts.commands.changes.pending.keys.sorted() { release(id) }
  }

  func closed() {
    events.flush()
    // Idle ones would stay open for as long as the closed engine is kept.
    transport.forgetConnections()
    for reply in whenClosed { reply.answer(()) }
    whenClosed = []
  }
}
