internal import AssetModel
internal import Basics
internal import Dispatch
internal import LinuxSystem

/// What the owner of the engine asks of downloads, now or as soon as what hinders it is over. `JobMachine` decides for jobs that
/// run, `IdleJob` and `JobChanges` for the others. Network thread only.
final class CommandExecutor: EnginePart {
  unowned let engine: TransferEngine
  var changes = JobChanges()
  var deferred = DeferredCommands()
  /// A commit that tries the journal for those that wait for it is on its way.
  var isTryingJournal = false
  /// Boot time at which a download has waited for a network long enough.
  var connectivityDeadline: Duration?
  /// The journal couldn't say of a job whose timeout has passed what it is: it isn't asked before then.
  var readAgainAt: Duration?

  init(_ engine: TransferEngine) { self.engine = engine }

  // What it uses of the others.
  var endings: JobEndings { engine.parts.endings }
  var records: JobRecords { engine.parts.records }
  var additions: Additions { engine.parts.additions }
  var network: NetworkWatch { engine.parts.network }
  var room: RoomKeeper { engine.parts.room }

  /// Carries a command out, now or as soon as what hinders it is over.
  func perform(_ command: JobCommand, on id: JobID) {
    if keptForLater(command, on: id) { return }
    if command == .resume, endsWait(of: id) { return }
    if let record = decidedRecord(id) {
      performIdle(command, on: id, record)
    } else {
      records.reads.perform(command, on: id)
    }
  }

  /// `record`: of a job without an activation, as the journal has it; nil: it has none.
  func perform(_ command: JobCommand, on id: JobID, knowing record: JobRecord?) {
    if keptForLater(command, on: id) { return }
    if command == .resume, endsWait(of: id) { return }
    performIdle(command, on: id, record)
  }

  func perform(_ queue: CommandQueue, on id: JobID) { for command in queue.commands { perform(command, on: id) } }

  /// Whether the job is running, or has something before it that comes first.
  private func keptForLater(_ command: JobCommand, on id: JobID) -> Bool {
    if changes.append(command, on: id) { return true }
    if let job = engine.active[id] {
      endings.handle(.command(command, transferClass: job.record.transferClass), job)
    } else if deferred.contains(id) {
      deferred.append(command, for: id)
    } else if records.reads.isReading(id) {
      records.reads.perform(command, on: id)
    } else {
      return false
    }
    return true
  }

  private func performIdle(_ command: JobCommand, on id: JobID, _ record: JobRecord?) {
    if case .supersede(let supersession) = command {
      if engine.isClosing { return additions.reply(to: supersession, .failure(EngineClosed())) }
      if record == nil { return additions.add(supersession, inheriting: nil) }
    }
    guard let record else { return }
    let job = IdleJob(record: record, hold: engine.holds[id], update: changes.pending[id])
    switch job.step(for: command, now: clock.now, boot: clock.boot) {
    case .nothing: break
    case .change(let change): handle(.begin(change))
    case .removeLeftover: removeFiles(of: record, then: nil)
    case .enqueue: enqueue(record)
    case .add(let supersession): additions.add(supersession, inheriting: nil)
    }
  }

  /// Whether the job waits for its turn already, or for something that ends by this.
  private func endsWait(of id: JobID) -> Bool {
    guard let hold = engine.holds[id], changes.pending[id]?.record.state != .paused else {
      return engine.scheduler.isWaiting(id) || engine.scheduler.running[id] != nil
    }
    if case .paused = hold.reason { return false }
    room.space.unblock(for: hold.reason)
    engine.release(id)
    return true
  }

  func handle(_ event: JobChanges.Event) {
    for effect in changes.handle(event) {
      switch effect {
      case .leaveQueues(let id): leaveQueues(id)
      case .removeFiles(let record): removeFiles(of: record, then: .filesRemoved(record.id))
      case .lookForName(let record): lookForName(of: record)
      case .commit(let record): commit(record)
      case .enter(let disposition, let record): engine.enter(disposition, record)
      case .hold(let record, let failure): holdForJournal(record, failure)
      case .enqueue(let record): enqueue(record)
      case .replace(let replacement):
        events.send(.cancelled(replacement.record.id))
        additions.add(replacement.supersession, inheriting: replacement.inherited)
      case .refuse(let supersession, let failure): additions.reply(to: supersession, .failure(failure.error))
      case .perform(let queue, let id): perform(queue, on: id)
      }
    }
    engine.needsSchedule = true
  }

  private func leaveQueues(_ id: JobID) {
    engine.scheduler.remove(id)
    engine.holds[id] = nil
    records.reads.forget(id)
  }

  private func enqueue(_ record: JobRecord) {
    engine.scheduler.enqueue(engine.entry(of: record), now: clock.boot)
    engine.needsSchedule = true
  }

  private func lookForName(of record: JobRecord) {
    let (files, roots, mailbox, specification) = (files, engine.options.containerRoots, mailbox, record.specification)
    let names = engine.options.names(of: record)
    lanes.files.async {
      let destination = try? Destination(
        specification.directory, app: specification.app, files: files, beneath: roots)
      let isNamed = names.contains { (try? destination?.holds(record, under: $0)) ?? false }
      mailbox.post(.control(.change(.lookedForName(record.id, isNamed: isNamed))))
    }
  }

  /// `event`: what the removal answers; nil: nothing waits for it. The engine isn't closed before it is done, or files would
  /// stay that no later run removes.
  private func removeFiles(of record: JobRecord, then event: JobChanges.Event?) {
    engine.outstanding += 1
    let specification = record.specification
    let (files, roots, mailbox) = (files, engine.options.containerRoots, mailbox)
    let names = engine.options.stagingNames(specification, upTo: record.generation)
    lanes.files.async {
      let destination = try? Destination(
        specification.directory, app: specification.app, files: files, beneath: roots)
      for name in names { destination?.removeStaging(name) }
      mailbox.post(.control(.filesRemoved(event)))
    }
  }

  func filesRemoved(_ event: JobChanges.Event?) {
    engine.outstanding -= 1
    if let event { handle(event) }
  }
}
