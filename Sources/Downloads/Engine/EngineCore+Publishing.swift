internal import AssetModel
internal import Dispatch
internal import Glibc
internal import LinuxSystem

/// A file that is all there: checked, then published under its name, or taken back.
extension EngineCore {
  func verify(_ job: ActiveJob) {
    job.phase = .verifying
    let size = job.file.chunks?.list.totalSize ?? job.file.written.offset
    // Whatever led here: bytes that nobody has brought aren't there.
    guard job.file.chunks?.isComplete != false, size == Self.knownSize(of: job) ?? size else {
      return concludeAttempt(job, .truncated, nil)
    }
    if let check = job.file.evidence.check, !isAsMeant(job, check) { return }
    if job.file.chunks != nil, let digest = job.record.specification.digest, let file = job.file.staging {
      job.file.hashing.hasher = FileHasher(expected: [digest], file: file)
    }
    guard let hasher = job.file.hashing.hasher else { return publish(job, isReplay: false) }
    if let content = job.file.content {
      return verified(
        job,
        Result {
          try hasher.take(content)
          return try hasher.matches(size: size)
        })
    }
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    job.file.hashingLane.async {
      let result = Result { try hasher.matches(size: size) }
      mailbox.post { core in
        guard let job = core.job(id, run) else { return }
        core.verified(job, result)
      }
    }
  }

  /// Bytes that the whole file has, as far as anybody says.
  private static func knownSize(of job: ActiveJob) -> Int64? {
    job.record.specification.exactSize ?? job.record.partial?.entity.total
  }

  /// False after the job was sent elsewhere: what the last answer brought isn't what its server says it sent.
  private func isAsMeant(_ job: ActiveJob, _ check: ContentCheck) -> Bool {
    job.file.evidence.check = nil
    if let content = job.file.content { check.take(content.bytes) }
    if check.isRight { return true }
    if !job.file.evidence.isLengthProved {
      concludeAttempt(job, .truncated, nil)
    } else if !mismatched(job, "what the server sent isn't what it told (\(check.difference ?? ""))") {
      if check.start == 0 {
        startAfresh(job, reason: "what came isn't what the server says it sent")
        reopen(job)
      } else {
        takeBack(job, to: check.start)
      }
    }
    return false
  }

  /// One more mismatch; true: it was one too many, and the job failed.
  private func mismatched(_ job: ActiveJob, _ detail: String) -> Bool {
    job.record.history.digestMismatches += 1
    guard job.record.history.digestMismatches >= 2 else { return false }
    fail(job, TransferFailure(.digestMismatch, detail: "\(detail), also when it is fetched again"))
    return true
  }

  /// Forgets what the last answer brought; what was there before may be right.
  private func takeBack(_ job: ActiveJob, to offset: Int64) {
    guard let file = job.file.staging else { return }
    events.send(.note(job.id, "what came from byte \(offset) on isn't what the server says it sent; it is asked again"))
    job.record.partial?.checkpoints.removeAll { $0.offset > offset }
    job.file.hashing.hasher = nil
    job.file.evidence.toldDigests = []
    job.file.written.offset = 0
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    job.file.lane.async {
      // Before the journal hears of it: a file that is shorter than its journal says is looked at closely.
      let result = Result { () throws(SystemCallError) in try file.cutOpened(to: offset) }
      mailbox.post { core in
        guard let job = core.job(id, run) else { return }
        switch result {
        case .success:
          core.journal.commit([.job(job.record)]) { _ in }
          core.reopen(job)
        case .failure(let error):
          job.phase = .settling
          core.fileFailed(job, error)
        }
      }
    }
  }

  private func verified(_ job: ActiveJob, _ result: Result<Bool, any Error>) {
    if let next = job.next {
      // Paused, cancelled or closed meanwhile; what is there stays as it is.
      job.phase = .settling
      if case .verify = next { job.next = nil } else { return continueSettling(job) }
    }
    let difference = job.file.hashing.hasher?.difference ?? ""
    switch result {
    case .success(true): publish(job, isReplay: false)
    case .success(false) where !job.file.evidence.isLengthProved:
      // No length was told: what is there may be a beginning, and the rest can be asked for.
      job.phase = .settling
      settle(job, .retry(.truncated, retryAfter: nil))
    case .success(false) where job.file.chunks != nil:
      fail(
        job,
        TransferFailure(
          .digestMismatch,
          detail: "all its chunks are right, but not its digest (\(difference)): the chunk list is of another file"))
    case .success(false):
      if mismatched(job, "the file's digest is wrong (\(difference))") { return }
      job.file.evidence.unfulfilled = Unfulfilled(job)
      startAfresh(job, reason: "its digest was wrong")
      reopen(job)
    case .failure(let error):
      job.phase = .settling
      fileFailed(
        job, error as? SystemCallError ?? SystemCallError("read", code: EIO, subject: job.file.staging?.name ?? ""))
    }
  }

  /// All bytes are there and right: they stay for whoever asks for them again.
  private func failForWantOfPlace(_ job: ActiveJob, _ failure: TransferFailure) {
    // Published a second time, it is known already as it was then.
    if job.record.state == .verified, job.record.partial != nil { return failAndKeep(job, failure) }
    let size = job.file.chunks?.list.totalSize ?? job.file.written.offset
    guard size > Self.small, job.record.partial != nil, let file = job.file.staging else { return fail(job, failure) }
    let hasChunks = job.file.chunks != nil
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    job.file.lane.async {
      let result = Result { () throws(SystemCallError) -> (Partial.Checkpoint?, FileIdentity) in
        (hasChunks ? nil : try file.checkpoint(at: size), try file.identity())
      }
      mailbox.post { core in
        guard let job = core.job(id, run) else { return }
        guard case .success(let (checkpoint, identity)) = result else { return core.fail(job, failure) }
        core.setIdentity(identity, job)
        job.record.partial?.entity.total = size
        if let checkpoint { job.record.partial?.checkpoints = [checkpoint] }
        core.failAndKeep(job, failure)
      }
    }
  }

  func failAndKeep(_ job: ActiveJob, _ failure: TransferFailure, _ attempt: Attempt? = nil) {
    job.record.state = .failed(failure)
    job.record.lastError = failure.detail
    commitAndRetire(job, attempt: attempt, .failed(failure))
  }

  func publish(_ job: ActiveJob, isReplay: Bool) {
    guard let file = job.file.staging else { return }
    job.phase = .publishing
    job.record.wait = nil
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    let content = job.file.content
    job.file.content = nil
    if content != nil, active.count < Self.maxWaitingToBePublished, !pool.isCrowded { releaseSlot(of: job) }
    publisher.publish(
      Publisher.Item(job: job.record, file: file, content: content, isReplay: isReplay) { result in
        mailbox.post { core in
          guard let job = core.job(id, run) else { return }
          core.published(job, result)
        }
      })
  }

  static let maxWaitingToBePublished = 256

  private func published(_ job: ActiveJob, _ result: Result<JobRecord, Publisher.Failure>) {
    switch result {
    case .success(let record):
      retire(job)
      perform(job.commands, on: record.id)
      let path = "\(record.specification.directory)/\(record.specification.fileName)"
      let digest = record.specification.chunks == nil ? ResumePolicy.knownDigest(record) : record.specification.digest
      events.send(.finished(record.id, DownloadedFile(path: path, size: record.finalSize ?? 0, verifiedDigest: digest)))
    case .failure(.occupied(let name)):
      failForWantOfPlace(
        job,
        TransferFailure(
          .refused, errno: EEXIST,
          detail:
            "\(Printable.text(name)) is there already in \(Printable.text(job.record.specification.directory)), and nothing is ever replaced"
        ))
    case .failure(.displaced):
      let specification = job.record.specification
      let detail = DestinationProblem.displaced(specification.directory, specification.fileName)
      fail(job, TransferFailure(.refused, detail: detail))
    case .failure(.lost):
      startAfresh(job, reason: "the verified file is gone")
      reopen(job)
    case .failure(.unsynchronised(let error)):
      job.phase = .settling
      synchronisationFailed(job, error)
    case .failure(.unnamed(let record, let error)):
      keepVerified(job, record)
      switch error.code {
      case ENOSPC, EDQUOT, EIO, EROFS, ENODEV, ENXIO, ESTALE, EMFILE, ENFILE, ENOMEM, EWOULDBLOCK:
        job.phase = .settling
        fileFailed(job, error)
      default: failForWantOfPlace(job, TransferFailure(.volume, errno: error.code, detail: "\(error)"))
      }
    case .failure(.journal(let error, let record)):
      if let record { keepVerified(job, record) }
      job.phase = .settling
      journalFailed(job, error)
    }
  }

  /// The journal has it so already: the next activation goes on with its name, and nobody touches its bytes any more.
  private func keepVerified(_ job: ActiveJob, _ record: JobRecord) {
    job.record.state = .verified
    job.record.publishedInode = record.publishedInode
    job.record.finalSize = record.finalSize
  }
}
