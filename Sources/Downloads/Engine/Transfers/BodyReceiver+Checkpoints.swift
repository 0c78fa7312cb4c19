internal import AssetModel
internal import Dispatch
internal import LinuxSystem

/// What the journal is told of a file that grows.
extension BodyReceiver {
  /// Before a file grows beyond what a killed service may lose, the journal learns how to find it again.
  func journalIdentity(_ job: ActiveJob) {
    guard !job.file.identity.isJournalled, !job.file.identity.isOnItsWay, !job.machine.isDecided,
      let file = job.file.staging
    else { return }
    // A size that is only a guess bounds nothing.
    let total = job.record.specification.exactSize ?? job.record.partial?.entity.total
    if let total, total <= Connections.worthAnIdentity { return }
    job.file.identity.isOnItsWay = true
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    job.file.lane.async {
      let result = Result { () throws(SystemCallError) -> (StagingFile.Preallocation, FileIdentity) in
        let preallocation =
          if let total { try file.preallocate(to: total) } else { StagingFile.Preallocation.unsupported }
        return (preallocation, try file.identity())
      }
      mailbox.post { engine in
        guard let job = engine.job(id, run) else { return }
        switch result {
        case .failure(let error):
          job.file.identity.isOnItsWay = false
          engine.endings.fileFailed(job, error)
        case .success((.noRoom, _)):
          job.file.identity.isOnItsWay = false
          engine.endings.stop(job, then: .hold(.disk(engine.room.shortage(after: job)), after: nil))
          engine.endings.continueStopping(job)
        case .success(let (preallocation, identity)):
          job.file.isPreallocated = preallocation == .done
          engine.bodies.setIdentity(identity, job)
          engine.journal.commit([.job(job.record)]) { failure in
            mailbox.post { engine in engine.bodies.identityJournalled(id, run, failure) }
          }
        }
      }
    }
  }

  func setIdentity(_ identity: FileIdentity, _ job: ActiveJob) {
    job.record.partial?.stagingName = job.file.staging?.name ?? ""
    job.record.partial?.device = identity.device
    job.record.partial?.inode = identity.inode
    if job.file.failure == nil { job.record.partial?.bootIdentifier = clock.bootIdentifier } else { job.distrust("") }
  }

  private func identityJournalled(_ id: JobID, _ run: UInt64, _ failure: (any Error)?) {
    guard let job = engine.job(id, run) else { return }
    job.file.identity.isOnItsWay = false
    if let failure { return endings.journalFailed(job, failure) }
    journalKnowsFile(job)
    endings.continueStopping(job)
  }

  /// The file is found again after a crash from now on, and may grow.
  private func journalKnowsFile(_ job: ActiveJob) {
    job.file.identity.isJournalled = true
    for writer in job.file.writers.values {
      writer.holdAt = nil
      if writer.takeResumption(), let segment = job.segments.first(where: { $0.writer === writer }) {
        resume(segment.transfer, clock.boot)
      }
    }
  }

  static let checkpointBytes: Int64 = 8 << 20

  static let checkpointInterval: Duration = .seconds(2)

  func checkpointIfDue(_ job: ActiveJob, _ now: Duration) {
    guard !job.file.checkpoint.isInFlight, !job.machine.isDecided,
      now - job.file.checkpoint.last >= Self.checkpointInterval,
      job.file.unsynchronisedBytes >= Self.checkpointBytes
    else { return }
    checkpoint(job)
  }

  /// Data on the disk before the journal says so.
  func checkpoint(_ job: ActiveJob) {
    guard let file = job.file.staging else { return }
    job.file.checkpoint.isInFlight = true
    job.file.checkpoint.last = clock.boot
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    let offset = job.file.written.offset
    let bits = job.file.chunks?.bits
    job.file.written.synchronised = job.file.written.bytes
    job.file.lane.async {
      let result = Result { () throws(SystemCallError) -> (Partial.Checkpoint?, FileIdentity) in
        if bits == nil { return (try file.checkpoint(at: offset), try file.identity()) }
        try file.synchronizeData()
        return (nil, try file.identity())
      }
      mailbox.post { engine in
        guard let job = engine.job(id, run) else { return }
        switch result {
        case .failure(let error):
          job.file.checkpoint.isInFlight = false
          engine.endings.synchronisationFailed(job, error)
        case .success(let (checkpoint, identity)):
          engine.bodies.setIdentity(identity, job)
          engine.bodies.journalCheckpoint(job, checkpoint, bits)
        }
      }
    }
  }

  private func journalCheckpoint(_ job: ActiveJob, _ checkpoint: Partial.Checkpoint?, _ bits: [UInt8]?) {
    var record = job.record
    if let bits { record.partial?.verifiedChunks = bits }
    if let checkpoint {
      var kept = record.partial?.checkpoints ?? []
      kept.removeAll { $0.offset >= checkpoint.offset }
      kept.append(checkpoint)
      record.partial?.checkpoints = Array(kept.suffix(Partial.keptCheckpoints))
    }
    noteProgress(&record, total: job.total)
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    let committed = record
    journal.commit([.job(committed)]) { failure in
      mailbox.post { engine in
        guard let job = engine.job(id, run) else { return }
        job.file.checkpoint.isInFlight = false
        if let failure { return engine.endings.journalFailed(job, failure) }
        engine.bodies.journalKnowsFile(job)
        job.record.partial?.checkpoints = committed.partial?.checkpoints ?? []
        job.record.partial?.verifiedChunks = committed.partial?.verifiedChunks ?? []
        job.record.history.fruitlessAttempts = committed.history.fruitlessAttempts
        job.record.history.serverFaults = committed.history.serverFaults
        job.record.history.highWater = committed.history.highWater
        job.record.lastProgress = committed.lastProgress
        if let bits { job.file.chunks?.journalled(bits) }
        job.file.written.checkpointed = job.durableBytes
        engine.bodies.holdIfShort(job)
        engine.endings.continueStopping(job)
      }
    }
  }

  /// New durable bytes beyond the high-water mark end a row of failures.
  private func noteProgress(_ record: inout JobRecord, total: Int64?) {
    let durable = record.durableBytes
    guard RetryPolicy.isProgress(durable: durable, highWater: record.history.highWater, total: total) else { return }
    record.history.fruitlessAttempts = 0
    // With chunks nothing that was right is lost by them.
    if record.specification.chunks != nil { record.history.serverFaults = 0 }
    record.history.highWater = durable
    record.lastProgress = clock.now
  }
}
