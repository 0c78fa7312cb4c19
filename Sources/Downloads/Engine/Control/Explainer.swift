internal import AssetModel
internal import LinuxSystem

/// The one leading reason for a download that doesn't move: looked up here, rendered by `Explanation`. Network thread only.
final class Explainer: EnginePart {
  unowned let engine: TransferEngine

  init(_ engine: TransferEngine) { self.engine = engine }

  func explain(_ id: JobID) -> Explanation? {
    let now = clock.boot
    if let job = engine.active[id] { return explain(job, now) }
    if let names = commands.deferred.names(of: id), case .journal(let what, let isOfVolume)? = commands.deferred.reason
    {
      return Explanation(
        .journal(what, isOfVolume: isOfVolume, commands: names), endsIn: seconds(until: commands.deferred.retryAt, now))
    }
    if let hold = engine.holds[id] {
      // A clock that is set ends its wait, and no time does.
      let endsIn: Double? = if case .clock = hold.reason { nil } else { seconds(until: hold.until, now) }
      return Explanation(
        cause(of: hold), since: seconds(since: hold.since, now), endsIn: endsIn, others: others(of: hold, now))
    }
    if let place = engine.scheduler.place(of: id) {
      var explanation = explainQueued(id, now, place.place, place.waiting)
      explanation.since = seconds(since: place.since, now)
      return explanation
    }
    let record: JobRecord
    do {
      guard let found = try commands.currentRecord(id) else { return nil }
      record = found
    } catch {
      guard case .journal(let what, let isOfVolume) = Hold.Reason.journal(error) else { return nil }
      return Explanation(.journal(what, isOfVolume: isOfVolume, commands: nil))
    }
    switch record.state {
    case .finished: return Explanation(.finished)
    case .cancelled: return Explanation(.cancelled)
    case .failed(let failure): return Explanation(.failed(failure))
    case .open, .paused, .verified: return Explanation(.queued(nil))
    }
  }

  private func seconds(since moment: Duration, _ now: Duration) -> Double { max(0, (now - moment).inSeconds) }

  private func seconds(until moment: Duration?, _ now: Duration) -> Double? {
    moment.map { max(0, ($0 - now).inSeconds) }
  }

  private func explain(_ job: ActiveJob, _ now: Duration) -> Explanation {
    switch job.machine.phase {
    case .verifying: return Explanation(.verifying(hashed: job.file.hashing.offset, total: job.total))
    case .publishing: return Explanation(.delivering(generation: job.record.generation))
    case .opening, .stopping, .transferring, .retiring:
      if let question = job.segments.compactMap(\.question).first, !job.segments.contains(where: { $0.writer != nil }) {
        return Explanation(
          .challenge(origin: question.challenge.origin, kind: question.challenge.kind.name),
          since: max(0, (engine.options.challengeTimeout - (question.until - now)).inSeconds),
          endsIn: seconds(until: question.until, now))
      }
      return Explanation(.transferring(received: job.arrivedBytes, total: job.total))
    }
  }

  private func cause(of hold: Hold) -> Cause {
    switch hold.reason {
    case .retry(let error):
      // What went wrong last, which after a restart the journal knows, and the attempts that brought nothing.
      let record = try? journal.journal.job(hold.entry.id)
      return .retrying(
        lastError: error.isEmpty ? record?.lastError ?? "" : error, attempts: record?.history.fruitlessAttempts ?? 0,
        limit: endings.retryPolicy(of: hold.entry.transferClass).attemptLimit)
    case .clock(let doubt, _): return .clock(doubt)
    case .publication(let count): return .publication(retest: count, limit: AttemptPolicy.maxRetests)
    case .disk(let shortage): return .disk(shortage)
    case .allowance(let budget, let missing): return .allowance(budget: budget, missing: missing)
    case .volume(let code):
      let directory = (try? journal.journal.job(hold.entry.id))?.specification.directory ?? ""
      return .volume(code: code, mount: Files.mountPoint(of: directory) ?? directory)
    case .held(let what): return .lock(file: what)
    case .paused(let by): return .paused(by: by)
    case .journal(let what, let isOfVolume): return .journal(what, isOfVolume: isOfVolume, commands: nil)
    }
  }

  /// Reasons that would keep it if the leading one went; only of those that end by themselves.
  private func others(of hold: Hold, _ now: Duration) -> [Explanation.Code] {
    switch hold.reason {
    case .retry, .clock:
      [network.conditions.gate(for: hold.entry.transferClass, now: now), originCode(hold.entry.origin, now)]
        .compactMap { $0 }
    default: []
    }
  }

  private func originCode(_ origin: UInt32, _ now: Duration) -> Explanation.Code? {
    guard engine.origins[origin].isBlocked(now: now) else { return nil }
    return engine.origins[origin].asksToWait(now: now) ? .retryAfter : .originBackoff
  }

  private func explainQueued(_ id: JobID, _ now: Duration, _ place: Int, _ waiting: Int) -> Explanation {
    guard let record = try? journal.journal.job(id) else { return Explanation(.queued(nil)) }
    let entry = engine.entry(of: record)
    let conditions = network.conditions
    let blocked = originCode(entry.origin, now)
    if let gate = conditions.gate(for: entry.transferClass, now: now) {
      let cause = Cause.gate(
        Cause.Gate(
          code: gate, transferClass: entry.transferClass, conditions: conditions,
          remaining: entry.remaining == .max ? nil : entry.remaining))
      return Explanation(
        cause, endsIn: gate == .window ? conditions.windowOpensAt.map { ($0 - now).inSeconds } : nil,
        others: [blocked, .queued].compactMap { $0 })
    }
    let state = engine.origins[entry.origin]
    let origin = engine.origins.name(of: entry.origin)
    switch blocked {
    case .retryAfter?:
      return Explanation(
        .retryAfter(origin: origin, value: state.retryAfterValue ?? ""),
        endsIn: state.retryAfter.map { ($0 - now).inSeconds }, others: [.queued])
    case .originBackoff?:
      return Explanation(
        .originBackoff(origin: origin, failures: state.breaker.failures),
        endsIn: seconds(until: state.breaker.opensAt, now), others: [.queued])
    default:
      return Explanation(
        .queued(Cause.Place(transferClass: entry.transferClass, number: place, waiting: waiting)))
    }
  }
}
