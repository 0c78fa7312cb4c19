internal import AssetModel

/// What the journal reserved of an allowance, for a job that opens or already transfers.
extension JobOpening {
  func reserved(_ job: ActiveJob, _ result: Result<JournalWriter.Grant, any Error>) {
    switch result {
    case .success(.granted(let bytes)):
      job.allowance.extended(by: bytes)
      if job.machine.isDecided { return endings.continueStopping(job) }
      if job.machine.isOpening { return admit(job) }
      for segment in job.segments where segment.isWaitingForAllowance {
        segment.isWaitingForAllowance = false
        segment.stall.resumed(at: clock.boot)
        transport.resume(segment.transfer)
      }
    case .success(.missing(let bytes)):
      job.allowance.wasRefused()
      let budget = job.record.specification.budget ?? ""
      endings.stop(job, then: .hold(.allowance(budget: budget, missing: bytes), after: Self.allowanceDelay))
      endings.continueStopping(job)
    case .failure(let error):
      job.allowance.wasRefused()
      endings.journalFailed(job, error)
    }
  }

  /// A change of an allowance is announced (`allowancesChanged`); this is for one that isn't.
  private static let allowanceDelay: Duration = .seconds(600)
}
