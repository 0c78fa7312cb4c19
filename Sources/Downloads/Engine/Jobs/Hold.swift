internal import AssetModel
internal import LinuxSystem

/// Why a job has no slot and isn't in the scheduler's queue.
struct Hold {
  enum Reason: Equatable, Sendable {
    case retry(String)
    /// A certificate isn't valid yet by a clock that is in doubt; with how far wall time was ahead of boot time.
    case clock(ClockDoubt, offset: Int64)
    case publication(Int)
    case disk(SpaceShortage)
    case volume(Int32)
    /// Another process, or an earlier run that hangs, writes to its file: this one.
    case held(String)
    case allowance(budget: String, missing: Int64)
    case paused(String)
    case journal(String, isOfVolume: Bool)

    /// The time counts as one without progress: an attempt failed, and the next one is near.
    var isPartOfTrying: Bool {
      switch self {
      case .retry, .publication: true
      default: false
      }
    }

    var isOfJournal: Bool { if case .journal = self { true } else { false } }

    static func journal(_ error: any Error) -> Self {
      .journal("\(error)", isOfVolume: (error as? any JournalObstacle)?.isOfVolume ?? false)
    }

    /// For the journal, which people ask when no engine runs.
    var text: String {
      switch self {
      case .retry(let error): error
      case .clock(let doubt, _): "the clock is in doubt: \(doubt)"
      case .publication: "the file isn't published yet"
      case .disk(let shortage): "\(shortage)"
      case .volume(let code): "the volume fails: \(SystemCallError.message(code))"
      case .held(let holder): "\(Printable.text(holder)) is fetching this file, too"
      case .allowance(let budget, let missing): "the allowance \(Printable.text(budget)) lacks \(missing) bytes"
      case .paused(let by): "paused by \(by)"
      case .journal(let what, _): "the journal can't be written: \(what)"
      }
    }
  }

  /// What an explanation says of the job besides, as its record had it when it began to wait.
  struct Facts: Equatable {
    var directory = ""
    var lastError = ""
    /// Attempts that brought nothing.
    var attempts = 0

    init() {}

    init(_ record: JobRecord) {
      directory = record.specification.directory
      lastError = record.lastError ?? ""
      attempts = record.history.fruitlessAttempts
    }
  }

  var entry: Scheduler.Entry
  var reason: Reason
  var facts: Facts
  var since: Duration
  /// Boot time at which it is looked at again; nil: when someone says so.
  var until: Duration?
  var serial: UInt64
}

/// When a wait may be over.
struct Due: Comparable {
  var until: Duration
  var job: JobID
  /// Of the wait: a job that has another one by then isn't released.
  var serial: UInt64

  static func < (left: Self, right: Self) -> Bool { left.until < right.until }
}
