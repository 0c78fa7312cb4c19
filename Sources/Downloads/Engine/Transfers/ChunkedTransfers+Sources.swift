internal import AssetModel
internal import Basics

/// Mirrors: a source that fails, or sends wrong bytes, is left for another one.
extension ChunkedTransfers {
  /// The source to ask for the next piece; nil: there is none, and the job failed.
  func nextSource(_ job: ActiveJob) -> (number: Int, url: ParsedURL)? {
    if !job.hasValidatedSources, !validateSources(job) { return nil }
    let urls = job.sources.urls
    let source = job.sources.next { source in
      guard urls.count > 1, let url = try? ParsedURL(urls[source]) else { return SourceTable.Load() }
      let origin = engine.originNumber(url)
      return SourceTable.Load(
        isResting: engine.origins[origin].asksToWait(now: clock.boot), isRangeless: engine.origins[origin].isRangeless,
        transfers: job.segments.count { $0.source == source })
    }
    return (try? ParsedURL(urls[source])).map { (source, $0) }
  }

  /// Those that may be asked are known before the first is. Whether there are any.
  private func validateSources(_ job: ActiveJob) -> Bool {
    job.hasValidatedSources = true
    for (source, text) in job.sources.urls.enumerated() {
      do throws(RefusedURL) { _ = try engine.options.transport.validatedURL(text, job.record.specification) } catch {
        guard job.sources.forbid(source) else {
          endings.stop(job, then: .fail(TransferFailure(.notAllowed, cause: error.cause, detail: error.text)))
          return false
        }
        events.send(.note(job.id, "one of its sources isn't asked: \(error.text)"))
      }
    }
    return true
  }

  /// What follows when every source that is left has asked to wait until then.
  func deferral(of job: ActiveJob, to url: ParsedURL, until: Duration) -> NextStep {
    // Another one may be back sooner.
    if let failure = job.sources.failure, failure.isTransient {
      job.failedAt = failure.origin
      return .retry(failure.problem, retryAfter: failure.retryAfter)
    }
    return .hold(.retry("\(url.origin) asked to be left alone"), after: max(.zero, until - clock.boot))
  }

  /// What this source did ends its part in the file, but not the file, if another one has it. Whether that is so.
  /// `isFailure`: otherwise it may still have the whole, where no source has parts.
  func switchesSource(
    _ job: ActiveJob, _ segment: Segment, _ why: String, _ failure: SourceTable.Failure?, isFailure: Bool = true
  ) -> Bool {
    guard !job.machine.isDecided, job.file.chunks != nil, job.sources.hasOther(than: segment.source) else {
      return false
    }
    if isFailure {
      job.sources.failed(segment.source, with: failure)
    } else {
      job.sources.noteRangeless(segment.source)
    }
    events.send(.note(job.id, "another source is asked: \(why)"))
    // That this one has no ranges says nothing of the next.
    job.planner.mayBeRangeless = false
    abandon(segment, of: job)
    if job.segments.isEmpty, !addSegment(job) { finishChunksIfDone(job) }
    return true
  }

  /// Ends the job with `next`, unless another source has the file, or had it a moment ago.
  func endTransfer(_ job: ActiveJob, _ segment: Segment, _ next: NextStep) {
    guard case .fail(let failure) = next else { return endings.stop(job, then: next) }
    if switchesSource(job, segment, failure.detail, nil) { return }
    if job.sources.urls.count > 1, job.segments.count > 1, !job.machine.isDecided {
      // Others still bring something of it.
      job.sources.failed(segment.source, with: nil)
      return abandon(segment, of: job)
    }
    if let failure = job.sources.failure, failure.isTransient {
      job.failedAt = failure.origin
      return endings.stop(job, then: .retry(failure.problem, retryAfter: failure.retryAfter))
    }
    endings.stop(job, then: next)
  }

  /// The source of a wrong chunk isn't asked for this file again. Whether it was identified.
  func bansSender(ofChunk index: Int, _ job: ActiveJob) -> Bool {
    guard let source = job.file.chunks?.sender(of: index) else { return false }
    if job.sources.isBanned(source) { return true }
    guard job.sources.ban(source) else { return false }
    job.record.history.bannedSources = job.sources.banned
    let name = ParsedURL.shown(job.sources.urls[source])
    events.send(.note(job.id, "\(name) sent a wrong chunk (\(index)) and isn't asked any more"))
    for segment in job.segments where segment.source == source { abandon(segment, of: job) }
    job.file.chunks?.forgetBeginnings(from: source)
    return true
  }
}
