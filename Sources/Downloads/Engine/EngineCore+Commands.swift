internal import AssetModel
internal import Dispatch
internal import LinuxSystem

/// What the owner of the engine asks for.
extension EngineCore {
  /// Takes over every open job of the journal. Before the network thread runs.
  func restore() throws {
    let now = clock.boot
    let moment = clock.now
    rebase(moment)
    for record in try journal.journal.origins() {
      let number = origins.number(of: record.origin)
      origins[number].restore(record, now: now, moment: moment)
    }
    guard options.takesUpOpenJobs else { return }
    // Told of afterwards: an explanation reads the journal, which can't be read within a reading.
    var held: [JobID] = []
    try journal.journal.forEachOpenJob { job in
      let entry = Scheduler.Entry(
        id: job.id, app: apps.number(of: job.app), origin: origins.number(of: job.origin),
        transferClass: job.transferClass,
        priority: job.priority, rest: job.rest, since: Self.sinceBoot(job.enqueued, clock))
      if job.state == .paused {
        keepWaiting(entry, .paused("user"), until: nil)
        held.append(job.id)
      } else if let wait = job.wait, case let rest = wait.remaining(at: moment), rest > 0 {
        keepWaiting(entry, .retry(""), until: now + .nanoseconds(rest))
        held.append(job.id)
      } else {
        scheduler.enqueue(entry, now: now)
      }
    }
    for id in held { tellWhyHeld(id) }
    needsSchedule = true
  }

  /// Carries a command out, now or as soon as what hinders it is over.
  func perform(_ command: JobCommand, on id: JobID) {
    if committing[id] != nil {
      committing[id]?.append(command)
    } else if let job = active[id] {
      perform(command, on: job)
    } else if deferred.contains(id) {
      deferred.append(command, for: id)
    } else {
      do { try performIdle(command, on: id) } catch { deferCommand(command, on: id, error) }
    }
  }

  func perform(_ queue: CommandQueue, on id: JobID) { for command in queue.commands { perform(command, on: id) } }

  private func perform(_ command: JobCommand, on job: ActiveJob) {
    let isEnding = job.phase.isEnding
    switch command {
    case .pause:
      // What was asked for before, and waits, is overtaken by this.
      job.commands.removePauseAndResume()
      if !isEnding, accepts(job, .pause) { return settle(job, .pause) }
    case .cancel: if !isEnding, accepts(job, .cancel) { return settle(job, .cancel) }
    // It is about to wait for something, or somebody has just asked for that.
    case .resume: if !isEnding, job.next == nil, job.commands.isEmpty { return }
    case .setClass(let transferClass) where !isEnding:
      guard job.record.transferClass != transferClass else { return }
      job.record.transferClass = transferClass
      return settle(job, .yield)
    case .setClass: break
    case .supersede:
      job.commands.append(command)
      if !isEnding { settle(job, .yield) }
      return
    }
    job.commands.append(command)
  }

  /// For a job without an activation.
  private func performIdle(_ command: JobCommand, on id: JobID) throws {
    switch command {
    case .pause:
      guard let record = try currentRecord(id), record.state == .open else { return }
      take(record, .paused, .paused)
    case .resume: try resumeIdle(id)
    case .cancel:
      guard let record = try currentRecord(id) else { return }
      if record.state.isSettled {
        if record.leftover != nil { removeStaging(of: record) }
      } else if record.state == .verified {
        cancelUnlessNamed(record)
      } else {
        cancel(record)
      }
    case .setClass(let transferClass): try setClassOfIdle(id, transferClass)
    case .supersede(let supersession): takeOver(id, supersession)
    }
  }

  private func cancel(_ record: JobRecord) {
    proxyHealth.forget(record.id)
    take(record, .cancelled, removesFiles: true, .cancelled)
  }

  /// Of a verified file only the name may be missing. Where an earlier run gave it that already, cancelling is too late.
  private func cancelUnlessNamed(_ record: JobRecord) {
    forget(record.id)
    committing[record.id] = CommandQueue()
    let (files, roots, mailbox, specification) = (files, options.containerRoots, mailbox, record.specification)
    lanes.files.async {
      let destination = try? Destination(
        specification.directory, app: specification.app, files: files, beneath: roots)
      let isNamed = (try? destination?.holds(record, under: specification.fileName)) ?? false
      mailbox.post { core in
        let commands = core.committing.removeValue(forKey: record.id) ?? CommandQueue()
        if isNamed {
          core.scheduler.enqueue(core.entry(of: record), now: core.clock.boot)
          core.needsSchedule = true
        } else {
          core.cancel(record)
        }
        core.perform(commands, on: record.id)
      }
    }
  }

  /// The engine isn't closed before it is done, or whoever looks then would find what nobody removes any more.
  func removeStaging(of record: JobRecord, _ then: @escaping @Sendable (EngineCore) -> Void = { _ in }) {
    let specification = record.specification
    let (files, roots, mailbox) = (files, options.containerRoots, mailbox)
    let names = stagingNames(specification, upTo: record.generation)
    outstanding += 1
    lanes.files.async {
      let destination = try? Destination(
        specification.directory, app: specification.app, files: files, beneath: roots)
      for name in names { destination?.removeStaging(name) }
      mailbox.post { core in
        core.outstanding -= 1
        then(core)
      }
    }
  }

  func stagingName(_ specification: DownloadSpecification, _ generation: Int) -> String {
    Destination.stagingName(
      app: specification.app, identifier: specification.identifier, generation: generation,
      owner: options.stagingOwner)
  }

  /// Of those that may still lie there.
  func stagingNames(_ specification: DownloadSpecification, upTo generation: Int) -> [String] {
    (max(1, generation - 16)...generation).map { stagingName(specification, $0) }
  }

  private func resumeIdle(_ id: JobID) throws {
    if let hold = holds[id], pendingUpdates[id]?.record.state != .paused {
      guard case .paused = hold.reason else {
        space.unblock(for: hold.reason)
        return release(id)
      }
    } else if scheduler.isWaiting(id) {
      return
    }
    guard var record = try currentRecord(id), !record.state.isSettled else { return }
    if let hold = holds[id] {
      record.forgiveWaiting(max(.zero, clock.boot - hold.since).inNanoseconds, now: clock.now)
    }
    if record.state == .verified {
      scheduler.enqueue(entry(of: record), now: clock.boot)
      needsSchedule = true
      return
    }
    take(record, .open, .queued(isTold: true))
  }

  private func setClassOfIdle(_ id: JobID, _ transferClass: TransferClass) throws {
    guard var record = try currentRecord(id), !record.state.isSettled, record.state != .verified,
      record.transferClass != transferClass
    else { return }
    record.transferClass = transferClass
    // After what comes first.
    if let update = pendingUpdates[id] { return take(record, record.state, update.disposition) }
    let hold = holds[id].flatMap { $0.reason.isOfJournal ? nil : $0 }
    // A person waits for a foreground download: its waits end, but for those that a server asked for.
    take(
      record, record.state,
      .reclassified(isUrgent: transferClass == .foreground, hold: hold?.reason, until: hold?.until))
  }

  /// A job as it is by what was decided last, whether or not the journal has that yet.
  func currentRecord(_ id: JobID) throws -> JobRecord? {
    try pendingUpdates[id]?.record ?? journal.journal.job(id)
  }

  /// Changes a job that isn't running: out of every queue, into the journal, then on.
  func take(
    _ record: JobRecord, _ state: JobState, removesFiles: Bool = false, _ disposition: Disposition
  ) {
    var record = record
    record.state = state
    forget(record.id)
    committing[record.id] = CommandQueue()
    guard removesFiles else { return commit(record, disposition) }
    let changed = record
    removeStaging(of: record) { $0.commit(changed, disposition) }
  }

  private func commit(_ record: JobRecord, _ disposition: Disposition) {
    let mailbox = mailbox
    journal.commit([.job(record)]) { failure in
      mailbox.post { core in
        let commands = core.committing.removeValue(forKey: record.id) ?? CommandQueue()
        if let failure {
          core.holdUpdate(record, failure, disposition)
        } else {
          core.enter(disposition, record)
        }
        core.perform(commands, on: record.id)
        core.needsSchedule = true
      }
    }
  }

  /// Out of every queue.
  func forget(_ id: JobID) {
    scheduler.remove(id)
    holds[id] = nil
    added[id] = nil
    pendingUpdates[id] = nil
    needsSchedule = true
  }

  func setConditions(_ conditions: MachineConditions) {
    self.conditions = conditions
    let now = clock.boot
    offlineSince = conditions.isOnline ? nil : offlineSince ?? now
    for job in Array(active.values)
    where job.phase == .transferring && conditions.gate(for: job.record.transferClass, now: now) != nil {
      settle(job, .yield)
    }
    needsSchedule = true
  }

  func setRates(_ all: Int64?, _ classes: [TransferClass: Int64]) {
    options.bytesPerSecond = all
    options.classBytesPerSecond = classes
    buckets = RateBuckets(options)
    // Whoever waits for a share of the old ones is told of the new ones' by its next bytes.
    for id in paced.keys { paced[id] = .zero }
  }

  func networkChanged() {
    for job in Array(active.values) where job.phase == .transferring { settle(job, .yield) }
    transport.forgetConnections()
    if portalCheckAt != nil { portalCheckAt = clock.boot }
    for (id, hold) in holds {
      if case .retry = hold.reason { release(id) }
    }
    origins.hurry(now: clock.boot)
    needsSchedule = true
  }

  func close(_ completion: @escaping @Sendable () -> Void) {
    isClosing = true
    whenClosed.append(completion)
    for job in Array(active.values) where job.phase == .transferring || job.phase == .opening { settle(job, .close) }
    // The last try of each: what the journal doesn't take now is told as lost.
    performDeferred(clock.boot, isLast: true)
    for id in pendingUpdates.keys.sorted() { release(id) }
  }

  func closed() {
    events.flush()
    // Idle ones would stay open for as long as somebody keeps the closed engine.
    transport.forgetConnections()
    for completion in whenClosed { completion() }
    whenClosed = []
  }
}
