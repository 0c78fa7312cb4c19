internal import AssetModel

/// Counts that go on over a reboot. Boot time is exact but begins anew; what a wall clock says of the time between may be
/// years off in either direction, and be set right later.
extension EngineCore {
  /// At the first start in a boot: what is left of every wait is counted in this boot from now on. A wall clock that is set
  /// afterwards changes nothing any more, and a second start in the same boot doesn't wait again from the beginning.
  func rebase(_ now: StoredMoment) {
    func isOld(_ wait: StoredWait?) -> Bool { wait.map { $0.since.bootIdentifier != now.bootIdentifier } ?? false }
    func rebased(_ wait: StoredWait?) -> StoredWait? {
      wait.flatMap { wait in
        let rest = wait.remaining(at: now)
        return rest > 0 ? StoredWait(since: now, length: rest) : nil
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

  /// How long the job has had no progress, gates, pauses and queues not counted (`JobRecord.forgiveWaiting`), in machines'
  /// running time: what a machine was switched off doesn't count.
  func timeWithoutProgress(_ job: ActiveJob) -> Duration {
    let now = clock.now
    if job.record.lastProgress.bootIdentifier != now.bootIdentifier {
      job.record.lastProgress = Self.carried(job.record.lastProgress, seen: job.record.wait?.since, to: now)
    }
    return .nanoseconds(job.record.lastProgress.elapsed(until: now))
  }

  /// A moment of an earlier boot, so placed in this one that what was counted until it was last `seen` in its own is kept.
  private static func carried(_ moment: StoredMoment, seen: StoredMoment?, to now: StoredMoment) -> StoredMoment {
    guard moment.bootIdentifier != now.bootIdentifier else { return moment }
    let counted = seen.flatMap { $0.bootIdentifier == moment.bootIdentifier ? moment.elapsed(until: $0) : nil } ?? 0
    let start = now.boot.subtractingReportingOverflow(counted)
    return StoredMoment(
      bootIdentifier: now.bootIdentifier, boot: start.overflow ? .min : start.partialValue, wall: now.wall)
  }
}
