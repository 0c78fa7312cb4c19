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
    if let total, total <= JobFile.worthAnIdentity { return }
    job.file.identity.isOnItsWay = true
    let (activation, mailbox) = (job.activation, mailbox)
    job.file.lane.async {
      let result = Result { () throws(SystemCallError) -> (StagingFile.Preallocation, FileIdentity) in
        let preallocation =
          if let total { try file.preallocate(to: total) } else { StagingFile.Preallocation.unsupported }
        return (preallocation, try file.identity())
      }
      mailbox.post(.transfer(activation, .identified(result)))
    }
  }

  func identified(_ job: ActiveJob, _ result: Result<(StagingFile.Preallocation, FileIdentity), SystemCallError>) {
    switch result {
    case .failure(let error):
      job.file.identity.isOnItsWay = false
      endings.fileFailed(job, error)
    case .success((.noRoom, _)):
      job.file.identity.isOnItsWay = false
      endings.stop(job, then: .hold(.disk(room.shortage(after: job)), after: nil))
      endings.continueStopping(job)
    case .success(let (preallocation, identity)):
      job.file.isPreallocated = preallocation == .done
      job.setIdentity(identity, boot: clock.bootIdentifier)
      let (activation, mailbox) = (job.activation, mailbox)
      journal.commit([.job(job.record)]) { mailbox.post(.transfer(activation, .identityJournalled($0))) }
    }
  }

  func identityJournalled(_ job: ActiveJob, _ failure: (any Error)?) {
    job.file.identity.isOnItsWay = false
    if let failure { return endings.journalFailed(job, failure) }
    journalKnowsFile(job)
    endings.continueStopping(job)
  }

  /// The file is found again after a crash from now on, and may grow.
  private func journalKnowsFile(_ job: ActiveJob) {
    removeOutdated(job)
    job.file.identity.isJournalled = true
    for writer in job.file.writers.values {
      writer.holdAt = nil
      if writer.takeResumption(), let segment = job.segments.first(where: { $0.writer === writer }) {
        resume(segment, clock.boot)
      }
    }
  }

  /// The file of the generation before lay there until the journal knew this one.
  private func removeOutdated(_ job: ActiveJob) {
    guard let outdated = job.file.identity.outdated, let destination = job.file.destination else { return }
    job.file.identity.outdated = nil
    job.file.lane.async { destination.removeStaging(outdated) }
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
    let (activation, mailbox) = (job.activation, mailbox)
    let offset = job.file.written.offset
    let bits = job.file.chunks?.bits
    job.file.written.synchronised = job.file.written.bytes
    job.file.lane.async {
      let result = Result { () throws(SystemCallError) -> (Partial.Checkpoint?, FileIdentity) in
        if bits == nil { return (try file.checkpoint(at: offset), try file.identity()) }
        try file.synchronizeData()
        return (nil, try file.identity())
      }
      mailbox.post(.transfer(activation, .synchronised(result, bits: bits)))
    }
  }

  func synchronised(
    _ job: ActiveJob, _ result: Result<(Partial.Checkpoint?, FileIdentity), SystemCallError>, _ bits: [UInt8]?
  ) {
    switch result {
    case .failure(let error):
      job.file.checkpoint.isInFlight = false
      endings.synchronisationFailed(job, error)
    case .success(let (checkpoint, identity)):
      job.setIdentity(identity, boot: clock.bootIdentifier)
      journalCheckpoint(job, checkpoint, bits)
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
    let (activation, mailbox, committed) = (job.activation, mailbox, record)
    journal.commit([.job(committed)]) { failure in
      mailbox.post(.transfer(activation, .checkpointJournalled(committed, bits: bits, failure)))
    }
  }

  func checkpointJournalled(_ job: ActiveJob, _ committed: JobRecord, _ bits: [UInt8]?, _ failure: (any Error)?) {
    job.file.checkpoint.isInFlight = false
    if let failure { return endings.journalFailed(job, failure) }
    journalKnowsFile(job)
    job.record.partial?.checkpoints = committed.partial?.checkpoints ?? []
    job.record.partial?.verifiedChunks = committed.partial?.verifiedChunks ?? []
    job.record.history.fruitlessAttempts = committed.history.fruitlessAttempts
    job.record.history.serverFaults = committed.history.serverFaults
    job.record.history.highWater = committed.history.highWater
    job.record.lastProgress = committed.lastProgress
    if let bits { job.file.chunks?.journalled(bits) }
    job.file.written.checkpointed = job.durableBytes
    holdIfShort(job)
    endings.continueStopping(job)
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
