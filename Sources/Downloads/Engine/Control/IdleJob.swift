internal import AssetModel
internal import LinuxSystem

/// A job without an activation, and what a command means for it. A pure value.
struct IdleJob {
  enum Step: Equatable {
    case nothing
    case change(JobChanges.Change)
    /// What there is of a download that ended.
    case removeLeftover
    /// Back to the queue, and the journal needn't know.
    case enqueue
    /// Another job is added, and this one stays as it is.
    case add(Supersession)
  }

  /// As the journal has it, or as it was decided last.
  var record: JobRecord
  /// What it waits for.
  var hold: Hold?
  /// What the journal couldn't take of it.
  var update: PendingUpdate?

  func step(for command: JobCommand, now: StoredMoment, boot: Duration) -> Step {
    switch command {
    case .pause: record.state == .open ? change(to: .paused, .paused) : .nothing
    case .resume: resume(now, boot)
    case .cancel: cancel
    case .setClass(let transferClass): setClass(transferClass)
    case .supersede(let supersession): supersede(supersession)
    }
  }

  private func change(to state: JobState, _ disposition: Disposition) -> Step {
    var record = record
    record.state = state
    return .change(.update(PendingUpdate(record: record, disposition: disposition), removesFiles: false))
  }

  private func resume(_ now: StoredMoment, _ boot: Duration) -> Step {
    if record.state.isTerminal { return .nothing }
    if record.state == .verified { return .enqueue }
    var job = self
    if let hold { job.record.forgiveWaiting(max(.zero, boot - hold.since).inNanoseconds, now: now) }
    return job.change(to: .open, .queued(reportsBlock: true))
  }

  private var cancel: Step {
    if record.state.isTerminal { return record.leftover != nil ? .removeLeftover : .nothing }
    return .change(record.state == .verified ? .cancelUnlessNamed(record) : .cancellation(of: record))
  }

  private func setClass(_ transferClass: TransferClass) -> Step {
    guard !record.state.isTerminal, record.state != .verified, record.transferClass != transferClass else {
      return .nothing
    }
    var job = self
    job.record.transferClass = transferClass
    // After what comes first.
    if let update { return job.change(to: record.state, update.disposition) }
    let hold = hold.flatMap { $0.reason.isOfJournal ? nil : $0 }
    // A person waits for a foreground download: its waits end, but for those that a server asked for.
    return job.change(
      to: record.state,
      .reclassified(isUrgent: transferClass == .foreground, hold: hold?.reason, until: hold?.until))
  }

  private func supersede(_ supersession: Supersession) -> Step {
    guard !record.state.isTerminal, record.state != .verified else { return .add(supersession) }
    return .change(
      .supersede(
        JobChanges.Replacement(
          record: record, supersession: supersession,
          inherited: record.partial(for: supersession.specification, isRenewed: supersession.isRenewed),
          formerUpdate: update)))
  }
}
