internal import AssetModel
internal import Basics
internal import LinuxSystem

/// The one leading reason for a download that doesn't move. Network thread only.
final class Explainer: EnginePart {
  unowned let engine: TransferEngine

  init(_ engine: TransferEngine) { self.engine = engine }

  func explain(_ id: JobID) -> Explanation? {
    let now = clock.boot
    if let job = engine.active[id] { return explain(active: job) }
    if let names = commands.deferred.names(of: id), case .journal(let what, let isOfVolume)? = commands.deferred.reason
    {
      let endsIn = commands.deferred.retryAt.map { max(0, ($0 - now).inSeconds) }
      var explanation = Self.explanation(ofJournal: what, isOfVolume: isOfVolume, endsIn: endsIn)
      explanation.data["commands"] = names
      return explanation
    }
    if let hold = engine.holds[id] {
      var explanation = explain(hold, now)
      explanation.since = max(0, (now - hold.since).inSeconds)
      return explanation
    }
    if let place = engine.scheduler.place(of: id) {
      var explanation = explainQueued(id, now, place.place, place.waiting)
      explanation.since = max(0, (now - place.since).inSeconds)
      return explanation
    }
    let record: JobRecord
    do {
      guard let found = try commands.currentRecord(id) else { return nil }
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

  func explain(active job: ActiveJob) -> Explanation {
    switch job.machine.phase {
    case .verifying:
      return Explanation(
        .verifying, data: ["hashed": "\(job.file.hashing.offset)", "total": job.total.map { "\($0)" } ?? "unknown"],
        remedy: "the digest is computed")
    case .publishing:
      return Explanation(
        .delivering, data: ["generation": "\(job.record.generation)"],
        remedy: "the disk has to say that everything is on it")
    case .opening, .stopping, .transferring, .retiring:
      if let question = job.segments.compactMap(\.question).first, !job.segments.contains(where: { $0.writer != nil }) {
        return Explanation(
          .challenge, data: ["origin": question.challenge.origin, "kind": question.challenge.kind.name],
          since: max(0, (engine.options.challengeTimeout - (question.until - clock.boot)).inSeconds),
          endsIn: max(0, (question.until - clock.boot).inSeconds), remedy: "whoever answers for the app does")
      }
      return Explanation(
        .transferring, data: ["received": "\(job.arrivedBytes)", "total": job.total.map { "\($0)" } ?? "unknown"],
        remedy: "it moves")
    }
  }

  func explain(_ hold: Hold, _ now: Duration) -> Explanation {
    let endsIn = hold.until.map { max(0, ($0 - now).inSeconds) }
    switch hold.reason {
    case .retry(let error):
      return Explanation(
        .retrying, data: attempts(hold, error), endsIn: endsIn,
        remedy: "time, or resume it",
        others: otherCodes(hold.entry, now))
    case .clock(let doubt, _):
      return Explanation(
        .clockUnset, data: doubt.data, remedy: "the clock is set, or something keeps it right",
        others: otherCodes(hold.entry, now))
    case .publication(let count):
      return Explanation(
        .publication, data: ["retest": "\(count) of 2"], endsIn: endsIn, remedy: "the server publishes the file")
    case .disk(let shortage) where shortage.lacksInodes:
      return Explanation(
        .disk, data: ["volume": Printable.text(shortage.directory), "inodes": "none left"], endsIn: endsIn,
        remedy: "delete some files of the volume, however small")
    case .disk(let shortage):
      return Explanation(
        .disk,
        data: [
          "volume": Printable.text(shortage.directory), "need": "\(shortage.need)", "free": "\(shortage.free)",
          "floor": "\(shortage.floor)",
        ], endsIn: endsIn,
        remedy: shortage.missing > 0
          ? "free \(shortage.missing) bytes on the volume" : "a larger quota, or less of it in use")
    case .allowance(let budget, let missing):
      return Explanation(
        .allowance, data: ["budget": Printable.text(budget), "missing": "\(missing)"], endsIn: endsIn,
        remedy: "a larger allowance, or other downloads of it end")
    case .volume(let code):
      let directory = (try? journal.journal.job(hold.entry.id))?.specification.directory ?? ""
      return Explanation(
        .volume,
        data: [
          "errno": "\(code)", "message": SystemCallError.message(code),
          "mount": Printable.text(Files.mountPoint(of: directory) ?? directory),
        ], endsIn: endsIn,
        remedy: "the volume works again")
    case .held(let what):
      return Explanation(.lock, data: ["file": Printable.text(what)], endsIn: endsIn, remedy: "that process ends")
    case .paused(let by): return Explanation(.paused, data: ["by": by], remedy: "resume it")
    case .journal(let what, let isOfVolume):
      return Self.explanation(ofJournal: what, isOfVolume: isOfVolume, endsIn: endsIn)
    }
  }

  static func explanation(ofJournal what: String, isOfVolume: Bool, endsIn: Double?) -> Explanation {
    Explanation(
      isOfVolume ? .volume : .lock, data: ["journal": Printable.text(what)], endsIn: endsIn,
      remedy: isOfVolume
        ? "room on the volume of the journal, or that it works again" : "the journal can be used again")
  }

  /// What went wrong last, which after a restart the journal knows, and the attempts that brought nothing, of those after
  /// which it fails.
  private func attempts(_ hold: Hold, _ error: String) -> [String: String] {
    let record = try? journal.journal.job(hold.entry.id)
    var data = ["lastError": Printable.text(error.isEmpty ? record?.lastError ?? "" : error)]
    guard let count = record?.history.fruitlessAttempts, count > 0 else { return data }
    let limit = endings.retryPolicy(of: hold.entry.transferClass).attemptLimit
    data["attempt"] = limit.map { "\(count) of \($0)" } ?? "\(count)"
    return data
  }

  private func otherCodes(_ entry: Scheduler.Entry, _ now: Duration) -> [Explanation.Code] {
    [network.conditions.gate(for: entry.transferClass, now: now), originCode(entry.origin, now)].compactMap { $0 }
  }

  private func originCode(_ origin: UInt32, _ now: Duration) -> Explanation.Code? {
    guard engine.origins[origin].isBlocked(now: now) else { return nil }
    return engine.origins[origin].asksToWait(now: now) ? .retryAfter : .originBackoff
  }

  private func explainQueued(_ id: JobID, _ now: Duration, _ place: Int, _ waiting: Int) -> Explanation {
    guard let record = try? journal.journal.job(id) else { return Explanation(.queued, remedy: "a slot") }
    let entry = engine.entry(of: record)
    let gate = network.conditions.gate(for: entry.transferClass, now: now)
    let blocked = originCode(entry.origin, now)
    let others = [blocked, .queued].compactMap { $0 }
    if let gate {
      return Explanation(
        gate,
        data: ["class": entry.transferClass.name].merging(
          network.conditions.data(of: gate, remaining: entry.remaining == .max ? nil : entry.remaining)
        ) { $1 },
        endsIn: gate == .window ? network.conditions.windowOpensAt.map { ($0 - now).inSeconds } : nil,
        remedy: Self.remedy(gate),
        others: others)
    }
    let state = engine.origins[entry.origin]
    let origin = engine.origins.name(of: entry.origin)
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

  static func remedy(_ gate: Explanation.Code) -> String {
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
