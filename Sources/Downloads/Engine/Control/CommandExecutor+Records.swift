internal import AssetModel

/// What follows for jobs that aren't running when the journal was read for them, and which of them the journal is read for
/// because there is no network.
extension CommandExecutor {
  func recordsRead(_ ids: [JobID], _ result: Result<[JobRecord], any Error>) {
    let found = result.map { Dictionary($0.map { ($0.id, $0) }) { first, _ in first } }
    for (id, need) in records.reads.answered(ids) {
      switch found {
      case .success(let found): answer(id, need, found[id])
      case .failure(let error): failed(id, need, error)
      }
    }
    engine.needsSchedule = true
  }

  private func answer(_ id: JobID, _ need: JobReads.Need, _ record: JobRecord?) {
    if let since = need.withoutNetwork, since == network.offlineSince, let record { failWithoutNetwork(record) }
    for command in need.commands.commands { perform(command, on: id, knowing: record) }
    let isUntouched = !changes.isChanging(id) && engine.active[id] == nil
    if let entry = need.start, engine.scheduler.running[id] != nil, isUntouched {
      engine.start(entry, record, clock.boot)
    } else if let record, isUntouched, engine.scheduler.isWaiting(id) {
      records.reads.know(record)
    }
  }

  private func failed(_ id: JobID, _ need: JobReads.Need, _ error: any Error) {
    if need.withoutNetwork != nil { readAgainAt = clock.boot + Self.journalDelay }
    if let entry = need.start {
      engine.scheduler.remove(id)
      holdForJournal(entry, error)
    }
    for command in need.commands.commands { deferCommand(command, on: id, error) }
  }

  /// Fails downloads that waited for a network as long as their class may. What is verified needs none.
  func failWithoutNetwork(_ now: Duration) {
    connectivityDeadline = nil
    guard let offlineSince = network.offlineSince else { return }
    if let moment = readAgainAt, moment <= now { readAgainAt = nil }
    for (transferClass, timeout) in connectivityTimeouts {
      for (id, since) in engine.scheduler.waiting(in: transferClass) {
        let end = max(since, offlineSince) + timeout
        if end > now {
          connectivityDeadline = min(end, connectivityDeadline ?? end)
        } else if let record = decidedRecord(id) {
          failWithoutNetwork(record)
        } else if let readAgainAt {
          connectivityDeadline = min(readAgainAt, connectivityDeadline ?? readAgainAt)
        } else {
          records.reads.fail(id, withoutNetworkSince: offlineSince)
        }
      }
    }
  }

  private func failWithoutNetwork(_ record: JobRecord) {
    guard record.state == .open, engine.scheduler.isWaiting(record.id) else { return }
    let failure = TransferFailure(.offline, detail: "there is no network")
    var record = record
    record.state = .failed(failure)
    record.partial = nil
    handle(.begin(.update(PendingUpdate(record: record, disposition: .failed(failure)), removesFiles: true)))
  }

  private var connectivityTimeouts: [TransferClass: Duration] {
    guard let own = network.conditions.essentialTimeout else { return engine.options.connectivityTimeouts }
    return engine.options.connectivityTimeouts.merging([.essential: own]) { $1 }
  }
}
