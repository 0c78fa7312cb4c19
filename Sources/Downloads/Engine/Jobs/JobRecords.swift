internal import AssetModel

/// Reads the journal for jobs that aren't running: on its own queue, all that is needed in one transaction, and a few ahead of
/// need. `JobReads` decides. Network thread only.
final class JobRecords: EnginePart {
  unowned let engine: TransferEngine
  var reads = JobReads()

  init(_ engine: TransferEngine) { self.engine = engine }

  /// A job has a slot: it starts at once where its record is known, or when it was read.
  func start(_ entry: Scheduler.Entry, _ now: Duration) {
    if let record = reads.start(entry) { engine.start(entry, record, now) }
    if reads.wantsMore(of: engine.scheduler.waitingCount) {
      reads.readAhead(engine.scheduler.upcoming(like: entry, atMost: JobReads.ahead))
    }
  }

  /// Asks the journal for what is needed by now. Once in each turn of the loop.
  func ask() {
    let ids = reads.takeWanted()
    guard !ids.isEmpty else { return }
    let mailbox = mailbox
    let read: @Sendable (any DownloadJournal) throws -> [JobRecord] = { try $0.jobs(ids) }
    journal.read(read) { mailbox.post(.control(.recordsRead(ids, $0))) }
  }

  func answered(_ ids: [JobID], _ result: Result<[JobRecord], any Error>) {
    let found = result.map { Dictionary($0.map { ($0.id, $0) }) { first, _ in first } }
    for (id, need) in reads.answered(ids) {
      switch found {
      case .success(let records): answered(id, need, records[id])
      case .failure(let error): failed(id, need, error)
      }
    }
    engine.needsSchedule = true
  }

  private func answered(_ id: JobID, _ need: JobReads.Need, _ record: JobRecord?) {
    if let since = need.withoutNetwork, since == network.offlineSince, let record { network.failWithoutNetwork(record) }
    for command in need.commands.commands { commands.perform(command, on: id, knowing: record) }
    let isUntouched = !commands.changes.isChanging(id) && engine.active[id] == nil
    if let entry = need.start, engine.scheduler.running[id] != nil, isUntouched {
      engine.start(entry, record, clock.boot)
    } else if let record, isUntouched, engine.scheduler.isWaiting(id) {
      reads.know(record)
    }
  }

  private func failed(_ id: JobID, _ need: JobReads.Need, _ error: any Error) {
    if need.withoutNetwork != nil { network.readAgainAt = clock.boot + CommandExecutor.journalDelay }
    if let entry = need.start {
      engine.scheduler.remove(id)
      commands.holdForJournal(entry, error)
    }
    for command in need.commands.commands { commands.deferCommand(command, on: id, error) }
  }
}
