internal import AssetModel

/// Allowances in flight: a job that needs more than it reserved reserves again first.
extension RoomKeeper {
  /// Whether so many bytes may arrive. Otherwise more is being asked for, and the transfers wait.
  func mayReceive(_ bytes: Int64, _ job: ActiveJob) -> Bool {
    guard let missing = job.allowance.missing(for: bytes) else { return true }
    extend(job, by: missing)
    return false
  }

  /// Reserves what is missing before a request is sent. Whether that is so already; if not, `admit` goes on later.
  func isAllowed(_ need: Int64?, _ job: ActiveJob) -> Bool { mayReceive(max(1, need ?? 1), job) }

  func extend(_ job: ActiveJob, by missing: Int64) {
    let remaining = job.total.map { max(0, $0 - job.arrivedBytes) }
    guard let (least, most) = job.allowance.extend(by: missing, remaining: remaining) else { return }
    let (activation, mailbox) = (job.activation, mailbox)
    journal.reserve(atLeast: least, upTo: most, for: job.id) { mailbox.post(.job(activation, .reserved($0))) }
  }

  /// What waits for another one gains nothing: it would ask the journal, and its server, in vain.
  func allowancesChanged(of changed: String?) {
    for (id, hold) in engine.holds {
      if case .allowance(let budget, _) = hold.reason, changed == nil || changed == budget { engine.release(id) }
    }
  }
}
