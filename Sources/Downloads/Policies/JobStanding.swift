internal import AssetModel
internal import LinuxSystem

/// Where a job stands at one moment, as far as the engine knows that without its journal. A pure value, of which an
/// `Explanation` is made. Moments are boot time.
enum JobStanding: Equatable {
  case verifying(hashed: Int64, total: Int64?)
  case delivering(generation: Int)
  case challenged(origin: String, kind: String, since: Duration, until: Duration)
  case transferring(received: Int64, total: Int64?, givesWay: Bool = false)
  /// `commands`: what waits until the journal can be read.
  case commandsWait(commands: String, journal: String, isOfVolume: Bool, until: Duration?)
  case held(Held)
  case queued(Queued)
  /// Its record is on its way from the journal or to it.
  case beingRead

  /// Out of the queue, for a reason of its own.
  struct Held: Equatable {
    var reason: Hold.Reason
    var facts: Hold.Facts
    /// Where the volume of its directory is mounted; empty: it wasn't looked for.
    var mount = ""
    /// Attempts without anything new after which it fails.
    var attemptLimit: Int?
    var since: Duration
    var until: Duration?
    var surroundings: Surroundings
  }

  /// It waits for its turn.
  struct Queued: Equatable {
    var transferClass: TransferClass
    /// Its place within its app, from 1, and how many wait in its class.
    var place: Int
    var waiting: Int
    var since: Duration
    /// Bytes still to come; nil: unknown.
    var remaining: Int64?
    var surroundings: Surroundings
  }

  /// What keeps others from starting as well.
  struct Surroundings: Equatable {
    var conditions = MachineConditions()
    /// What of them keeps the job's class from running.
    var gate: Explanation.Code?
    var origin = ""
    var block: Block?

    /// Nothing may be asked of an origin.
    enum Block: Equatable {
      case retryAfter(value: String, until: Duration?)
      case backoff(failures: Int, until: Duration?)

      var code: Explanation.Code {
        switch self {
        case .retryAfter: .retryAfter
        case .backoff: .originBackoff
        }
      }
    }
  }
}

extension Explanation {
  /// The one leading reason, and those that would hold the job if that went.
  init(_ standing: JobStanding, now: Duration) {
    func since(_ moment: Duration) -> Double { max(0, (now - moment).inSeconds) }
    func until(_ moment: Duration?) -> Double? { moment.map { max(0, ($0 - now).inSeconds) } }
    switch standing {
    case .verifying(let hashed, let total): self.init(.verifying(hashed: hashed, total: total))
    case .delivering(let generation): self.init(.delivering(generation: generation))
    case .challenged(let origin, let kind, let began, let end):
      self.init(.challenge(origin: origin, kind: kind), since: since(began), endsIn: until(end))
    case .transferring(let received, let total, let givesWay):
      self.init(.transferring(received: received, total: total, givesWay: givesWay))
    case .commandsWait(let commands, let what, let isOfVolume, let end):
      self.init(.journal(what, isOfVolume: isOfVolume, commands: commands), endsIn: until(end))
    case .held(let held):
      // A clock that is set ends its wait, and no time does.
      let endsIn: Double? = if case .clock = held.reason { nil } else { until(held.until) }
      self.init(Cause(of: held), since: since(held.since), endsIn: endsIn, others: held.others)
    case .queued(let queued):
      self.init(queued, until)
      self.since = since(queued.since)
    case .beingRead: self.init(.queued(nil))
    }
  }

  private init(_ queued: JobStanding.Queued, _ until: (Duration?) -> Double?) {
    let surroundings = queued.surroundings
    if let gate = surroundings.gate {
      let cause = Cause.Gate(
        code: gate, transferClass: queued.transferClass, conditions: surroundings.conditions,
        remaining: queued.remaining)
      self.init(
        .gate(cause), endsIn: gate == .window ? until(surroundings.conditions.windowOpensAt) : nil,
        others: [surroundings.block?.code, .queued].compactMap { $0 })
      return
    }
    switch surroundings.block {
    case .retryAfter(let value, let end)?:
      self.init(.retryAfter(origin: surroundings.origin, value: value), endsIn: until(end), others: [.queued])
    case .backoff(let failures, let end)?:
      self.init(.originBackoff(origin: surroundings.origin, failures: failures), endsIn: until(end), others: [.queued])
    case nil:
      self.init(
        .queued(Cause.Place(transferClass: queued.transferClass, number: queued.place, waiting: queued.waiting)))
    }
  }
}

extension Cause {
  init(of held: JobStanding.Held) {
    self =
      switch held.reason {
      // What went wrong last, which after a restart the journal knows.
      case .retry(let error):
        .retrying(
          lastError: error.isEmpty ? held.facts.lastError : error, attempts: held.facts.attempts,
          limit: held.attemptLimit)
      case .clock(let doubt, _): .clock(doubt)
      case .publication(let count): .publication(retest: count, limit: AttemptPolicy.maxRetests)
      case .disk(let shortage): .disk(shortage)
      case .allowance(let budget, let missing): .allowance(budget: budget, missing: missing)
      case .volume(let code): .volume(code: code, mount: held.mount)
      case .held(let holder): .lock(holder: holder)
      case .paused(let by): .paused(by: by)
      case .journal(let what, let isOfVolume): .journal(what, isOfVolume: isOfVolume, commands: nil)
      }
  }
}

extension JobStanding.Held {
  /// Reasons that would keep it if the leading one went; only of those that end by themselves.
  var others: [Explanation.Code] {
    switch reason {
    case .retry, .clock: [surroundings.gate, surroundings.block?.code].compactMap { $0 }
    default: []
    }
  }
}
