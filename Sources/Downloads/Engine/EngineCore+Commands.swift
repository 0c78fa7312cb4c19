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
      if let wait = record.retryAfter, case let rest = wait.remaining(at: moment), rest > 0 {
        origins[number].retryAfter = now + .nanoseconds(rest)
        origins[number].retryAfterValue = record.retryAfterValue
      }
      if let wait = record.rangeless, case let rest = wait.remaining(at: moment), rest > 0 {
        origins[number].rangelessUntil = now + .nanoseconds(rest)
      }
    }
    guard options.takesUpOpenJobs else { return }
    try journal.journal.forEachOpenJob { job in
      let entry = Scheduler.Entry(
        id: job.id, app: apps.number(of: job.app), origin: origins.number(of: job.origin),
        transferClass: job.transferClass,
        priority: job.priority, rest: job.rest, since: Self.sinceBoot(job.enqueued, clock))
      if job.state == .paused {
        hold(entry, .paused("user"), until: nil)
      } else if let wait = job.wait, case let rest = wait.remaining(at: moment), rest > 0 {
        hold(entry, .retry(""), until: now + .nanoseconds(rest))
      } else {
        scheduler.enqueue(entry, now: now)
      }
    }
    needsSchedule = true
  }

  func add(
    _ specifications: [DownloadSpecification],
    _ completion: @escaping @Sendable (Result<[AddResult], any Error>) -> Void
  ) {
    guard !isClosing else { return completion(.failure(EngineClosed())) }
    let mailbox = mailbox
    let moment = clock.now
    let refused = runningOtherwise(specifications)
    let others = zip(specifications, refused).filter { $1 == nil }.map(\.0)
    pendingCommits += 1
    journal.add(others, now: moment) { result in
      mailbox.post { core in
        core.pendingCommits -= 1
        if case .success(let results) = result {
          for (specification, result) in zip(others, results) {
            core.added(specification, result, moment)
            // Of very many, each would be looked up for it.
            guard results.count <= Self.mostTold, let id = result.job else { continue }
            core.tellIfBlocked(
              id, specification.transferClass, core.origins.number(of: Self.origin(of: specification.url)))
          }
          core.needsSchedule = true
        }
        completion(
          result.map { results in
            var results = results[...]
            return refused.compactMap { $0.map { .conflict($0) } ?? results.popFirst() }
          })
      }
    }
  }

  private static let mostTold = 64

  /// Of one that can't even begin, somebody is told why. Those that only wait for a slot aren't news.
  private func tellIfBlocked(_ id: JobID, _ transferClass: TransferClass, _ origin: UInt32) {
    let now = clock.boot
    guard scheduler.isWaiting(id),
      origins.isBlocked(origin, now: now) || conditions.gate(for: transferClass, now: now) != nil,
      let explanation = explain(id), explanation.code != .queued
    else { return }
    events.send(.waiting(id, explanation))
  }

  /// Of each, the running job of that name which expects something else of its bytes: it has judged some by that.
  private func runningOtherwise(_ specifications: [DownloadSpecification]) -> [JobID?] {
    if active.isEmpty { return Array(repeating: nil, count: specifications.count) }
    let running = Dictionary(grouping: active.values) { $0.record.specification.identifier }
    return specifications.map { specification in
      running[specification.identifier]?.first {
        let own = $0.record.specification
        return own.app == specification.app
          && !(own.expectsTheSame(as: specification) && own.mirrors == specification.mirrors)
      }?.id
    }
  }

  private func added(_ specification: DownloadSpecification, _ result: AddResult, _ moment: StoredMoment) {
    switch result {
    case .added(let id, let generation):
      let record = JobRecord(id: id, specification: specification, generation: generation, enqueued: moment)
      // What a budget has promised to a job, and what an earlier one of its name has left, is for the journal to say.
      if added.count < EngineCore.mostAdded, specification.budget == nil, generation == 1 { added[id] = record }
      let entry = entry(of: record)
      // A person waits: whether the road is free is found out now.
      if entry.transferClass == .foreground { origins[entry.origin].breaker.hurry(now: clock.boot) }
      scheduler.enqueue(entry, now: clock.boot)
    case .alreadyScheduled(let id):
      // It may be expected to have other bytes from now on; in the meantime it may have begun.
      added[id] = nil
      if let own = active[id]?.record.specification,
        !own.expectsTheSame(as: specification) || own.mirrors != specification.mirrors, let job = active[id]
      {
        settle(job, .yield)
      }
    case .conflict, .tooMany, .allowance, .invalid: break
    }
  }

  func pause(_ id: JobID) {
    if waitsForCommit(id, { $0.pause(id) }) || owesEnd(id) { return }
    if let job = active[id] {
      guard !job.phase.isEnding else { return job.wishes.append { $0.pause(id) } }
      return settle(job, .pause)
    }
    guard let record = openRecord(id), record.state == .open else { return }
    take(record, .paused) { core, record in
      core.hold(core.entry(of: record), .paused("user"), until: nil)
      core.events.send(.paused(record.id))
    }
  }

  func cancel(_ id: JobID) {
    if waitsForCommit(id, { $0.cancel(id) }) || owesEnd(id) { return }
    if let job = active[id] {
      guard !job.phase.isEnding else { return job.wishes.append { $0.cancel(id) } }
      return settle(job, .cancel)
    }
    guard let record = try? journal.journal.job(id), !record.state.isSettled else { return removeLeftover(of: id) }
    if record.state == .verified { return cancelUnlessNamed(record) }
    cancel(record)
  }

  private func cancel(_ record: JobRecord) {
    removeStaging(of: record)
    proxyHealth.forget(record.id)
    take(record, .cancelled) { core, record in core.events.send(.cancelled(record.id)) }
  }

  /// Of a verified file only the name may be missing. Where an earlier run gave it that already, cancelling is too late.
  private func cancelUnlessNamed(_ record: JobRecord) {
    forget(record.id)
    let (files, roots, mailbox, specification) = (files, options.containerRoots, mailbox, record.specification)
    io.async {
      let destination = try? Destination(
        specification.directory, app: specification.app, files: files, beneath: roots)
      let isNamed = (try? destination?.holds(record, under: specification.fileName)) ?? false
      mailbox.post { core in
        let isActive = core.active[record.id] != nil
        if !isNamed { return isActive ? core.cancel(record.id) : core.cancel(record) }
        if isActive || core.scheduler.isWaiting(record.id) { return }
        core.scheduler.enqueue(core.entry(of: record), now: core.clock.boot)
        core.needsSchedule = true
      }
    }
  }

  private func removeLeftover(of id: JobID) {
    guard let record = try? journal.journal.job(id), record.leftover != nil else { return }
    removeStaging(of: record)
  }

  func removeStaging(of record: JobRecord) {
    let specification = record.specification
    let (files, roots) = (files, options.containerRoots)
    let names = stagingNames(specification, upTo: record.generation)
    io.async {
      guard
        let destination = try? Destination(
          specification.directory, app: specification.app, files: files, beneath: roots)
      else {
        return
      }
      for name in names { destination.removeStaging(name) }
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

  func goOn(_ id: JobID) {
    if waitsForCommit(id, { $0.goOn(id) }) { return }
    if let hold = holds[id] {
      guard case .paused = hold.reason else {
        // Of two wishes the later one counts.
        if owed[id]?.state == .paused { owed[id] = nil }
        unblockVolume(of: hold)
        return release(id)
      }
    } else if let job = active[id] {
      // It is about to wait for something, or somebody has just wished that.
      if job.phase.isEnding || job.next != nil { job.wishes.append { $0.goOn(id) } }
      return
    } else if scheduler.isWaiting(id) {
      return
    }
    guard var record = try? journal.journal.job(id), !record.state.isSettled else { return }
    if let hold = holds[id] {
      record.forgiveWaiting(max(.zero, clock.boot - hold.since).inNanoseconds, now: clock.now)
    }
    if record.state == .verified {
      scheduler.enqueue(entry(of: record), now: clock.boot)
      needsSchedule = true
      return
    }
    take(record, .open) { core, record in
      let entry = core.entry(of: record)
      core.scheduler.enqueue(entry, now: core.clock.boot)
      core.tellIfBlocked(record.id, entry.transferClass, entry.origin)
    }
  }

  func setClass(_ transferClass: TransferClass, of id: JobID) {
    if waitsForCommit(id, { $0.setClass(transferClass, of: id) }) || owesEnd(id) { return }
    if let debt = owed[id] {
      // After what comes first.
      owed[id]?.again = { core in
        debt.again(core)
        core.setClass(transferClass, of: id)
      }
      return
    }
    if let job = active[id] {
      guard job.record.transferClass != transferClass else { return }
      guard !job.phase.isEnding else { return job.wishes.append { $0.setClass(transferClass, of: id) } }
      job.record.transferClass = transferClass
      return settle(job, .yield)
    }
    guard var record = openRecord(id), record.transferClass != transferClass else { return }
    record.transferClass = transferClass
    let wasHeld = holds[id]
    // A person waits for a foreground download: its waits end, but for those that a server asked for.
    let keepsHold = transferClass != .foreground
    take(record, record.state) { core, record in
      let entry = core.entry(of: record)
      if !keepsHold { core.origins[entry.origin].breaker.hurry(now: core.clock.boot) }
      if let wasHeld, keepsHold || record.state == .paused {
        core.hold(entry, wasHeld.reason, until: wasHeld.until)
      } else {
        core.scheduler.enqueue(entry, now: core.clock.boot)
      }
    }
  }

  func openRecord(_ id: JobID) -> JobRecord? {
    guard let record = try? journal.journal.job(id), !record.state.isSettled, record.state != .verified else {
      return nil
    }
    return record
  }

  /// Changes a job that isn't running: out of every queue, into the journal, then on.
  func take(_ record: JobRecord, _ state: JobState, _ then: @escaping @Sendable (EngineCore, JobRecord) -> Void) {
    var record = record
    record.state = state
    forget(record.id)
    committing[record.id] = []
    let (mailbox, changed) = (mailbox, record)
    journal.commit([.job(changed)]) { failure in
      mailbox.post { core in
        let wishes = core.committing.removeValue(forKey: changed.id) ?? []
        if let failure {
          core.owe(changed, failure, then)
        } else {
          then(core, changed)
        }
        for wish in wishes { wish(core) }
        core.needsSchedule = true
      }
    }
  }

  /// The journal is about to say something else of it: what is asked for meanwhile comes after that.
  func waitsForCommit(_ id: JobID, _ wish: @escaping (EngineCore) -> Void) -> Bool {
    guard committing[id] != nil else { return false }
    committing[id]?.append(wish)
    return true
  }

  /// It has ended, and only the journal doesn't know yet.
  private func owesEnd(_ id: JobID) -> Bool { owed[id].map { $0.state != .paused } ?? false }

  /// The journal can't be written, but somebody's wish stands: it is done as soon as that works.
  func owe(
    _ record: JobRecord, _ failure: any Error, _ then: @escaping @Sendable (EngineCore, JobRecord) -> Void
  ) {
    holdForJournal(entry(of: record), failure)
    if record.state != .open { owed[record.id] = (record.state, { $0.take(record, record.state, then) }) }
  }

  /// Out of every queue.
  func forget(_ id: JobID) {
    scheduler.remove(id)
    holds[id] = nil
    added[id] = nil
    owed[id] = nil
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
    for job in Array(active.values) where job.phase == .transferring || job.phase == .opening { settle(job, .rest) }
  }

  func closed() {
    events.flush()
    // Idle ones would stay open for as long as somebody keeps the closed engine.
    transport.forgetConnections()
    for completion in whenClosed { completion() }
    whenClosed = []
  }
}
