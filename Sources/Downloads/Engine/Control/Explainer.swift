internal import AssetModel
internal import LinuxSystem

/// Says why a download doesn't move: looks up where it stands, of which `JobStanding` makes the explanation. Network thread
/// only.
final class Explainer: EnginePart {
  unowned let engine: TransferEngine

  init(_ engine: TransferEngine) { self.engine = engine }

  // What it uses of the others.
  var records: JobRecords { engine.parts.records }
  var commands: CommandExecutor { engine.parts.commands }
  var network: NetworkWatch { engine.parts.network }

  /// What the engine doesn't have in hand only the journal knows, which then answers.
  func explain(_ id: JobID, _ reply: EngineReply<Explanation?>) {
    if records.reads.isReading(id) {
      // What was asked for before comes first: its record is on its way.
      records.ask()
      let mailbox = mailbox
      return journal.afterwards {
        if !mailbox.post(.request(.explain(id, reply))) { reply.refuse() }
      }
    }
    if let standing = standing(of: id) { return reply.answer(Explanation(standing, now: clock.boot)) }
    let read: @Sendable (any DownloadJournal) throws -> JobRecord? = { try $0.job(id) }
    journal.read(read) { result in
      switch result {
      case .success(let record): reply.answer(record.map { Explanation(Cause(ofIdle: $0)) })
      case .failure(let error):
        let reason = Hold.Reason.journal(error)
        guard case .journal(let what, let isOfVolume) = reason else { return reply.answer(nil) }
        reply.answer(Explanation(.journal(what, isOfVolume: isOfVolume, commands: nil)))
      }
    }
  }

  /// nil: nothing is known of it here.
  func standing(of id: JobID) -> JobStanding? {
    if let job = engine.active[id] { return standing(of: job) }
    if let names = commands.deferred.names(of: id), case .journal(let what, let isOfVolume)? = commands.deferred.reason
    {
      return .commandsWait(
        commands: names, journal: what, isOfVolume: isOfVolume, until: commands.deferred.retryAt)
    }
    if let hold = engine.holds[id] { return standing(of: hold) }
    if let (entry, place, waiting) = engine.scheduler.place(of: id) {
      return .queued(
        JobStanding.Queued(
          transferClass: entry.transferClass, place: place, waiting: waiting, since: entry.enqueuedAt,
          remaining: entry.remaining == .max ? nil : entry.remaining, surroundings: surroundings(of: entry)))
    }
    return engine.scheduler.running[id] != nil ? .beingRead : nil
  }

  private func standing(of job: ActiveJob) -> JobStanding {
    switch job.machine.phase {
    case .verifying: return .verifying(hashed: job.file.hashing.offset, total: job.total)
    case .publishing: return .delivering(generation: job.record.generation)
    case .opening, .transferring, .stopping, .concluding, .suspectingPortal, .retiring:
      if let question = job.segments.compactMap(\.question).first, !job.segments.contains(where: { $0.writer != nil }) {
        return .challenged(
          origin: question.challenge.origin, kind: question.challenge.kind.name,
          since: question.until - engine.options.challengeTimeout, until: question.until)
      }
      let now = clock.boot
      return .transferring(
        received: job.arrivedBytes, total: job.total,
        givesWay: job.segments.contains { $0.link.window.isGivingWay(at: now) })
    }
  }

  private func standing(of hold: Hold) -> JobStanding {
    var held = JobStanding.Held(
      reason: hold.reason, facts: hold.facts,
      attemptLimit: engine.options.retryPolicy(of: hold.entry.transferClass).attemptLimit, since: hold.since,
      until: hold.until, surroundings: surroundings(of: hold.entry))
    if case .volume = hold.reason {
      held.mount = Files.mountPoint(of: hold.facts.directory) ?? hold.facts.directory
    }
    return .held(held)
  }

  private func surroundings(of entry: Scheduler.Entry) -> JobStanding.Surroundings {
    let now = clock.boot
    let conditions = network.conditions
    let state = engine.origins[entry.origin]
    var block: JobStanding.Surroundings.Block?
    if state.isBlocked(now: now) {
      block =
        state.asksToWait(now: now)
        ? .retryAfter(value: state.retryAfterValue ?? "", until: state.retryAfter)
        : .backoff(failures: state.breaker.failures, until: state.breaker.probeAt)
    }
    return JobStanding.Surroundings(
      conditions: conditions, gate: conditions.gate(for: entry.transferClass, now: now),
      origin: engine.origins.name(of: entry.origin), block: block)
  }
}

extension Cause {
  /// Of a job that isn't in the engine's hands at this moment.
  init(ofIdle record: JobRecord) {
    self =
      switch record.state {
      case .finished: .finished
      case .cancelled: .cancelled
      case .failed(let failure): .failed(failure)
      case .open, .paused, .verified: .queued(nil)
      }
  }
}
