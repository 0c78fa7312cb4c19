package import AssetModel
internal import LinuxSystem

/// Why a download isn't moving, or that it is, with what belongs to that. Bytes, and texts as they came: `Explanation` makes of
/// it what people and tools read.
package enum Cause: Sendable, Equatable {
  case finished, cancelled
  case failed(TransferFailure)
  /// `givesWay`: others have the link, and it takes what they leave.
  case transferring(received: Int64, total: Int64?, givesWay: Bool = false)
  case verifying(hashed: Int64, total: Int64?)
  case delivering(generation: Int)
  case challenge(origin: String, kind: String)
  /// The journal can't be used. `commands`: what waits for that.
  case journal(String, isOfVolume: Bool, commands: String?)
  /// `limit`: attempts without anything new after which it fails.
  case retrying(lastError: String, attempts: Int, limit: Int?)
  case clock(ClockDoubt)
  /// `limit`: how often a file that isn't there is asked for again.
  case publication(retest: Int, limit: Int, lastError: String? = nil)
  case disk(SpaceShortage)
  case allowance(budget: String, missing: Int64)
  /// `code`: errno.
  case volume(code: Int32, mount: String)
  /// `holder`: the process that writes the same file.
  case lock(holder: String)
  case paused(by: String)
  case gate(Gate)
  case retryAfter(origin: String, value: String)
  case originBackoff(origin: String, failures: Int)
  /// `place`: nil: unknown.
  case queued(Place?)
  /// No engine has it in hand; this is what the journal tells of it.
  case stored(Stored)

  /// What an engine does with it when it takes it up.
  package enum Stored: Sendable, Equatable {
    case publish
    case fetch(TransferClass, lastError: String?)
    /// After a wait.
    case retry(attempts: Int, lastError: String?)
  }

  /// What the machine is like keeps a class from running.
  package struct Gate: Sendable, Equatable {
    package var code: Explanation.Code
    package var transferClass: TransferClass
    package var conditions: MachineConditions
    /// Bytes that are still to come; nil: unknown.
    package var remaining: Int64?
  }

  package struct Place: Sendable, Equatable {
    package var transferClass: TransferClass
    package var number: Int
    package var waiting: Int
  }
}

extension Explanation {
  /// Everything that people and tools read of a cause. `since` and `endsIn`: seconds.
  package init(_ cause: Cause, since: Double? = nil, endsIn: Double? = nil, others: [Code] = []) {
    let (code, data, remedy) = Self.rendered(cause)
    self.init(code, data: data, since: since, endsIn: endsIn, remedy: remedy, others: others)
    self.cause = cause
  }

  private static func rendered(_ cause: Cause) -> (Code, [String: String], String) {
    switch cause {
    case .finished: return (.finished, [:], "nothing: the file is at its place")
    case .cancelled: return (.cancelled, [:], "add it again")
    case .failed(let failure): return rendered(failure)
    case .transferring(let received, let total, let givesWay):
      var data = ["received": "\(received)", "total": text(total)]
      if givesWay { data["givesWay"] = "true" }
      return (
        .transferring, data,
        givesWay ? "it moves, and gives way to others on a busy link; in the foreground it doesn't" : "it moves"
      )
    case .verifying(let hashed, let total):
      return (.verifying, ["hashed": "\(hashed)", "total": text(total)], "the digest is computed")
    case .delivering(let generation):
      return (.delivering, ["generation": "\(generation)"], "the disk has to say that everything is on it")
    case .challenge(let origin, let kind):
      return (.challenge, ["origin": origin, "kind": kind], "the app or its extension answers")
    case .journal(let what, let isOfVolume, let commands):
      return renderedJournal(what, isOfVolume: isOfVolume, commands: commands)
    case .retrying(let lastError, let attempts, let limit):
      var data = ["lastError": Printable.text(lastError)]
      if attempts > 0 { data["attempt"] = limit.map { "\(attempts) of \($0)" } ?? "\(attempts)" }
      return (.retrying, data, "it is tried again by itself after a while; to try it now, resume it")
    case .clock(let doubt): return (.clockUnset, doubt.data, "the clock is set, or something keeps it right")
    case .publication(let retest, let limit, let lastError):
      let data = ["retest": "\(retest) of \(limit)", "lastError": lastError.map { Printable.text($0) }]
      return (.publication, data.compactMapValues { $0 }, "the server publishes the file")
    case .disk(let shortage): return rendered(shortage)
    case .allowance(let budget, let missing):
      return (
        .allowance, ["budget": Printable.text(budget), "missing": "\(missing)"],
        "a larger allowance, or other downloads of it end"
      )
    case .volume(let code, let mount):
      let data = ["errno": "\(code)", "message": SystemCallError.message(code), "mount": Printable.text(mount)]
      return (.volume, data, "the volume works again")
    case .lock(let holder):
      return (.lock, ["holder": Printable.text(holder)], "that process has fetched the file, or ends")
    case .paused(let by): return (.paused, ["by": by], "resume it")
    case .gate(let gate):
      let data = gate.conditions.data(of: gate.code, remaining: gate.remaining)
      return (gate.code, ["class": gate.transferClass.name].merging(data) { $1 }, remedy(gate.code))
    case .retryAfter(let origin, let value):
      return (.retryAfter, ["origin": origin, "value": value], "the time that the server asked for")
    case .originBackoff(let origin, let failures):
      return (.originBackoff, ["origin": origin, "failures": "\(failures)"], "one download to it succeeds")
    case .queued(nil): return (.queued, [:], "a slot")
    case .queued(let place?):
      return (
        .queued,
        ["class": place.transferClass.name, "place": "\(place.number)", "waiting": "\(place.waiting)"],
        "the downloads before it end"
      )
    case .stored(let stored): return rendered(stored)
    }
  }

  private static func renderedJournal(
    _ what: String, isOfVolume: Bool, commands: String?
  ) -> (Code, [String: String], String) {
    var data = ["journal": Printable.text(what)]
    data["commands"] = commands
    return (
      isOfVolume ? .volume : .lock, data,
      isOfVolume ? "room on the volume of the journal, or that it works again" : "the journal can be used again"
    )
  }

  private static func rendered(_ stored: Cause.Stored) -> (Code, [String: String], String) {
    switch stored {
    case .publish: return (.delivering, [:], "an engine takes it up and publishes the file")
    case .fetch(let transferClass, let lastError):
      let data = ["class": transferClass.name, "lastError": lastError.map { Printable.text($0) }]
      return (.queued, data.compactMapValues { $0 }, "an engine takes it up: the same fetch, run again")
    case .retry(let attempts, let lastError):
      let data = ["attempt": attempts > 0 ? "\(attempts)" : nil, "lastError": lastError.map { Printable.text($0) }]
      return (.retrying, data.compactMapValues { $0 }, "it is tried again by itself after a while")
    }
  }

  private static func rendered(_ failure: TransferFailure) -> (Code, [String: String], String) {
    var data = ["detail": failure.detail]
    if let status = failure.status { data["status"] = "\(status)" }
    if let errno = failure.errno { data["errno"] = "\(errno)" }
    let code: Code =
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
    let remedy =
      failure.isForWantOfPlace
      ? "what is there is moved away, and it is added again: no byte is fetched twice"
      : "nothing by itself: it failed; add it again"
    return (code, data, remedy)
  }

  private static func text(_ total: Int64?) -> String { total.map { "\($0)" } ?? "unknown" }

  private static func rendered(_ shortage: SpaceShortage) -> (Code, [String: String], String) {
    let volume = Printable.text(shortage.directory)
    if shortage.lacksInodes {
      return (.disk, ["volume": volume, "inodes": "none left"], remedy(for: shortage) { "\($0) bytes" })
    }
    var data = [
      "volume": volume, "need": "\(shortage.need)", "free": "\(shortage.free)", "floor": "\(shortage.floor)",
    ]
    if let backgroundFloor = shortage.backgroundFloor { data["backgroundFloor"] = "\(backgroundFloor)" }
    if !shortage.isOfBackground, shortage.missing == 0, shortage.reserved > 0 {
      data["reserved"] = "\(shortage.reserved)"
    }
    return (.disk, data, remedy(for: shortage) { "\($0) bytes" })
  }

  /// What ends it. `size`: how so many bytes are said.
  package static func remedy(for shortage: SpaceShortage, _ size: (Int64) -> String) -> String {
    if shortage.lacksInodes { return "delete some files of the volume, however small" }
    let missing = shortage.missing
    if shortage.isOfBackground, let backgroundFloor = shortage.backgroundFloor {
      let remedy = "free \(size(missing)) on the volume, or start it in the foreground"
      return "\(remedy): in the background none starts while less than \(size(backgroundFloor)) are free"
    }
    if missing == 0, shortage.reserved > 0 {
      return "the downloads that run end, for which \(size(shortage.reserved)) are kept, or more room"
    }
    return missing > 0 ? "free \(size(missing)) on the volume" : "a larger quota, or less of it in use"
  }

  private static func remedy(_ gate: Code) -> String {
    switch gate {
    case .offline: "a network"
    case .captivePortal: "a person logs in at the network's page"
    case .battery: "the battery is charged, or start it in the foreground"
    case .upgrading: "the upgrade is done"
    case .metered: "a network that isn't metered, or start it in the foreground"
    case .powerSaver: "power saving ends, or start it in the foreground"
    default: "time"
    }
  }
}
