internal import AssetModel

/// A circuit breaker per origin: many failures of several jobs open it, and then the origin isn't asked until one probe succeeds.
struct OriginBreaker: Sendable {
  static let failuresToOpen = 5
  static let jobsToOpen = 3

  private(set) var failures = 0
  /// Jobs that failed, as many of them as matter.
  private var jobs: Set<JobID> = []
  /// When the probe may be sent (boot time); nil while the breaker is closed and every job may ask.
  private(set) var probeAt: Duration?
  private var probe: JobID?
  private var isHalfOpen = false

  /// Whether another job may ask.
  func permits(now: Duration) -> Bool {
    guard let probeAt else { return true }
    return now >= probeAt && probe == nil
  }

  mutating func began(job: JobID, now: Duration) {
    if let probeAt, now >= probeAt, probe == nil { probe = job }
  }

  /// A job's activation ended, however.
  mutating func ended(job: JobID) { if probe == job { probe = nil } }

  /// Transfers that began before the breaker opened may fail after it; they never shorten the wait.
  mutating func failed(job: JobID, now: Duration, delay: Duration) {
    if failures < .max { failures += 1 }
    if jobs.count < Self.jobsToOpen { jobs.insert(job) }
    ended(job: job)
    if probeAt != nil || failures >= Self.failuresToOpen && jobs.count >= Self.jobsToOpen {
      probeAt = max(probeAt ?? now, now + delay)
      isHalfOpen = false
    }
  }

  /// Something changed that may have been the reason: the probe needn't wait any longer.
  mutating func probeNow(now: Duration) {
    guard let probeAt, probeAt > now else { return }
    self.probeAt = now
    isHalfOpen = false
  }

  mutating func succeeded() { self = OriginBreaker() }

  /// Once, when the time for a probe has come.
  mutating func becameHalfOpen(now: Duration) -> Bool {
    guard let probeAt, now >= probeAt, !isHalfOpen else { return false }
    isHalfOpen = true
    return true
  }

  /// The next moment at which something changes by itself.
  var nextChange: Duration? { isHalfOpen ? nil : probeAt }
}
