internal import AssetModel
internal import Dispatch
internal import Hashing
internal import LinuxSystem

/// Bytes on their way: from the socket to buffers, to the digest, to the journal. To the file: `EngineCore+Writing`.
extension EngineCore {
  func transfer(_ id: TransferID, received bytes: UnsafeRawBufferPointer) -> DataVerdict {
    guard let segment = segments[id], let writer = segment.writer else { return .abort }
    let now = clock.boot
    if let until = paced[id], until > now {
      segment.stall.pausedByUs(at: now)
      return .pause
    }
    let job = active[segment.job]
    if let job, !mayReceive(Int64(bytes.count), job) {
      segment.isWaitingForAllowance = true
      segment.stall.pausedByUs(at: now)
      return .pause
    }
    let skipped = writer.skipped
    let verdict = writer.append(bytes)
    if writer.skipped > skipped, let job { charge(job, writer.skipped - skipped) }
    switch verdict {
    case .taken:
      job?.allowance.charge(Int64(bytes.count))
      segment.received += Int64(bytes.count)
      segment.stall.received(bytes.count, at: now)
      if buckets.isLimited, let job {
        let wait = buckets.take(bytes.count, job.record.transferClass, at: now)
        if wait > .zero { paced[id] = now + wait }
      }
    case .pause: segment.stall.pausedByUs(at: now)
    case .abort: break
    }
    return verdict
  }

  func resumePaced(_ now: Duration) {
    guard !paced.isEmpty else { return }
    for (id, until) in paced where until <= now {
      paced[id] = nil
      resume(id, now)
    }
  }

  func resume(_ id: TransferID, _ now: Duration) {
    guard let segment = segments[id] else { return }
    segment.stall.resumed(at: now)
    transport.resume(id)
  }

  func charge(_ job: ActiveJob, _ bytes: Int64) {
    job.record.receivedBytes += bytes
    scheduler.received(bytes, by: job.id)
  }

  // MARK: Digests

  func makeHasher(_ job: ActiveJob) {
    job.file.expect(ResumePolicy.knownDigest(job.record))
  }

  /// Buffers that wait for their digest while their transfer goes on.
  private static let maxHashBacklog = 4

  /// Whether the transfer has to wait until this buffer is hashed. Read from the file later it would take more of the
  /// processor than hashing it does; only what a resumed transfer is ahead of its old bytes' digest is read so.
  func hash(_ buffer: TransferBuffer, _ number: UInt64, _ job: ActiveJob) -> Bool {
    guard let hasher = job.file.hashing.hasher else { return false }
    let isBehind = job.file.hashing.buffers >= Self.maxHashBacklog
    // More than all buffers hold: the digest is still at what was there before.
    if isBehind, buffer.offset - job.file.hashing.offset > Int64(BufferPool.budget) { return false }
    job.file.hashing.buffers += 1
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    job.file.hashingLane.async {
      // A file that can't be read is noticed by the check at the end.
      try? hasher.take(buffer)
      mailbox.post { core in
        guard let job = core.job(id, run) else { return }
        job.file.hashing.buffers -= 1
        if job.file.hashing.hasher === hasher { job.file.hashing.offset = buffer.end }
        guard isBehind else { return }
        core.giveRoom(number, job)
        core.continueSettling(job)
      }
    }
    return isBehind
  }

  func hashChunks(endingIn buffer: TransferBuffer, _ job: ActiveJob) {
    guard let list = job.file.chunks?.list, let file = job.file.staging else { return }
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    for index in Int(buffer.offset / list.chunkSize)...Int((buffer.end - 1) / list.chunkSize) {
      let range = list.range(of: index)
      // A segment starts at a chunk's start and its buffers come in order: who reaches the end has all of it.
      guard range.upperBound <= buffer.end, job.file.chunks?.states[index] == .claimed else { continue }
      job.file.chunks?.written(index)
      job.file.hashing.chunks += 1
      lanes.hashes.async {
        var hash = RunningHash(.sha256)
        let result = Result { () throws(SystemCallError) in try file.read(range) { hash.update($0) } }
        let isRight = list.digest(of: index).elementsEqual(hash.digest)
        mailbox.post { core in
          guard let job = core.job(id, run) else { return }
          switch result {
          case .success: core.chunkHashed(index, isRight: isRight, job)
          case .failure(let error): core.chunkUnread(index, error, job)
          }
        }
      }
    }
  }

  /// That it can't be read is nobody's fault but the disk's.
  private func chunkUnread(_ index: Int, _ error: SystemCallError, _ job: ActiveJob) {
    job.file.hashing.chunks -= 1
    _ = job.file.chunks?.verified(index, isRight: false, isBlamed: true)
    fileFailed(job, error)
  }

  private func chunkHashed(_ index: Int, isRight: Bool, _ job: ActiveJob) {
    job.file.hashing.chunks -= 1
    let isBlamed = !isRight && job.next == nil && bansSender(ofChunk: index, job)
    let isWorthwhile = job.file.chunks?.verified(index, isRight: isRight, isBlamed: isBlamed) ?? true
    if !isRight {
      job.file.evidence.hadBadChunk = job.file.evidence.hadBadChunk || !isBlamed
      events.send(.note(job.id, "chunk \(index) had the wrong digest and is fetched again"))
    }
    if !isWorthwhile, job.next == nil {
      return settle(
        job,
        .fail(
          TransferFailure(.digestMismatch, detail: "chunk \(index) has the wrong digest, also when it is fetched again")
        ))
    }
    finishChunksIfDone(job)
    continueSettling(job)
  }

  func finishChunksIfDone(_ job: ActiveJob) {
    guard job.next == nil, job.phase == .transferring, job.segments.isEmpty, job.file.hashing.chunks == 0 else {
      return
    }
    guard job.file.writers.values.allSatisfy({ $0.inFlight == 0 }) else { return }
    if job.file.chunks?.isComplete == true { return settle(job, .verify) }
    addSegment(job)
  }

  // MARK: The journal

  /// Before a file grows beyond what a killed service may lose, the journal learns how to find it again.
  func journalIdentity(_ job: ActiveJob) {
    guard !job.file.identity.isJournalled, !job.file.identity.isOnItsWay, job.next == nil, let file = job.file.staging
    else { return }
    // A size that is only a guess bounds nothing.
    let total = job.record.specification.exactSize ?? job.record.partial?.entity.total
    if let total, total <= Self.worthAnIdentity { return }
    job.file.identity.isOnItsWay = true
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    job.file.lane.async {
      let result = Result { () throws(SystemCallError) -> (StagingFile.Preallocation, FileIdentity) in
        let preallocation =
          if let total { try file.preallocate(to: total) } else { StagingFile.Preallocation.unsupported }
        return (preallocation, try file.identity())
      }
      mailbox.post { core in
        guard let job = core.job(id, run) else { return }
        switch result {
        case .failure(let error):
          job.file.identity.isOnItsWay = false
          core.fileFailed(job, error)
        case .success((.noRoom, _)):
          job.file.identity.isOnItsWay = false
          core.settle(job, .hold(.disk(core.shortage(after: job)), after: nil))
          core.continueSettling(job)
        case .success(let (preallocation, identity)):
          job.file.isPreallocated = preallocation == .done
          core.setIdentity(identity, job)
          core.journal.commit([.job(job.record)]) { failure in
            mailbox.post { core in core.identityJournalled(id, run, failure) }
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
    guard let job = job(id, run) else { return }
    job.file.identity.isOnItsWay = false
    if let failure { return journalFailed(job, failure) }
    journalKnowsFile(job)
    continueSettling(job)
  }

  /// Whatever happens, the file is found again: it may grow.
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
    guard !job.file.checkpoint.isInFlight, job.next == nil, now - job.file.checkpoint.last >= Self.checkpointInterval,
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
      mailbox.post { core in
        guard let job = core.job(id, run) else { return }
        switch result {
        case .failure(let error):
          job.file.checkpoint.isInFlight = false
          core.synchronisationFailed(job, error)
        case .success(let (checkpoint, identity)):
          core.setIdentity(identity, job)
          core.journalCheckpoint(job, checkpoint, bits)
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
      mailbox.post { core in
        guard let job = core.job(id, run) else { return }
        job.file.checkpoint.isInFlight = false
        if let failure { return core.journalFailed(job, failure) }
        core.journalKnowsFile(job)
        job.record.partial?.checkpoints = committed.partial?.checkpoints ?? []
        job.record.partial?.verifiedChunks = committed.partial?.verifiedChunks ?? []
        job.record.history.fruitlessAttempts = committed.history.fruitlessAttempts
        job.record.history.serverFaults = committed.history.serverFaults
        job.record.history.highWater = committed.history.highWater
        job.record.lastProgress = committed.lastProgress
        if let bits { job.file.chunks?.journalled(bits) }
        job.file.written.checkpointed = job.durableBytes
        core.holdIfShort(job)
        core.continueSettling(job)
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
