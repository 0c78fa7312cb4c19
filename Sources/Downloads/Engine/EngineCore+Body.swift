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
      if let job, let left = job.allowance { job.allowance = left - Int64(bytes.count) }
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
    guard job.chunks == nil, let file = job.file else { return }
    // Everything that was ever said of the file has to hold, not only what is trusted most.
    var expected = job.hasher?.expected ?? []
    let before = expected.count
    let known = ResumePolicy.knownDigest(job.record).map { [$0] } ?? []
    for digest in job.toldDigests + known where !expected.contains(digest) { expected.append(digest) }
    // What an older one has seen already is read from the file again.
    if expected.count > before { job.hasher = FileHasher(expected: expected, file: file) }
  }

  /// Buffers that wait for their digest while their transfer goes on.
  private static let maxHashBacklog = 4

  /// Whether the transfer has to wait until this buffer is hashed. Read from the file later it would take more of the
  /// processor than hashing it does; only what a resumed transfer is ahead of its old bytes' digest is read so.
  func hash(_ buffer: TransferBuffer, _ number: UInt64, _ job: ActiveJob) -> Bool {
    guard let hasher = job.hasher else { return false }
    let isBehind = job.hashBacklog >= Self.maxHashBacklog
    // More than all buffers hold: the digest is still at what was there before.
    if isBehind, buffer.offset - job.hashedOffset > Int64(BufferPool.budget) { return false }
    job.hashBacklog += 1
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    job.hashingLane.async {
      // A file that can't be read is noticed by the check at the end.
      try? hasher.take(buffer)
      mailbox.post { core in
        guard let job = core.job(id, run) else { return }
        job.hashBacklog -= 1
        if job.hasher === hasher { job.hashedOffset = buffer.end }
        guard isBehind else { return }
        core.giveRoom(number, job)
        core.continueSettling(job)
      }
    }
    return isBehind
  }

  func hashChunks(endingIn buffer: TransferBuffer, _ job: ActiveJob) {
    guard let list = job.chunks?.list, let file = job.file else { return }
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    for index in Int(buffer.offset / list.chunkSize)...Int((buffer.end - 1) / list.chunkSize) {
      let range = list.range(of: index)
      // A segment starts at a chunk's start and its buffers come in order: who reaches the end has all of it.
      guard range.upperBound <= buffer.end, job.chunks?.states[index] == .claimed else { continue }
      job.chunks?.written(index)
      job.pendingChunkHashes += 1
      hashing.async {
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
    job.pendingChunkHashes -= 1
    _ = job.chunks?.verified(index, isRight: false, isBlamed: true)
    fileFailed(job, error)
  }

  private func chunkHashed(_ index: Int, isRight: Bool, _ job: ActiveJob) {
    job.pendingChunkHashes -= 1
    let isBlamed = !isRight && job.next == nil && bansSender(ofChunk: index, job)
    let isWorthwhile = job.chunks?.verified(index, isRight: isRight, isBlamed: isBlamed) ?? true
    if !isRight {
      job.hadBadChunk = job.hadBadChunk || !isBlamed
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
    guard job.next == nil, job.phase == .transferring, job.segments.isEmpty, job.pendingChunkHashes == 0 else { return }
    guard job.writers.values.allSatisfy({ $0.inFlight == 0 }) else { return }
    if job.chunks?.isComplete == true { return settle(job, .verify) }
    addSegment(job)
  }

  // MARK: The journal

  /// Before a file grows beyond what a killed service may lose, the journal learns how to find it again.
  func journalIdentity(_ job: ActiveJob) {
    guard !job.isIdentityJournalled, !job.isIdentityOnItsWay, job.next == nil, let file = job.file else { return }
    // A size that is only a guess bounds nothing.
    let total = job.record.specification.exactSize ?? job.record.partial?.entity.total
    if let total, total <= Self.worthAnIdentity { return }
    job.isIdentityOnItsWay = true
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    job.lane.async {
      let result = Result { () throws(SystemCallError) -> (StagingFile.Preallocation, FileIdentity) in
        let preallocation =
          if let total { try file.preallocate(to: total) } else { StagingFile.Preallocation.unsupported }
        return (preallocation, try file.identity())
      }
      mailbox.post { core in
        guard let job = core.job(id, run) else { return }
        switch result {
        case .failure(let error):
          job.isIdentityOnItsWay = false
          core.fileFailed(job, error)
        case .success((.noRoom, _)):
          job.isIdentityOnItsWay = false
          core.settle(job, .hold(.disk(core.shortage(after: job)), nil))
          core.continueSettling(job)
        case .success(let (preallocation, identity)):
          job.isPreallocated = preallocation == .done
          core.setIdentity(identity, job)
          core.journal.commit([.job(job.record)]) { failure in
            mailbox.post { core in core.identityJournalled(id, run, failure) }
          }
        }
      }
    }
  }

  func setIdentity(_ identity: FileIdentity, _ job: ActiveJob) {
    job.record.partial?.stagingName = job.file?.name ?? ""
    job.record.partial?.device = identity.device
    job.record.partial?.inode = identity.inode
    if job.ioError == nil { job.record.partial?.bootIdentifier = clock.bootIdentifier } else { job.distrust("") }
  }

  private func identityJournalled(_ id: JobID, _ run: UInt64, _ failure: (any Error)?) {
    guard let job = job(id, run) else { return }
    job.isIdentityOnItsWay = false
    if let failure { return journalFailed(job, failure) }
    journalKnowsFile(job)
    continueSettling(job)
  }

  /// Whatever happens, the file is found again: it may grow.
  private func journalKnowsFile(_ job: ActiveJob) {
    job.isIdentityJournalled = true
    for writer in job.writers.values {
      writer.holdAt = nil
      if writer.takeResumption(), let segment = job.segments.first(where: { $0.writer === writer }) {
        resume(segment.transfer, clock.boot)
      }
    }
  }

  static let checkpointBytes: Int64 = 8 << 20
  static let checkpointInterval: Duration = .seconds(2)

  /// Also of chunks that aren't whole yet: what the disk has of them is found by their digests.
  private func unsynchronised(_ job: ActiveJob) -> Int64 {
    job.chunks == nil ? job.writtenOffset - job.checkpointedBytes : job.writtenBytes - job.synchronisedBytes
  }

  func checkpointIfDue(_ job: ActiveJob, _ now: Duration) {
    guard !job.checkpointInFlight, job.next == nil, now - job.lastCheckpoint >= Self.checkpointInterval,
      unsynchronised(job) >= Self.checkpointBytes
    else { return }
    checkpoint(job)
  }

  /// Data on the disk before the journal says so.
  func checkpoint(_ job: ActiveJob) {
    guard let file = job.file else { return }
    job.checkpointInFlight = true
    job.lastCheckpoint = clock.boot
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    let offset = job.writtenOffset
    let bits = job.chunks?.bits
    job.synchronisedBytes = job.writtenBytes
    job.lane.async {
      let result = Result { () throws(SystemCallError) -> (Partial.Checkpoint?, FileIdentity) in
        if bits == nil { return (try file.checkpoint(at: offset), try file.identity()) }
        try file.synchronizeData()
        return (nil, try file.identity())
      }
      mailbox.post { core in
        guard let job = core.job(id, run) else { return }
        switch result {
        case .failure(let error):
          job.checkpointInFlight = false
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
        job.checkpointInFlight = false
        if let failure { return core.journalFailed(job, failure) }
        core.journalKnowsFile(job)
        job.record.partial?.checkpoints = committed.partial?.checkpoints ?? []
        job.record.partial?.verifiedChunks = committed.partial?.verifiedChunks ?? []
        job.record.history.fruitlessAttempts = committed.history.fruitlessAttempts
        job.record.history.serverFaults = committed.history.serverFaults
        job.record.history.highWater = committed.history.highWater
        job.record.lastProgress = committed.lastProgress
        if let bits { job.chunks?.journalled(bits) }
        job.checkpointedBytes = job.durableBytes
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
