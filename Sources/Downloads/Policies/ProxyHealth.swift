internal import AssetModel

/// How a proxy does. Its failures are no origin's, and count until it lets an answer through.
struct ProxyHealth {
  /// In a row, of all jobs. The wait before the proxy is asked again grows with them.
  private(set) var failures = 0
  private var failuresByJob: [JobID: Int] = [:]

  /// Returns how many of the job's requests it has failed in a row.
  mutating func failed(_ job: JobID) -> Int {
    failures = min(failures + 1, 64)
    failuresByJob[job, default: 0] += 1
    return failuresByJob[job, default: 0]
  }

  /// The job is over.
  mutating func forget(_ job: JobID) { failuresByJob[job] = nil }

  mutating func answered() { if failures > 0 { self = Self() } }
}
