internal import AssetModel

/// Changes of jobs without an activation, on their way to the journal, and those that wait until it can be written. A pure value:
/// its owner carries the effects out in order and answers those that take time with another event.
struct JobChanges: Equatable {
  enum Change: Equatable {
    /// The journal gets the record, and then what it says follows. `removesFiles`: what there is of the download goes first.
    case update(PendingUpdate, removesFiles: Bool)
    /// A verified file is cancelled where only its name is missing. Where an earlier run gave it that, it is too late.
    case cancelUnlessNamed(JobRecord)
    case supersede(Replacement)

    fileprivate var record: JobRecord {
      switch self {
      case .update(let update, _): update.record
      case .cancelUnlessNamed(let record): record
      case .supersede(let replacement): replacement.record
      }
    }
  }

  /// An open job is cancelled, and another one takes its place.
  struct Replacement: Equatable {
    var record: JobRecord
    var supersession: Supersession
    /// What there is of the old one, where the new one goes on with it.
    var inherited: Partial?
    /// What the journal couldn't take of the old one before.
    var formerUpdate: PendingUpdate?
  }

  enum Event: Equatable {
    case begin(Change)
    case filesRemoved(JobID)
    /// Whether a verified file has its name already.
    case lookedForName(JobID, isNamed: Bool)
    case committed(JobID, JournalFailure?)
    /// The change of a job couldn't be written as its activation ended.
    case notWritten(PendingUpdate, JournalFailure)
    /// The journal can be written again, perhaps.
    case retry(JobID)
  }

  enum Effect: Equatable {
    /// Out of every queue: it doesn't start, and what is known of it doesn't count any more.
    case leaveQueues(JobID)
    case removeFiles(JobRecord)
    case lookForName(JobRecord)
    case commit(JobRecord)
    /// What was to follow, as the journal has it.
    case enter(Disposition, JobRecord)
    /// It waits for the journal.
    case hold(JobRecord, JournalFailure)
    /// Back to the queue as it is.
    case enqueue(JobRecord)
    /// The old job is cancelled, and the new one is added.
    case replace(Replacement)
    /// The old job stays.
    case refuse(Supersession, JournalFailure)
    /// What was asked for meanwhile.
    case perform(CommandQueue, JobID)
  }

  private struct UnderWay: Equatable {
    var change: Change
    var commands = CommandQueue()
  }

  private var underWay: [JobID: UnderWay] = [:]
  /// What was decided of jobs and the journal couldn't take. It counts all the same.
  private(set) var pending: [JobID: PendingUpdate] = [:]

  var isEmpty: Bool { underWay.isEmpty }

  func isChanging(_ id: JobID) -> Bool { underWay[id] != nil }

  /// Keeps a command until the change of its job is through; false: none is under way.
  mutating func append(_ command: JobCommand, on id: JobID) -> Bool {
    guard isChanging(id) else { return false }
    underWay[id]?.commands.append(command)
    return true
  }

  mutating func handle(_ event: Event) -> [Effect] {
    switch event {
    case .begin(let change): return begin(change)
    case .filesRemoved(let id):
      switch underWay[id]?.change {
      case .update(let update, removesFiles: true): return [.commit(update.record)]
      case .supersede(let replacement) where replacement.inherited == nil:
        return [.commit(replacement.record.cancelled)]
      default: return []
      }
    case .lookedForName(let id, let isNamed):
      guard case .cancelUnlessNamed(let record)? = underWay[id]?.change else { return [] }
      if isNamed { return [.enqueue(record)] + finish(id) }
      // What was asked for meanwhile goes on waiting.
      underWay[id]?.change = .cancellation(of: record)
      return [.removeFiles(record.cancelled)]
    case .committed(let id, let failure):
      switch underWay[id]?.change {
      case .update(let update, _):
        return (failure.map { hold(update, $0) } ?? [.enter(update.disposition, update.record)]) + finish(id)
      case .supersede(let replacement):
        guard let failure else { return [.replace(replacement)] + finish(id) }
        pending[id] = replacement.formerUpdate
        return [.hold(replacement.record, failure), .refuse(replacement.supersession, failure)] + finish(id)
      case .cancelUnlessNamed, nil: return []
      }
    case .notWritten(let update, let failure): return hold(update, failure)
    case .retry(let id):
      guard let update = pending[id], !isChanging(id) else { return [] }
      return begin(.update(update, removesFiles: false))
    }
  }

  private mutating func begin(_ change: Change) -> [Effect] {
    let record = change.record
    guard !isChanging(record.id) else { return [] }
    underWay[record.id] = UnderWay(change: change)
    pending[record.id] = nil
    let first: Effect =
      switch change {
      case .update(let update, let removesFiles): removesFiles ? .removeFiles(update.record) : .commit(update.record)
      case .cancelUnlessNamed(let record): .lookForName(record)
      case .supersede(let replacement):
        replacement.inherited == nil ? .removeFiles(record) : .commit(replacement.record.cancelled)
      }
    return [.leaveQueues(record.id), first]
  }

  private mutating func hold(_ update: PendingUpdate, _ failure: JournalFailure) -> [Effect] {
    pending[update.record.id] = update
    return [.hold(update.record, failure)]
  }

  private mutating func finish(_ id: JobID) -> [Effect] {
    let commands = underWay.removeValue(forKey: id)?.commands ?? CommandQueue()
    return commands.isEmpty ? [] : [.perform(commands, id)]
  }
}

extension JobChanges.Change {
  static func cancellation(of record: JobRecord) -> Self {
    .update(PendingUpdate(record: record.cancelled, disposition: .cancelled), removesFiles: true)
  }
}

extension JobRecord {
  fileprivate var cancelled: JobRecord {
    var record = self
    record.state = .cancelled
    record.partial = nil
    return record
  }
}
