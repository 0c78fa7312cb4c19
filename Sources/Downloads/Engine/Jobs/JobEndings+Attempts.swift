internal import AssetModel
internal import Basics
internal import LinuxSystem

/// Attempts that failed: `AttemptPolicy` decides.
extension JobEndings {
  /// One segment of several is given up quietly; the last one ends the attempt.
  func attemptFailed(_ job: ActiveJob, _ segment: Segment, _ problem: TransferProblem, retryAfter: Duration?) {
    guard !job.machine.isDecided else { return }
    let failure = SourceTable.Failure(
      problem: problem, retryAfter: retryAfter, origin: engine.originNumber(segment.request.url))
    if chunked.switchesSource(job, segment, problem.description, failure) { return }
    job.sources.failed(segment.source, with: failure)
    if job.file.chunks != nil, job.segments.count > 1 {
      segment.writer?.flush()
      return chunked.detach(segment, of: job)
    }
    let best = job.sources.failure ?? failure
    job.failedAt = best.origin
    stop(job, then: .retry(best.problem, retryAfter: best.retryAfter))
  }

  func concludeAttempt(_ job: ActiveJob, _ problem: TransferProblem, _ retryAfter: Duration?) {
    // The hop that failed: who leads there does its part.
    let origin = job.failedAt ?? job.origin
    job.record.noteError(problem.description, problem.cause)
    let attempt = job.attempt(until: clock, problem.status, problem.description)
    let policy = AttemptPolicy(
      retry: engine.options.retryPolicy(of: job.record.transferClass),
      retestsPublication: engine.options.retestsPublication,
      longestWithoutProgress: network.conditions.progressTimeout ?? RetryPolicy.longestWithoutProgress,
      random: Double.random(in: 0..<1, using: &engine.random))
    let verdict: AttemptPolicy.Verdict
    if case .proxy = problem {
      let tries = network.proxyHealth.failed(job.id)
      verdict = policy.proxyFailed(problem, tries: tries, failures: network.proxyHealth.failures)
    } else {
      let breaker: AttemptPolicy.BreakerChange
      // The time without progress may be placed anew in the record.
      var history = job.record.history
      (verdict, breaker) = policy.failed(
        problem, requestedDelay: retryAfter, withoutProgress: { timeWithoutProgress(job) }, history: &history)
      job.record.history = history
      switch breaker {
      case .closed: engine.origins[origin].breaker.succeeded()
      case .failed(let delay): engine.origins[origin].breaker.failed(job: job.id, now: clock.boot, delay: delay)
      case .unchanged: break
      }
    }
    switch verdict {
    case .fail(let failure): fail(job, failure, failure.reason == .noProgress ? attempt : nil)
    case .wait(let reason, let delay): wait(job, reason, delay, attempt)
    }
  }

  func wait(_ job: ActiveJob, _ reason: Hold.Reason, _ delay: Duration, _ attempt: Attempt) {
    job.record.wait = StoredWait(since: clock.now, length: delay.inNanoseconds)
    let until = clock.boot + delay
    handle(.ended(Retirement(.held(reason, .at(until)), attempt: attempt)), job)
  }

  /// How long the job has had no progress, gates, pauses and queues not counted (`JobRecord.forgiveWaiting`), in machines'
  /// running time: what a machine was switched off doesn't count.
  func timeWithoutProgress(_ job: ActiveJob) -> Duration {
    let now = clock.now
    if job.record.lastProgress.bootIdentifier != now.bootIdentifier {
      job.record.lastProgress = TransferEngine.carried(job.record.lastProgress, seen: job.record.wait?.since, to: now)
    }
    return .nanoseconds(job.record.lastProgress.elapsed(until: now))
  }
}
