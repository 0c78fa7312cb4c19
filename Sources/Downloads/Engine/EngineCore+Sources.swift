internal import AssetModel

/// Mirrors: whoever fails, or sends what is wrong, is left for another that has the same bytes.
extension EngineCore {
  /// Whom to ask for the next piece; nil: nobody may be asked, and the job was failed for it.
  func nextSource(_ job: ActiveJob) -> (number: Int, url: ParsedURL)? {
    if !job.hasValidatedSources, !validateSources(job) { return nil }
    let urls = job.sources.urls
    let source = job.sources.next { source in
      guard urls.count > 1, let url = try? ParsedURL(urls[source]) else { return SourceTable.Load() }
      let origin = originNumber(url)
      return SourceTable.Load(
        isResting: origins[origin].asksToWait(now: clock.boot), isRangeless: origins[origin].isRangeless,
        transfers: job.segments.count { $0.source == source })
    }
    return (try? ParsedURL(urls[source])).map { (source, $0) }
  }

  /// Those that may be asked are known before the first is. Whether there are any.
  private func validateSources(_ job: ActiveJob) -> Bool {
    job.hasValidatedSources = true
    for (source, text) in job.sources.urls.enumerated() {
      do throws(RefusedURL) { _ = try validatedURL(text, job.record.specification) } catch {
        guard job.sources.forbid(source) else {
          settle(job, .fail(TransferFailure(.notAllowed, detail: error.text)))
          return false
        }
        events.send(.note(job.id, "one of its sources isn't asked: \(error.text)"))
      }
    }
    return true
  }

  /// Where the queue counts a job: with whoever may be asked first.
  func queueOrigin(of record: JobRecord) -> UInt32 {
    let specification = record.specification
    guard !specification.mirrors.isEmpty else { return origins.number(of: Self.origin(of: specification.url)) }
    let table = SourceTable(
      url: specification.url, mirrors: specification.mirrors, banned: record.history.bannedSources)
    let now = clock.boot
    let waits = table.urls.indices.filter { !table.isBanned($0) }.map { source in
      let origin = origins.number(of: Self.origin(of: table.urls[source]))
      return (origin, wait: max(.zero, origins[origin].opening(now: now) - now))
    }
    return waits.min { $0.wait < $1.wait }?.0 ?? origins.number(of: Self.origin(of: specification.url))
  }

  /// What follows when whoever might be asked wants to be left alone until then.
  func rest(_ job: ActiveJob, _ url: ParsedURL, until: Duration) -> NextStep {
    // Another one may be back sooner.
    if let failure = job.sources.failure, failure.isTransient {
      job.failedAt = failure.origin
      return .retry(failure.problem, retryAfter: failure.retryAfter)
    }
    return .hold(.retry("\(url.origin) asked to be left alone"), after: max(.zero, until - clock.boot))
  }

  /// What this source did ends its part in the file, but not the file, if another one has it. Whether that is so.
  /// `isFailure`: otherwise it may still have the whole, where nobody has parts.
  func switchesSource(
    _ job: ActiveJob, _ segment: Segment, _ why: String, _ failure: SourceTable.Failure?, isFailure: Bool = true
  ) -> Bool {
    guard job.next == nil, job.file.chunks != nil, job.sources.hasOther(than: segment.source) else { return false }
    if isFailure {
      job.sources.failed(segment.source, with: failure)
    } else {
      job.sources.noteRangeless(segment.source)
    }
    events.send(.note(job.id, "another source is asked: \(why)"))
    // That this one has no ranges says nothing of the next.
    job.planner.mayBeRangeless = false
    giveUp(segment, of: job)
    if job.segments.isEmpty, !addSegment(job) { finishChunksIfDone(job) }
    return true
  }

  /// Ends the job with `next`, unless somebody else has the file, or had it a moment ago.
  func conclude(_ job: ActiveJob, _ segment: Segment, _ next: NextStep) {
    guard case .fail(let failure) = next else { return settle(job, next) }
    if switchesSource(job, segment, failure.detail, nil) { return }
    if job.sources.urls.count > 1, job.segments.count > 1, job.next == nil {
      // Others still bring something of it.
      job.sources.failed(segment.source, with: nil)
      return giveUp(segment, of: job)
    }
    if let failure = job.sources.failure, failure.isTransient {
      job.failedAt = failure.origin
      return settle(job, .retry(failure.problem, retryAfter: failure.retryAfter))
    }
    settle(job, next)
  }

  /// Who sent a wrong chunk sends no other of this file. Whether somebody was found out.
  func bansSender(ofChunk index: Int, _ job: ActiveJob) -> Bool {
    guard let source = job.file.chunks?.sender(of: index) else { return false }
    if job.sources.isBanned(source) { return true }
    guard job.sources.ban(source) else { return false }
    job.record.history.bannedSources = job.sources.banned
    let name = (try? ParsedURL(job.sources.urls[source]))?.redacted ?? ""
    events.send(.note(job.id, "\(Printable.text(name)) sent a wrong chunk (\(index)) and isn't asked any more"))
    for segment in job.segments where segment.source == source { giveUp(segment, of: job) }
    job.file.chunks?.forgetBeginnings(from: source)
    return true
  }

  func giveUp(_ segment: Segment, of job: ActiveJob) {
    drop(segment)
    segment.writer?.flush()
    release(segment, of: job)
  }
}
