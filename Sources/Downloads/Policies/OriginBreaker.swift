internal import AssetModel

/// A circuit breaker per origin: many failures of several jobs close the road, one probe opens it again.
struct OriginBreaker: Sendable {
  static let failuresToOpen = 5
  static let jobsToOpen = 3

  private(set) var failures = 0
  /// Jobs that failed, as many of them as matter.
  private var jobs: Set<JobID> = []
  /// Boot time of the probe; nil while the road is free.
  private(set) var opensAt: Duration?
  private var probe: JobID?
  private var isHalfOpen = false

  /// Whether another job may ask.
  func permits(now: Duration) -> Bool {
    guard let opensAt else { return true }
    return now >= opensAt && probe == nil
  }

  mutating func began(job: JobID, now: Duration) {
    if let opensAt, now >= opensAt, probe == nil { probe = job }
  }

  /// A job's activation ended, however.
  mutating func ended(job: JobID) { if probe == job { probe = nil } }

  /// Transfers from before may fail after the road was closed; they never shorten the wait.
  mutating func failed(job: JobID, now: Duration, delay: Duration) {
    if failures < .max { failures += 1 }
    if jobs.count < Self.jobsToOpen { jobs.insert(job) }
    ended(job: job)
    if opensAt != nil || failures >= Self.failuresToOpen && jobs.count >= Self.jobsToOpen {
      opensAt = max(opensAt ?? now, now + delay)
      isHalfOpen = false
    }
  }

  /// Something changed that may have been the reason: the probe needn't wait any longer.
  mutating func hurry(now: Duration) {
    guard let opensAt, opensAt > now else { return }
    self.opensAt = now
    isHalfOpen = false
  }

  mutating func succeeded() { self = OriginBreaker() }

  /// Once, when the time for a probe has come.
  mutating func becameHalfOpen(now: Duration) -> Bool {
    guard let opensAt, now >= opensAt, !isHalfOpen else { return false }
    isHalfOpen = true
    return true
  }

  /// The next moment at which something changes by itself.
  var nextChange: Duration? { isHalfOpen ? nil : opensAt }
}
