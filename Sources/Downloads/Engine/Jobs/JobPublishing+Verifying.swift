internal import AssetModel
internal import Dispatch
internal import Glibc
internal import Hashing
internal import LinuxSystem

/// The digest has the last word.
extension JobPublishing {
  func verify(_ job: ActiveJob) {
    endings.handle(.verifying, job)
    let size = job.file.chunks?.list.totalSize ?? job.file.written.offset
    // Bytes that were never received are missing, however this was reached.
    guard job.file.chunks?.isComplete != false, size == Self.knownSize(of: job) ?? size else {
      return endings.concludeAttempt(job, .truncated, nil)
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
    let (activation, mailbox) = (job.activation, mailbox)
    job.file.hashingLane.async {
      let result = Result { try hasher.matches(size: size) }
      mailbox.post(.job(activation, .verified(result)))
    }
  }

  /// Of an answer that ended before the file does, as servers' may (RFC 9110, 15.3.7): the rest is asked for when it is right.
  func verifyPart(_ job: ActiveJob, _ check: ContentCheck, then retirement: Retirement) {
    endings.handle(.verifying, job)
    if isAsMeant(job, check) { endings.handle(.ended(retirement), job) }
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
      endings.concludeAttempt(job, .truncated, nil)
    } else if !mismatched(job, "what the server sent isn't what it told (\(check.difference ?? ""))") {
      if check.start == 0 {
        endings.startAfresh(job, reason: "what came isn't what the server says it sent")
        endings.reopen(job)
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
    endings.fail(job, TransferFailure(.digestMismatch, detail: "\(detail), also when it is fetched again"))
    return true
  }

  private static func wrongDigest(of job: ActiveJob, _ difference: String) -> String {
    // The digest may well be right, and of the file as it is without it.
    let coding = job.record.partial?.entity.coding.map { Printable.text($0, limit: 40) }
    let sent = coding.map { "; the server sent it in the coding \($0)" } ?? ""
    return "the file's digest is wrong (\(difference)\(sent))"
  }

  /// What is there may be a beginning, and the rest can be asked for. A server that sends the same number of bytes again, from the
  /// start, has sent all that it has.
  private func mismatchedWithoutLength(_ job: ActiveJob, _ difference: String) {
    let length = job.file.written.offset
    if job.file.evidence.unprovedLength == length {
      return endings.fail(
        job,
        TransferFailure(
          .digestMismatch, detail: "\(Self.wrongDigest(of: job, difference)), also when it is fetched again"))
    }
    let isFirst = job.file.evidence.unprovedLength == nil
    job.file.evidence.unprovedLength = length
    guard isFirst else { return endings.handle(.failed(.retry(.truncated, retryAfter: nil)), job) }
    // What was kept in memory isn't in the file that the rest would be added to.
    if job.file.content != nil {
      endings.startAfresh(job, reason: "its digest was wrong, and its server told no length")
    }
    endings.reopen(job)
  }

  /// Forgets what the last answer brought; what was there before may be right.
  private func takeBack(_ job: ActiveJob, to offset: Int64) {
    guard let file = job.file.staging else { return }
    events.send(.note(job.id, "what came from byte \(offset) on isn't what the server says it sent; it is asked again"))
    job.record.partial?.checkpoints.removeAll { $0.offset > offset }
    job.file.hashing.hasher = nil
    job.file.evidence.declaredDigests = []
    job.file.written.offset = 0
    let (activation, mailbox) = (job.activation, mailbox)
    job.file.lane.async {
      // Before the journal hears of it: a file that is shorter than its journal says is looked at closely.
      let result = Result { () throws(SystemCallError) in try file.cutOpened(to: offset) }
      mailbox.post(.job(activation, .cut(result)))
    }
  }

  func cut(_ job: ActiveJob, _ result: Result<Void, SystemCallError>) {
    switch result {
    case .success:
      journal.commit([.job(job.record)]) { _ in }
      endings.reopen(job)
    case .failure(let error): endings.fileFailed(job, error)
    }
  }

  func verified(_ job: ActiveJob, _ result: Result<Bool, any Error>) {
    endings.handle(.verified, job)
    // Paused, cancelled or closed meanwhile; what is there stays as it is.
    guard case .verifying = job.machine.phase else { return }
    let difference = job.file.hashing.hasher?.difference ?? ""
    switch result {
    case .success(true): publish(job, isReplay: false)
    case .success(false) where !job.file.evidence.isLengthProved: mismatchedWithoutLength(job, difference)
    case .success(false) where job.file.chunks != nil:
      endings.fail(
        job,
        TransferFailure(
          .digestMismatch,
          detail: "all its chunks are right, but not its digest (\(difference)): the chunk list is of another file"))
    case .success(false):
      if mismatched(job, Self.wrongDigest(of: job, difference)) { return }
      job.file.evidence.mismatched = MismatchedDigests(job)
      endings.startAfresh(job, reason: "its digest was wrong")
      endings.reopen(job)
    case .failure(let error):
      endings.fileFailed(
        job, error as? SystemCallError ?? SystemCallError("read", code: EIO, subject: job.file.staging?.name ?? ""))
    }
  }
}
