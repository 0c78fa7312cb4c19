internal import AssetModel
internal import Basics
internal import Dispatch
internal import LinuxSystem

/// What the owner of the engine asks of downloads, now or as soon as what hinders it is over. Network thread only.
final class CommandExecutor: EnginePart {
  unowned let engine: TransferEngine
  /// Jobs that aren't running of which the journal is just told something, with what was asked for since.
  var committing: [JobID: CommandQueue] = [:]
  var pendingUpdates: [JobID: PendingUpdate] = [:]
  var deferred = DeferredCommands()
  /// A commit that tries the journal for those that wait for it is on its way.
  var isTryingJournal = false

  init(_ engine: TransferEngine) { self.engine = engine }

  /// Carries a command out, now or as soon as what hinders it is over.
  func perform(_ command: JobCommand, on id: JobID) {
    if committing[id] == nil, engine.active[id] == nil, !deferred.contains(id), !records.reads.isReading(id) {
      performIdle(command, on: id)
    } else {
      perform(command, on: id, knowing: nil)
    }
  }

  /// `record`: of a job without an activation, as the journal has it; nil: it has none.
  func perform(_ command: JobCommand, on id: JobID, knowing record: JobRecord?) {
    if committing[id] != nil {
      committing[id]?.append(command)
    } else if let job = engine.active[id] {
      endings.execute(job.machine.handle(.command(command, transferClass: job.record.transferClass)), job)
    } else if deferred.contains(id) {
      deferred.append(command, for: id)
    } else if records.reads.isReading(id) {
      records.reads.perform(command, on: id)
    } else {
      performIdle(command, on: id, record)
    }
  }

  func perform(_ queue: CommandQueue, on id: JobID) { for command in queue.commands { perform(command, on: id) } }

  /// For a job without an activation.
  private func performIdle(_ command: JobCommand, on id: JobID) {
    if command == .resume, resumesWithoutRecord(id) { return }
    if let record = decidedRecord(id) {
      performIdle(command, on: id, record)
    } else {
      records.reads.perform(command, on: id)
    }
  }

  private func performIdle(_ command: JobCommand, on id: JobID, _ record: JobRecord?) {
    if case .supersede(let supersession) = command { return additions.takeOver(record, supersession) }
    guard let record else { return }
    switch command {
    case .pause: if record.state == .open { take(record, .paused, .paused) }
    case .resume: if !resumesWithoutRecord(id) { resumeIdle(record) }
    case .cancel:
      if record.state.isTerminal {
        if record.leftover != nil { removeStaging(of: record) }
      } else if record.state == .verified {
        cancelUnlessNamed(record)
      } else {
        cancel(record)
      }
    case .setClass(let transferClass): setClassOfIdle(record, transferClass)
    case .supersede: break
    }
  }

  func cancel(_ record: JobRecord) {
    network.proxyHealth.forget(record.id)
    take(record, .cancelled, removesFiles: true, .cancelled)
  }

  /// Of a verified file only the name may be missing. Where an earlier run gave it that already, cancelling is too late.
  private func cancelUnlessNamed(_ record: JobRecord) {
    forget(record.id)
    committing[record.id] = CommandQueue()
    let (files, roots, mailbox, specification) = (files, engine.options.containerRoots, mailbox, record.specification)
    lanes.files.async {
      let destination = try? Destination(
        specification.directory, app: specification.app, files: files, beneath: roots)
      let isNamed = (try? destination?.holds(record, under: specification.fileName)) ?? false
      mailbox.post { engine in
        let commands = engine.commands.committing.removeValue(forKey: record.id) ?? CommandQueue()
        if isNamed {
          engine.scheduler.enqueue(engine.entry(of: record), now: engine.clock.boot)
          engine.needsSchedule = true
        } else {
          engine.commands.cancel(record)
        }
        engine.commands.perform(commands, on: record.id)
      }
    }
  }

  /// Whether it waits for its turn already, or for something that ends by this.
  private func resumesWithoutRecord(_ id: JobID) -> Bool {
    guard let hold = engine.holds[id], pendingUpdates[id]?.record.state != .paused else {
      return engine.scheduler.isWaiting(id) || engine.scheduler.running[id] != nil
    }
    if case .paused = hold.reason { return false }
    room.space.unblock(for: hold.reason)
    engine.release(id)
    return true
  }

  private func resumeIdle(_ record: JobRecord) {
    guard !record.state.isTerminal else { return }
    var record = record
    if let hold = engine.holds[record.id] {
      record.forgiveWaiting(max(.zero, clock.boot - hold.since).inNanoseconds, now: clock.now)
    }
    if record.state == .verified {
      engine.scheduler.enqueue(engine.entry(of: record), now: clock.boot)
      engine.needsSchedule = true
      return
    }
    take(record, .open, .queued(isTold: true))
  }

  private func setClassOfIdle(_ record: JobRecord, _ transferClass: TransferClass) {
    guard !record.state.isTerminal, record.state != .verified, record.transferClass != transferClass else { return }
    let id = record.id
    var record = record
    record.transferClass = transferClass
    // After what comes first.
    if let update = pendingUpdates[id] { return take(record, record.state, update.disposition) }
    let hold = engine.holds[id].flatMap { $0.reason.isOfJournal ? nil : $0 }
    // A person waits for a foreground download: its waits end, but for those that a server asked for.
    take(
      record, record.state,
      .reclassified(isUrgent: transferClass == .foreground, hold: hold?.reason, until: hold?.until))
  }

  /// The engine isn't closed before it is done, or whoever looks then would find what nobody removes any more.
  func removeStaging(of record: JobRecord, _ then: @escaping @Sendable (TransferEngine) -> Void = { _ in }) {
    let specification = record.specification
    let (files, roots, mailbox) = (files, engine.options.containerRoots, mailbox)
    let names = stagingNames(specification, upTo: record.generation)
    engine.outstanding += 1
    lanes.files.async {
      let destination = try? Destination(
        specification.directory, app: specification.app, files: files, beneath: roots)
      for name in names { destination?.removeStaging(name) }
      mailbox.post { engine in
        engine.outstanding -= 1
        then(engine)
      }
    }
  }

  func stagingName(_ specification: DownloadSpecification, _ generation: Int) -> String {
    Destination.stagingName(
      app: specification.app, identifier: specification.identifier, generation: generation,
      owner: engine.options.stagingOwner)
  }

  /// Of those that may still lie there.
  func stagingNames(_ specification: DownloadSpecification, upTo generation: Int) -> [String] {
    (max(1, generation - 16)...generation).map { stagingName(specification, $0) }
  }
}
