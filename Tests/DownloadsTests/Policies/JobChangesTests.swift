import AssetModel
import Basics
import LinuxSystem
import Testing

@testable import Downloads

/// Changes of jobs without an activation, and a journal that can't be written.
@Suite(.timeLimit(.minutes(2))) struct JobChangesTests {
  private static let failure = JournalFailure(EngineClosed())

  private static func record(_ number: Int64, _ state: JobState = .open) -> JobRecord {
    var record = JobRecord(
      id: JobID(number),
      specification: DownloadSpecification(
        app: "app", identifier: "\(number)", url: "https://a.test/", transferClass: .background, directory: "/tmp",
        fileName: "a"), enqueued: StoredMoment(bootIdentifier: "boot", boot: 0, wall: 0))
    record.state = state
    return record
  }

  private static func pause(_ record: JobRecord) -> PendingUpdate {
    var record = record
    record.state = .paused
    return PendingUpdate(record: record, disposition: .paused)
  }

  private static func replacement(_ record: JobRecord, inherits: Bool) -> JobChanges.Replacement {
    let entity = Entity(total: 7, finalURL: record.specification.url)
    let partial = Partial(stagingName: "", entity: entity, bootIdentifier: "", device: 0, inode: 1)
    return JobChanges.Replacement(
      record: record, supersession: Supersession(specification: record.specification, request: 7),
      inherited: inherits ? partial : nil)
  }

  @Test("files go before the journal is told, and what follows comes after it")
  func order() {
    let update = Self.pause(Self.record(1))
    for removesFiles in [false, true] {
      var changes = JobChanges()
      let first = changes.handle(.begin(.update(update, removesFiles: removesFiles)))
      if removesFiles {
        #expect(first == [.leaveQueues(JobID(1)), .removeFiles(update.record)])
        #expect(changes.handle(.filesRemoved(JobID(1))) == [.commit(update.record)])
      } else {
        #expect(first == [.leaveQueues(JobID(1)), .commit(update.record)])
      }
      #expect(changes.isChanging(JobID(1)))
      #expect(changes.handle(.committed(JobID(1), nil)) == [.enter(.paused, update.record)])
      #expect(changes.isEmpty)
    }
  }

  @Test("what the journal couldn't take counts, and is committed when it can be written")
  func pending() {
    let update = Self.pause(Self.record(1))
    var changes = JobChanges()
    _ = changes.handle(.begin(.update(update, removesFiles: true)))
    _ = changes.handle(.filesRemoved(JobID(1)))
    #expect(changes.handle(.committed(JobID(1), Self.failure)) == [.hold(update.record, Self.failure)])
    #expect(changes.pending[JobID(1)] == update && changes.isEmpty)
    #expect(
      changes.handle(.retry(JobID(1))) == [.leaveQueues(JobID(1)), .commit(update.record)], "its files are gone already"
    )
    #expect(changes.pending.isEmpty)
    #expect(changes.handle(.committed(JobID(1), nil)) == [.enter(.paused, update.record)])
    #expect(changes.handle(.retry(JobID(1))) == [], "once")
  }

  @Test("what is asked for meanwhile waits and follows, in its order")
  func commands() {
    let update = Self.pause(Self.record(1))
    var changes = JobChanges()
    #expect(changes.append(.resume, on: JobID(1)) == false, "nothing is under way")
    _ = changes.handle(.begin(.update(update, removesFiles: false)))
    #expect(changes.append(.setClass(.foreground), on: JobID(1)) == true)
    #expect(changes.append(.resume, on: JobID(1)) == true)
    #expect(changes.append(.resume, on: JobID(2)) == false)
    var queue = CommandQueue()
    queue.append(.setClass(.foreground))
    queue.append(.resume)
    #expect(
      changes.handle(.committed(JobID(1), nil)) == [.enter(.paused, update.record), .perform(queue, JobID(1))])
  }

  @Test("a verified file is cancelled only where it has no name yet", arguments: [false, true])
  func verified(isNamed: Bool) {
    let record = Self.record(1, .verified)
    var changes = JobChanges()
    #expect(
      changes.handle(.begin(.cancelUnlessNamed(record))) == [.leaveQueues(JobID(1)), .lookForName(record)])
    #expect(changes.append(.pause, on: JobID(1)) == true)
    var queue = CommandQueue()
    queue.append(.pause)
    let looked = changes.handle(.lookedForName(JobID(1), isNamed: isNamed))
    if isNamed {
      #expect(looked == [.enqueue(record), .perform(queue, JobID(1))])
    } else {
      let cancelled = Self.record(1, .cancelled)
      #expect(looked == [.removeFiles(cancelled)])
      #expect(changes.handle(.filesRemoved(JobID(1))) == [.commit(cancelled)])
      #expect(
        changes.handle(.committed(JobID(1), nil)) == [.enter(.cancelled, cancelled), .perform(queue, JobID(1))])
    }
    #expect(changes.isEmpty)
  }

  @Test("a job that is replaced is cancelled first, and stays where that can't be written", arguments: [false, true])
  func replaced(inherits: Bool) {
    let record = Self.record(1)
    let cancelled = Self.record(1, .cancelled)
    let former = Self.pause(record)
    var replacement = Self.replacement(record, inherits: inherits)
    replacement.formerUpdate = former
    for isWritten in [false, true] {
      var changes = JobChanges()
      _ = changes.handle(.notWritten(former, Self.failure))
      let first = changes.handle(.begin(.supersede(replacement)))
      #expect(first == [.leaveQueues(JobID(1)), inherits ? .commit(cancelled) : .removeFiles(record)])
      #expect(changes.pending.isEmpty)
      if !inherits { #expect(changes.handle(.filesRemoved(JobID(1))) == [.commit(cancelled)]) }
      if isWritten {
        #expect(changes.handle(.committed(JobID(1), nil)) == [.replace(replacement)])
        #expect(changes.pending.isEmpty)
      } else {
        let refused = changes.handle(.committed(JobID(1), Self.failure))
        #expect(refused == [.hold(record, Self.failure), .refuse(replacement.supersession, Self.failure)])
        #expect(changes.pending[JobID(1)] == former, "what was decided before still counts")
      }
    }
  }

  /// Whatever comes in whatever order: each change that begins ends once, with its job's commands behind it; nothing is
  /// committed twice at a time, no files are removed after the commit, and what wasn't written is pending.
  @Test("random events", arguments: 0..<100)
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var changes = JobChanges()
    // What the executor has in hand.
    var answers: [(id: JobID, isCommit: Bool, isLook: Bool)] = []
    var waiting: [JobID: Int] = [:]
    for round in 0..<300 {
      let record = Self.record(.random(in: 1...4, using: &random))
      let context: Comment = "seed \(seed), round \(round)"
      var effects: [JobChanges.Effect] = []
      switch Int.random(in: 0..<8, using: &random) {
      case 0: effects = changes.handle(.begin(.update(Self.pause(record), removesFiles: .random(using: &random))))
      case 1: effects = changes.handle(.begin(.cancelUnlessNamed(record)))
      case 2:
        effects = changes.handle(.begin(.supersede(Self.replacement(record, inherits: .random(using: &random)))))
      case 3: effects = changes.handle(.retry(record.id))
      case 4:
        let isKept = changes.append(.supersede(Self.replacement(record, inherits: true).supersession), on: record.id)
        #expect(isKept == changes.isChanging(record.id), context)
        if isKept { waiting[record.id, default: 0] += 1 }
      default:
        guard let index = answers.indices.randomElement(using: &random) else { continue }
        let answer = answers.remove(at: index)
        let isWritten = Bool.random(using: &random)
        if answer.isLook {
          effects = changes.handle(.lookedForName(answer.id, isNamed: isWritten))
        } else if answer.isCommit {
          effects = changes.handle(.committed(answer.id, isWritten ? nil : Self.failure))
        } else {
          effects = changes.handle(.filesRemoved(answer.id))
        }
      }
      for effect in effects {
        switch effect {
        case .removeFiles(let record): answers.append((record.id, false, false))
        case .lookForName(let record): answers.append((record.id, false, true))
        case .commit(let record): answers.append((record.id, true, false))
        case .hold(let record, _): #expect(!changes.isChanging(record.id), context)
        case .perform(let queue, let id):
          #expect(queue.commands.count == waiting.removeValue(forKey: id), context)
          #expect(!changes.isChanging(id), context)
        case .enter(_, let record), .enqueue(let record): #expect(!changes.isChanging(record.id), context)
        case .leaveQueues(let id): #expect(changes.pending[id] == nil, context)
        case .replace, .refuse: break
        }
      }
      // Each job that changes has exactly one thing in hand, and no other job has.
      #expect(Set(answers.map(\.id)).count == answers.count, context)
      for number: Int64 in 1...4 {
        let id = JobID(number)
        #expect(changes.isChanging(id) == answers.contains { $0.id == id }, context)
        #expect(!(changes.isChanging(id) && changes.pending[id] != nil), context)
      }
    }
  }
}
