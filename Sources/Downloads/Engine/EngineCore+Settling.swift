internal import AssetModel
internal import Dispatch
internal import Glibc
internal import LinuxSystem

/// How an activation ends: what arrived is made safe first, then the job goes where it belongs.
extension EngineCore {
  /// Ends all transfers of a job. The first reason wins, but to pause or close comes before another try, and to cancel
  /// before everything but a failure.
  func settle(_ job: ActiveJob, _ next: NextStep) {
    guard accepts(job, next) else { return }
    job.next = next
    let keepsBytes = next.keepsBytes && job.file.failure == nil
    for segment in job.segments {
      if keepsBytes {
        segment.writer?.flush()
      } else if let writer = segment.writer {
        charge(job, writer.dropCurrent())
      }
      releaseChunks(segment, of: job)
      drop(segment)
    }
    job.segments = []
    if job.phase == .transferring { job.phase = .settling }
    continueSettling(job)
  }

  func accepts(_ job: ActiveJob, _ next: NextStep) -> Bool { job.next?.givesWay(to: next) ?? true }

  /// Goes on once no buffer, digest or commit of the job is on its way.
  func continueSettling(_ job: ActiveJob) {
    guard let next = job.next, job.phase == .settling || job.phase == .opening, job.file.isQuiet,
      !job.allowance.isExtending
    else { return }
    job.file.writers = [:]
    if job.file.failure == nil, next.keepsBytes, needsCheckpoint(job, next) { return checkpoint(job) }
    conclude(job, next)
  }

  private func needsCheckpoint(_ job: ActiveJob, _ next: NextStep) -> Bool {
    job.file.staging != nil && job.record.partial != nil
      && job.file.needsCheckpoint(before: next, worth: Self.checkpointBytes)
  }

  private func conclude(_ job: ActiveJob, _ next: NextStep) {
    job.next = nil
    switch next {
    case .verify: verify(job)
    case .retry(let problem, let retryAfter): concludeAttempt(job, problem, retryAfter)
    case .hold(.disk(let shortage), _):
      job.record.lastError = "\(shortage)"
      forgetWhatCannotBeContinued(job) { core, job in
        core.commitAndRetire(job, .outOfSpace(shortage))
      }
    case .hold(let reason, let delay):
      job.record.lastError = reason.text
      commitAndRetire(job, .held(reason, delay.map { .after($0) } ?? .never))
    case .pause:
      job.record.state = .paused
      commitAndRetire(job, .paused)
    case .yield:
      commitAndRetire(job, .queued(isTold: false))
    case .cancel:
      proxyHealth.forget(job.id)
      job.record.state = .cancelled
      discard(job) { core, job in core.commitAndRetire(job, .cancelled) }
    case .fail(let failure): fail(job, failure)
    case .startAfresh(let reason):
      startAfresh(job, reason: reason, isAnother: true)
      reopen(job)
    case .askOtherwise(let reason):
      job.restarts += 1
      guard job.restarts <= Self.maxOtherwise else {
        return concludeAttempt(job, .protocolFault(reason), nil)
      }
      begin(job)
    // What was received since the last commit has been charged to nobody yet, or what was given up would be checked again.
    case .close where job.record.specification.budget != nil || job.record.generation != job.start.generation:
      commitAndRetire(job, .left)
    case .close:
      retire(job)
      perform(job.commands, on: job.id)
    }
  }

  /// Bytes that aren't durable would only take room from others, and a length that nothing was received of is a
  /// server's word of a moment ago: it is asked again.
  private func forgetWhatCannotBeContinued(
    _ job: ActiveJob, _ then: @escaping @Sendable (EngineCore, ActiveJob) -> Void
  ) {
    guard job.record.state != .verified, job.record.partial != nil, job.durableBytes == 0, let file = job.file.staging
    else {
      return then(self, job)
    }
    job.record.partial = nil
    afterFileWork(job, { file.discard() }, then)
  }

  /// Whoever opens the next file of that name finds nothing of this one, and commands wait until the slot is free.
  private func afterFileWork(
    _ job: ActiveJob, _ work: @escaping @Sendable () -> Void,
    _ then: @escaping @Sendable (EngineCore, ActiveJob) -> Void
  ) {
    job.phase = .retiring
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    job.file.lane.async {
      work()
      mailbox.post { core in
        guard let job = core.job(id, run) else { return }
        then(core, job)
      }
    }
  }

  /// The attempt that it failed with is remembered like those before it, if anything was asked for.
  func fail(_ job: ActiveJob, _ failure: TransferFailure, _ attempt: Attempt? = nil) {
    if suspectsPortal(job, failure) { return }
    let own = job.hasRequested ? job.attempt(until: clock, failure.status, failure.detail) : nil
    if failure.isRefusedAccess {
      if let failure = keptForAnotherURL(job, failure) { return failAndKeep(job, failure, attempt ?? own) }
      job.record.partial = nil
    }
    job.record.state = .failed(failure)
    job.record.lastError = failure.detail
    let last = attempt ?? own
    discard(job) { core, job in core.commitAndRetire(job, attempt: last, .failed(failure)) }
  }

  /// Asks for the first byte, with nothing in the hand.
  func reopen(_ job: ActiveJob) {
    job.phase = .opening
    if isClosing { return settle(job, .close) }
    open(job)
    // They waited for an end that isn't near any more.
    let commands = job.commands
    job.commands = CommandQueue()
    perform(commands, on: job.id)
  }

  /// A new generation with a new, empty file. The old one lies there until the new one is certain; those before it go.
  /// `isAnother`: of another version, for which nothing counts that was fetched of the old one.
  func startAfresh(_ job: ActiveJob, reason: String, isAnother: Bool = false) {
    guard let destination = job.file.destination else { return }
    let hadBytes = job.record.partial != nil || job.file.written.offset > 0
    if isAnother { job.record.history.highWater = 0 }
    if hadBytes {
      if job.record.generation > 1 {
        let outdated = stagingName(job.record.specification, job.record.generation - 1)
        job.file.lane.async { destination.removeStaging(outdated) }
      }
      job.record.generation += 1
      events.send(.restarted(job.id, reason: reason))
    }
    let specification = job.record.specification
    job.record.partial = nil
    job.record.state = .open
    let isNew = hadBytes || job.file.staging == nil
    let staging =
      isNew
      ? StagingFile(destination: destination, name: stagingName(specification, job.record.generation)) : nil
    job.file.empty(staging, specification.chunks)
    makeHasher(job)
  }

  func discard(_ job: ActiveJob, _ then: @escaping @Sendable (EngineCore, ActiveJob) -> Void) {
    guard let destination = job.file.destination else { return then(self, job) }
    let specification = job.record.specification
    let file = job.file.staging
    let names = stagingNames(specification, upTo: job.record.generation)
    let work = { @Sendable in
      file?.discard()
      for name in names { destination.removeStaging(name) }
    }
    afterFileWork(job, work, then)
  }

  /// The slot is free when the journal knows why.
  func commitAndRetire(_ job: ActiveJob, attempt: Attempt? = nil, _ disposition: Disposition) {
    job.phase = .retiring
    let (id, run, mailbox, record) = (job.id, job.run, mailbox, job.record)
    journal.commit([.job(record)] + (attempt.map { [.attempt($0, id)] } ?? [])) { failure in
      mailbox.post { core in
        guard let job = core.job(id, run) else { return }
        core.retire(job)
        if let failure {
          core.holdUpdate(record, failure, disposition)
        } else {
          core.enter(disposition, record)
        }
        core.perform(job.commands, on: id)
      }
    }
  }

  // MARK: Failed attempts

  /// One segment of several is given up quietly; the last one ends the attempt.
  func attemptFailed(_ job: ActiveJob, _ segment: Segment, _ problem: TransferProblem, retryAfter: Duration?) {
    guard job.next == nil else { return }
    let failure = SourceTable.Failure(
      problem: problem, retryAfter: retryAfter, origin: originNumber(segment.request.url))
    if switchesSource(job, segment, problem.description, failure) { return }
    job.sources.failed(segment.source, with: failure)
    if job.file.chunks != nil, job.segments.count > 1 {
      segment.writer?.flush()
      return release(segment, of: job)
    }
    let best = job.sources.failure ?? failure
    job.failedAt = best.origin
    settle(job, .retry(best.problem, retryAfter: best.retryAfter))
  }

  func concludeAttempt(_ job: ActiveJob, _ problem: TransferProblem, _ retryAfter: Duration?) {
    let policy = retryPolicy(of: job.record.transferClass)
    // The hop that failed: who leads there does its part.
    let origin = job.failedAt ?? job.origin
    job.record.lastError = problem.description
    let attempt = job.attempt(until: clock, problem.status, problem.description)
    switch problem.classification {
    case .permanent(let reason):
      origins[origin].breaker.succeeded()
      fail(job, TransferFailure(reason, status: problem.status, detail: problem.description))
    case .publication:
      guard options.retestsPublication, job.record.history.publicationRetests < 2 else {
        return fail(job, TransferFailure(.gone, status: problem.status, detail: problem.description))
      }
      job.record.history.publicationRetests += 1
      let delay = policy.delay(fruitless: job.record.history.publicationRetests, random: jitter())
      wait(job, .publication(job.record.history.publicationRetests), delay, attempt)
    case .notAnAttempt:
      let tries = proxyHealth.failed(job.id)
      if let limit = policy.attemptLimit, tries >= limit {
        proxyHealth.forget(job.id)
        return fail(
          job,
          TransferFailure(.noProgress, detail: "\(tries) attempts in a row failed; the last: \(problem.description)"))
      }
      let delay = policy.delay(fruitless: proxyHealth.failures - 1, random: jitter())
      wait(job, .retry(problem.description), delay, attempt)
    case .transient:
      let tries = job.record.history.fruitlessAttempts
      job.record.history.fruitlessAttempts += 1
      let idle = timeWithoutProgress(job)
      let longestWait = conditions.patienceWithoutProgress ?? RetryPolicy.longestWithoutProgress
      if policy.attemptLimit.map({ tries + 1 >= $0 }) ?? false || idle >= longestWait {
        return fail(
          job,
          TransferFailure(
            .noProgress, status: problem.status, errno: problem.errno,
            detail: "\(tries + 1) attempts brought nothing new; the last: \(problem.description)"), attempt)
      }
      let delay = RetryAfter.wait(backoff: policy.delay(fruitless: tries, random: jitter()), requested: retryAfter)
      origins[origin].breaker.failed(job: job.id, now: clock.boot, delay: delay)
      let asked = retryAfter.map { " and asks to be left alone for \($0.inNanoseconds / 1_000_000_000) s" } ?? ""
      wait(job, .retry(problem.description + asked), delay, attempt)
    }
  }

  func retryPolicy(of transferClass: TransferClass) -> RetryPolicy {
    RetryPolicy(transferClass: transferClass, appIdleForWeek: false, attemptLimit: options.attemptLimit)
  }

  private func jitter() -> Double { Double.random(in: 0..<1, using: &random) }

  private func wait(_ job: ActiveJob, _ reason: Hold.Reason, _ delay: Duration, _ attempt: Attempt) {
    job.record.wait = StoredWait(since: clock.now, length: delay.inNanoseconds)
    let until = clock.boot + delay
    commitAndRetire(job, attempt: attempt, .held(reason, .at(until)))
  }

  // MARK: Files that fail

  func fileFailed(_ job: ActiveJob, _ error: SystemCallError) {
    if error.code == EWOULDBLOCK, error.call == "flock" {
      // Somebody else's, and nothing of it was touched.
      settle(job, .hold(.held(error.subject), after: SpaceLedger.failureDelay))
      return continueSettling(job)
    }
    job.file.failure = job.file.failure ?? error
    // Later writes may have gone through and left a hole: whoever opens it again trusts checkpoints alone.
    job.distrust("")
    // The body may have ended before its last buffer was refused: what isn't there can't be checked, let alone published.
    switch job.next {
    case .verify, .retry: job.next = nil
    default: break
    }
    switch error.code {
    case ENOSPC, EDQUOT:
      settle(job, .hold(.disk(shortage(after: job)), after: nil))
    case EIO, EROFS, ENODEV, ENXIO, ESTALE: volumeFailed(job, error.code)
    case EFBIG: settle(job, .fail(TransferFailure(.refused, errno: EFBIG, detail: Self.tooLarge(Self.fileSizeLimit))))
    case EMFILE, ENFILE, ENOMEM: settle(job, .hold(.volume(error.code), after: SpaceLedger.failureDelay))
    default:
      settle(job, .fail(TransferFailure(.volume, errno: error.code, detail: "\(error)")))
    }
    continueSettling(job)
  }

  /// `limit`: bytes that this process may write to one file (setrlimit(2)).
  static func tooLarge(_ limit: UInt64?) -> String {
    guard let limit else { return "the filesystem takes no file of that size" }
    return "this process may write no file beyond \(limit) bytes: its file size limit (ulimit -f) says so"
  }

  private static var fileSizeLimit: UInt64? {
    var limits = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits) == 0, limits.rlim_cur != .max else {
      return nil
    }
    return UInt64(limits.rlim_cur)
  }

  /// The pages since the last checkpoint may be lost, and asking again would only hide it.
  func synchronisationFailed(_ job: ActiveJob, _ error: SystemCallError) {
    let file = job.file.staging
    let durable = job.record.partial?.durableOffset ?? 0
    job.distrust(Partial.lostPages)
    if job.file.chunks == nil, let cut = file?.cuttingOpened(to: durable) { job.file.lane.async { try? cut() } }
    fileFailed(job, error)
  }

  func journalFailed(_ job: ActiveJob, _ error: any Error) {
    job.file.failure = job.file.failure ?? SystemCallError("commit", code: EIO, subject: "the journal")
    settle(job, .hold(.journal(error), after: Self.journalDelay))
    continueSettling(job)
  }
}
