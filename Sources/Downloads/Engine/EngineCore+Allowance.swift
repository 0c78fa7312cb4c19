internal import AssetModel

/// Allowances in flight: the charge runs with the bytes, and a job that needs more than it reserved reserves again first.
extension EngineCore {
  /// The least that is reserved at once during a transfer, so that the journal isn't asked for every packet.
  private static let step: Int64 = 1 << 20

  /// Whether so many bytes may arrive. Otherwise more is being asked for, and the transfers wait.
  func mayReceive(_ bytes: Int64, _ job: ActiveJob) -> Bool {
    guard let left = job.allowance, left < bytes else { return true }
    extend(job, by: bytes - left)
    return false
  }

  /// Reserves what is missing before a request is sent. Whether that is so already; if not, `admit` goes on later.
  func isAllowed(_ need: Int64?, _ job: ActiveJob) -> Bool {
    guard let left = job.allowance else { return true }
    let wanted = max(1, need ?? 1)
    if left >= wanted { return true }
    extend(job, by: wanted - left)
    return false
  }

  private func extend(_ job: ActiveJob, by missing: Int64) {
    guard !job.isExtending else { return }
    job.isExtending = true
    let rest = job.total.map { max(0, $0 - job.arrivedBytes) - max(0, job.allowance ?? 0) } ?? 0
    let (id, run, mailbox) = (job.id, job.run, mailbox)
    journal.reserve(atLeast: missing, upTo: max(missing, min(Self.step, max(rest, missing))), for: id) { result in
      mailbox.post { core in
        guard let job = core.job(id, run) else { return }
        core.extended(job, result)
      }
    }
  }

  private func extended(_ job: ActiveJob, _ result: Result<JournalWriter.Grant, any Error>) {
    job.isExtending = false
    switch result {
    case .success(.granted(let bytes)):
      job.allowance = (job.allowance ?? 0) + bytes
      if job.next != nil { return continueSettling(job) }
      if job.phase == .opening { return admit(job) }
      for segment in job.segments where segment.isWaitingForAllowance {
        segment.isWaitingForAllowance = false
        segment.stall.resumed(at: clock.boot)
        transport.resume(segment.transfer)
      }
    case .success(.missing(let bytes)):
      let budget = job.record.specification.budget ?? ""
      settle(job, .hold(.allowance(budget: budget, missing: bytes), Self.allowanceDelay))
      continueSettling(job)
    case .failure(let error): journalFailed(job, error)
    }
  }

  /// An allowance changes by someone's act, who says so; this is for those who forget it.
  private static let allowanceDelay: Duration = .seconds(600)

  func allowancesChanged() {
    for (id, hold) in holds {
      if case .allowance = hold.reason { release(id) }
    }
  }
}
