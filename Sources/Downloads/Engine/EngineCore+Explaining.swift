public import AssetModel
internal import LinuxSystem

/// The one leading reason for a download that doesn't move.
extension EngineCore {
  func explain(_ id: JobID) -> Explanation? {
    let now = clock.boot
    if let job = active[id] { return explain(active: job) }
    if let commands = deferred.names(of: id), case .journal(let what, let isOfVolume)? = deferred.reason {
      let rest = deferred.retryAt.map { max(0, ($0 - now).inSeconds) }
      var explanation = Self.explanation(ofJournal: what, isOfVolume: isOfVolume, endsIn: rest)
      explanation.data["commands"] = commands
      return explanation
    }
    if let hold = holds[id] {
      var explanation = explain(hold, now)
      explanation.since = max(0, (now - hold.since).inSeconds)
      return explanation
    }
    if let place = scheduler.place(of: id) {
      var explanation = explainQueued(id, now, place.place, place.waiting)
      explanation.since = max(0, (now - place.since).inSeconds)
      return explanation
    }
    let record: JobRecord
    do {
      guard let found = try currentRecord(id) else { return nil }
      record = found
    } catch {
      guard case .journal(let what, let isOfVolume) = Hold.Reason.journal(error) else { return nil }
      return Self.explanation(ofJournal: what, isOfVolume: isOfVolume, endsIn: nil)
    }
    switch record.state {
    case .finished: return Explanation(.finished, remedy: "nothing: the file is at its place")
    case .cancelled: return Explanation(.cancelled, remedy: "add it again")
    case .failed(let failure): return Explanation(of: failure)
    case .open, .paused, .verified: return Explanation(.queued, remedy: "a slot")
    }
  }

  private func explain(active job: ActiveJob) -> Explanation {
    switch job.phase {
    case .verifying:
      return Explanation(
        .verifying, data: ["hashed": "\(job.file.hashing.offset)", "total": job.total.map { "\($0)" } ?? "unknown"],
        remedy: "the digest is computed")
    case .publishing:
      return Explanation(
        .delivering, data: ["generation": "\(job.record.generation)"],
        remedy: "the disk has to say that everything is on it")
    case .opening, .settling, .transferring, .retiring:
      if let question = job.segments.compactMap(\.question).first, !job.segments.contains(where: { $0.writer != nil }) {
        return Explanation(
          .challenge, data: ["origin": question.challenge.origin, "kind": question.challenge.kind.name],
          since: max(0, (options.challengeTimeout - (question.until - clock.boot)).inSeconds),
          endsIn: max(0, (question.until - clock.boot).inSeconds), remedy: "whoever answers for the app does")
      }
      return Explanation(
        .transferring, data: ["received": "\(job.arrivedBytes)", "total": job.total.map { "\($0)" } ?? "unknown"],
        remedy: "it moves")
    }
  }

  private func explain(_ hold: Hold, _ now: Duration) -> Explanation {
    let rest = hold.until.map { max(0, ($0 - now).inSeconds) }
    switch hold.reason {
    case .retry(let error):
      return Explanation(
        .retrying, data: attempts(hold, error), endsIn: rest,
        remedy: "time, or resume it",
        others: otherCodes(hold.entry, now))
    case .clock(let doubt, _):
      return Explanation(
        .clockUnset, data: doubt.data, remedy: "the clock is set, or something keeps it right",
        others: otherCodes(hold.entry, now))
    case .publication(let count):
      return Explanation(
        .publication, data: ["retest": "\(count) of 2"], endsIn: rest, remedy: "the server publishes the file")
    case .disk(let shortage) where shortage.lacksInodes:
      return Explanation(
        .disk, data: ["volume": Printable.text(shortage.directory), "inodes": "none left"], endsIn: rest,
        remedy: "delete some files of the volume, however small")
    case .disk(let shortage):
      return Explanation(
        .disk,
        data: [
          "volume": Printable.text(shortage.directory), "need": "\(shortage.need)", "free": "\(shortage.free)",
          "floor": "\(shortage.floor)",
        ], endsIn: rest,
        remedy: shortage.missing > 0
          ? "free \(shortage.missing) bytes on the volume" : "a larger quota, or less of it in use")
    case .allowance(let budget, let missing):
      return Explanation(
        .allowance, data: ["budget": Printable.text(budget), "missing": "\(missing)"], endsIn: rest,
        remedy: "a larger allowance, or other downloads of it end")
    case .volume(let code):
      let directory = (try? journal.journal.job(hold.entry.id))?.specification.directory ?? ""
      return Explanation(
        .volume,
        data: [
          "errno": "\(code)", "message": SystemCallError.message(code),
          "mount": Printable.text(Files.mountPoint(of: directory) ?? directory),
        ], endsIn: rest,
        remedy: "the volume works again")
    case .held(let what):
      return Explanation(.lock, data: ["file": Printable.text(what)], endsIn: rest, remedy: "that process ends")
    case .paused(let by): return Explanation(.paused, data: ["by": by], remedy: "resume it")
    case .journal(let what, let isOfVolume):
      return Self.explanation(ofJournal: what, isOfVolume: isOfVolume, endsIn: rest)
    }
  }

  private static func explanation(ofJournal what: String, isOfVolume: Bool, endsIn rest: Double?) -> Explanation {
    Explanation(
      isOfVolume ? .volume : .lock, data: ["journal": Printable.text(what)], endsIn: rest,
      remedy: isOfVolume
        ? "room on the volume of the journal, or that it works again" : "the journal can be used again")
  }

  /// What went wrong last, which after a restart the journal knows, and the attempts that brought nothing, of those after
  /// which it fails.
  private func attempts(_ hold: Hold, _ error: String) -> [String: String] {
    let record = try? journal.journal.job(hold.entry.id)
    var data = ["lastError": Printable.text(error.isEmpty ? record?.lastError ?? "" : error)]
    guard let count = record?.history.fruitlessAttempts, count > 0 else { return data }
    let limit = retryPolicy(of: hold.entry.transferClass).attemptLimit
    data["attempt"] = limit.map { "\(count) of \($0)" } ?? "\(count)"
    return data
  }

  private func otherCodes(_ entry: Scheduler.Entry, _ now: Duration) -> [Explanation.Code] {
    [conditions.gate(for: entry.transferClass, now: now), originCode(entry.origin, now)].compactMap { $0 }
  }

  private func originCode(_ origin: UInt32, _ now: Duration) -> Explanation.Code? {
    guard origins[origin].isBlocked(now: now) else { return nil }
    return origins[origin].asksToWait(now: now) ? .retryAfter : .originBackoff
  }

  private func explainQueued(_ id: JobID, _ now: Duration, _ place: Int, _ waiting: Int) -> Explanation {
    guard let record = try? journal.journal.job(id) else { return Explanation(.queued, remedy: "a slot") }
    let entry = entry(of: record)
    let gate = conditions.gate(for: entry.transferClass, now: now)
    let blocked = originCode(entry.origin, now)
    let others = [blocked, .queued].compactMap { $0 }
    if let gate {
      return Explanation(
        gate,
        data: ["class": entry.transferClass.name].merging(
          conditions.data(of: gate, rest: entry.rest == .max ? nil : entry.rest)
        ) { $1 },
        endsIn: gate == .window ? conditions.windowOpensAt.map { ($0 - now).inSeconds } : nil,
        remedy: Self.remedy(gate),
        others: others)
    }
    let state = origins[entry.origin]
    let origin = origins.name(of: entry.origin)
    if blocked == .retryAfter {
      return Explanation(
        .retryAfter, data: ["origin": origin, "value": state.retryAfterValue ?? ""],
        endsIn: state.retryAfter.map { ($0 - now).inSeconds }, remedy: "the time that the server asked for",
        others: [.queued])
    }
    if blocked == .originBackoff {
      return Explanation(
        .originBackoff, data: ["origin": origin, "failures": "\(state.breaker.failures)"],
        endsIn: state.breaker.opensAt.map { max(0, ($0 - now).inSeconds) }, remedy: "one download to it succeeds",
        others: [.queued])
    }
    return Explanation(
      .queued, data: ["class": entry.transferClass.name, "place": "\(place)", "waiting": "\(waiting)"],
      remedy: "the downloads before it end")
  }

  private static func remedy(_ gate: Explanation.Code) -> String {
    switch gate {
    case .offline: "a network"
    case .captivePortal: "somebody logs in at the network's page"
    case .battery: "the battery is charged, or start it in the foreground"
    case .upgrading: "the upgrade is done"
    case .metered: "a network that isn't metered, or start it in the foreground"
    case .powerSaver: "power saving ends, or start it in the foreground"
    default: "time"
    }
  }
}

extension Explanation {
  /// What the journal alone tells, for a download that no engine has in hand.
  public init(of job: JobRecord, now: StoredMoment) {
    switch job.state {
    case .finished: self.init(.finished, remedy: "nothing: the file is at its place")
    case .cancelled: self.init(.cancelled, remedy: "add it again")
    case .failed(let failure): self.init(of: failure)
    case .paused: self.init(.paused, data: ["by": "user"], remedy: "resume it")
    case .verified: self.init(.delivering, remedy: "an engine takes it up and publishes the file")
    case .open:
      var data: [String: String] = [:]
      if let error = job.lastError { data["lastError"] = Printable.text(error) }
      if let wait = job.wait, wait.remaining(at: now) > 0 {
        let (since, endsIn) = (Double(wait.since.elapsed(until: now)) / 1e9, Double(wait.remaining(at: now)) / 1e9)
        if job.history.publicationRetests > 0, job.lastError == TransferProblem.status(404).description {
          data["retest"] = "\(job.history.publicationRetests) of 2"
          self.init(.publication, data: data, since: since, endsIn: endsIn, remedy: "the server publishes the file")
        } else {
          if job.history.fruitlessAttempts > 0 { data["attempt"] = "\(job.history.fruitlessAttempts)" }
          self.init(.retrying, data: data, since: since, endsIn: endsIn, remedy: "time, or fetch it again")
        }
      } else {
        data["class"] = job.transferClass.name
        self.init(.queued, data: data, remedy: "an engine takes it up: the same fetch, run again")
      }
    }
  }

  /// A terminal state.
  init(of failure: TransferFailure) {
    var data = ["detail": failure.detail]
    if let status = failure.status { data["status"] = "\(status)" }
    if let errno = failure.errno { data["errno"] = "\(errno)" }
    let code: Explanation.Code =
      switch failure.reason {
      case .noProgress: .noProgress
      case .sizeMismatch: .sizeMismatch
      case .digestMismatch: .digestMismatch
      case .hostileResponse: .hostileResponse
      case .notAllowed: .notAllowed
      case .trust: .trust
      case .gone: .gone
      case .challenge: .challenge
      case .volume: .volume
      case .allowance: .allowance
      case .refused: .refused
      case .offline: .offline
      }
    self.init(
      code, data: data,
      remedy: failure.isForWantOfPlace
        ? "what is there is moved away, and it is added again: no byte is fetched twice"
        : "nothing by itself: it failed; add it again")
  }
}
