internal import AssetModel
internal import Basics
internal import LinuxSystem

/// Who gets a slot, and how it is given back.
extension TransferEngine {
  func schedule(_ now: Duration) {
    needsSchedule = false
    lastSchedule = now
    guard !isClosing else { return }
    parts.commands.failWithoutNetwork(now)
    while let decision = scheduler.next(
      now: now, isClassBlocked: { parts.network.conditions.gate(for: $0, now: now) != nil },
      isOriginBlocked: { origin, _ in origins[origin].isBlocked(now: now) })
    {
      switch decision {
      case .start(let entry): begin(entry, now)
      case .yield(let id):
        if let job = active[id], job.machine.canStop, continuesAfterYielding(job) {
          parts.endings.stop(job, then: .yield)
        } else {
          // It is about to give its slot back, or looks at what it has, which may take long, or would begin again: others
          // make room.
          scheduler.keepsSlot(id)
        }
      }
    }
    for job in parts.chunked.segmented.values {
      parts.chunked.considerSegment(job, now)
      // Where there is a cap, slowness says nothing of a connection.
      if !parts.bodies.buckets.isLimited { parts.chunked.relieveSlowest(job, now) }
    }
  }

  /// Those that transfer, and are meant, give their slots back and wait for another.
  func yieldTransfers(where isMeant: (ActiveJob) -> Bool) {
    for job in Array(active.values) where job.machine.isTransferring && isMeant(job) {
      parts.endings.stop(job, then: .yield)
    }
  }

  /// Whether what it has isn't lost when it makes room: a file that takes longer than a turn would never be finished.
  private func continuesAfterYielding(_ job: ActiveJob) -> Bool {
    job.file.written.offset == 0 || job.record.specification.hasRanges && !origins[job.origin].isRangeless
  }

  private func begin(_ entry: Scheduler.Entry, _ now: Duration) {
    guard parts.commands.deferred.contains(entry.id) else { return parts.records.start(entry, now) }
    var entry = entry
    entry.idle += max(.zero, now - entry.enqueuedAt)
    scheduler.remove(entry.id)
    hold(
      entry, parts.commands.deferred.reason ?? .journal("", isOfVolume: false),
      until: now + CommandExecutor.journalDelay)
  }

  /// `record`: as the journal has it; nil: it has no such job any more.
  func start(_ entry: Scheduler.Entry, _ record: JobRecord?, _ now: Duration) {
    guard var record, !record.state.isTerminal, !isClosing else { return scheduler.remove(entry.id) }
    var entry = entry
    entry.idle += max(.zero, now - entry.enqueuedAt)
    if let standing = parts.room.space.standingHold(
      directory: record.specification.directory, remaining: entry.remaining,
      isBackground: record.transferClass.isBackground,
      now: now)
    {
      scheduler.remove(entry.id)
      return hold(entry, standing.reason, until: standing.until, Hold.Facts(record))
    }
    origins.started(entry.origin, job: entry.id, now: now)
    // It is over, also for the next reader of the journal.
    record.wait = nil
    record.forgiveWaiting(entry.idle.inNanoseconds, now: clock.now)
    let job = ActiveJob(record, origin: entry.origin, run: number(), lanes: lanes, now: now)
    active[entry.id] = job
    parts.opening.open(job)
  }

  /// An entry for the queue, from a job's record.
  func entry(of record: JobRecord) -> Scheduler.Entry {
    let specification = record.specification
    let total = specification.exactSize ?? record.partial?.entity.total ?? specification.declaredSize
    return Scheduler.Entry(
      id: record.id, app: apps.number(of: specification.app),
      origin: queueOrigin(of: record),
      transferClass: record.transferClass, priority: specification.priority,
      remaining: total.map { max(0, $0 - record.durableBytes) },
      since: Self.sinceBoot(record.enqueued, clock))
  }

  static func origin(of url: String) -> String { (try? ParsedURL(url))?.origin ?? "" }

  func originNumber(_ url: ParsedURL) -> UInt32 { origins.number(of: url.origin) }

  /// Where the queue counts a job: with the source that may be asked first.
  func queueOrigin(of record: JobRecord) -> UInt32 {
    let specification = record.specification
    guard !specification.mirrors.isEmpty else { return origins.number(of: Self.origin(of: specification.url)) }
    let table = SourceTable(
      url: specification.url, mirrors: specification.mirrors, banned: record.history.bannedSources)
    let now = clock.boot
    let waits = table.urls.indices.filter { !table.isBanned($0) }.map { source in
      let origin = origins.number(of: Self.origin(of: table.urls[source]))
      return (origin, wait: max(.zero, origins[origin].opening(now: now) - now))
    }
    return waits.min { $0.wait < $1.wait }?.0 ?? origins.number(of: Self.origin(of: specification.url))
  }

  /// When a job was enqueued, on this boot's clock: negative for one of an earlier boot.
  static func sinceBoot(_ moment: StoredMoment, _ clock: any TransferClock) -> Duration {
    let now = clock.now
    // As it was written: those that came together are told apart by their numbers, not by when each was looked at.
    if moment.bootIdentifier == now.bootIdentifier { return .nanoseconds(min(moment.boot, now.boot)) }
    // Of an earlier boot only wall clocks tell, and those may be years off: it counts for a day at most.
    return .nanoseconds(now.boot) - .nanoseconds(min(moment.elapsed(until: now), 24 * 3_600_000_000_000))
  }

  /// The job of that activation, unless it is over.
  func job(_ activation: Activation) -> ActiveJob? {
    guard let job = active[activation.job], job.run == activation.run else { return nil }
    return job
  }

  /// Its transfers are over, and the publisher takes as many as come: another job may transfer meanwhile.
  func releaseSlot(of job: ActiveJob) {
    origins.ended(job.origin, job: job.id)
    scheduler.remove(job.id)
    needsSchedule = true
  }

  /// Takes a job back from its slot, and tells the scheduler.
  func retire(_ job: ActiveJob) {
    for segment in job.segments { parts.connections.drop(segment) }
    job.segments = []
    active[job.id] = nil
    parts.room.space.release(job.id)
    parts.chunked.segmented[job.id] = nil
    origins.ended(job.origin, job: job.id)
    scheduler.remove(job.id)
    needsSchedule = true
    // The next run may open it, and no other process is kept from it.
    job.file.staging?.end()
  }
}
