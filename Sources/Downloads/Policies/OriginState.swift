internal import AssetModel
internal import LinuxSystem

/// What is known of one origin: its breaker, its `Retry-After`, whether it has ranges and how it is asked
/// for them, and whether its HTTP/2 is used. Times are boot time. A pure value.
struct OriginState {
  var breaker = OriginBreaker()
  /// Before it nothing is asked (`Retry-After`), and how the server said so.
  private(set) var retryAfter: Duration?
  private(set) var retryAfterValue: String?
  private var rangelessUntil: Duration?
  /// How it has to be asked for ranges, where not by `If-Range`.
  private(set) var rangeCondition: RangeCondition?
  private var rangeConditionUntil: Duration?
  /// The address from which a file is fetched whose bytes differ between addresses.
  var edge: String?
  /// How often it asked for fewer requests (ENHANCE_YOUR_CALM of HTTP/2).
  private var reductions = 0
  /// Until then it has fewer connections at once.
  private var reducedUntil: Duration?
  /// Never is a weaker scheme answered than one that was offered; a proxy has an entry of its own.
  var strongestOffered: Challenge.Strength?
  private var avoidsHTTP2Until: Duration?

  static let reductionTime: Duration = .seconds(3600)
  /// For which it is remembered what an origin can't do.
  static let memory: Duration = .seconds(24 * 3600)

  var isRangeless: Bool { rangelessUntil != nil }
  var hasReducedConcurrency: Bool { reducedUntil != nil }
  /// HTTP/1.1 from the second time on that it asked for fewer requests, and after a connection that broke.
  var avoidsHTTP2: Bool { reductions > 1 || avoidsHTTP2Until != nil }

  /// Nothing is known.
  var isBlank: Bool {
    retryAfter == nil && rangelessUntil == nil && rangeCondition == nil && edge == nil && reductions == 0
      && reducedUntil == nil && strongestOffered == nil && avoidsHTTP2Until == nil && breaker.failures == 0
      && breaker.probeAt == nil
  }

  func asksToWait(now: Duration) -> Bool { retryAfter.map { $0 > now } ?? false }

  func isBlocked(now: Duration) -> Bool { asksToWait(now: now) || !breaker.permits(now: now) }

  /// When it may be asked again, as far as that is known.
  func opening(now: Duration) -> Duration { max(retryAfter ?? now, breaker.probeAt ?? now) }

  // MARK: What its answers tell. Each returns whether that is news for the journal.

  /// A shorter wait never replaces a longer one.
  mutating func setRetryAfter(until: Duration, value: String) -> Bool {
    guard retryAfter.map({ $0 < until }) ?? true else { return false }
    retryAfter = until
    retryAfterValue = Printable.text(value, limit: 40)
    return true
  }

  mutating func hasNoRanges(now: Duration) -> Bool {
    defer { rangelessUntil = now + Self.memory }
    return rangelessUntil == nil
  }

  /// The condition that brought a range, where it drops ranges under another one.
  mutating func honours(_ condition: RangeCondition, now: Duration) -> Bool {
    defer { (rangeCondition, rangeConditionUntil) = (condition, now + Self.memory) }
    return rangeCondition != condition
  }

  mutating func reduceConcurrency(now: Duration) {
    reductions += 1
    reducedUntil = now + Self.reductionTime
  }

  mutating func distrustHTTP2(now: Duration) { avoidsHTTP2Until = now + Self.memory }

  // MARK: Time

  /// The next moment at which something may start again.
  var nextOpening: Duration? { [retryAfter, breaker.nextChange, reducedUntil].compactMap { $0 }.min() }

  struct Expiry {
    /// Something may start again.
    var opens = false
    /// It may have as many connections as others again.
    var endsReduction = false
  }

  mutating func expire(_ now: Duration) -> Expiry {
    var expiry = Expiry()
    if let until = retryAfter, until <= now {
      (retryAfter, retryAfterValue) = (nil, nil)
      expiry.opens = true
    }
    if let until = rangelessUntil, until <= now { rangelessUntil = nil }
    if let until = rangeConditionUntil, until <= now { (rangeCondition, rangeConditionUntil) = (nil, nil) }
    if let until = avoidsHTTP2Until, until <= now { avoidsHTTP2Until = nil }
    if let until = reducedUntil, until <= now {
      reducedUntil = nil
      expiry = Expiry(opens: true, endsReduction: true)
    }
    if breaker.becameHalfOpen(now: now) { expiry.opens = true }
    return expiry
  }

  // MARK: The journal

  /// What another run has to know. `moment` is `now`, as it is kept on disk.
  func record(of origin: String, now: Duration, moment: StoredMoment) -> OriginRecord {
    func wait(_ until: Duration?) -> StoredWait? {
      until.map { StoredWait(since: moment, length: ($0 - now).inNanoseconds) }
    }
    return OriginRecord(
      origin: origin, rangeless: wait(rangelessUntil), retryAfter: wait(retryAfter), retryAfterValue: retryAfterValue,
      rangeCondition: rangeCondition, rangeConditionWait: wait(rangeConditionUntil))
  }

  mutating func restore(_ record: OriginRecord, now: Duration, moment: StoredMoment) {
    func end(_ wait: StoredWait?) -> Duration? {
      guard let remaining = wait?.remaining(at: moment), remaining > 0 else { return nil }
      return now + .nanoseconds(remaining)
    }
    if let until = end(record.retryAfter) { (retryAfter, retryAfterValue) = (until, record.retryAfterValue) }
    if let until = end(record.rangeless) { rangelessUntil = until }
    if let until = end(record.rangeConditionWait) {
      (rangeCondition, rangeConditionUntil) = (record.rangeCondition, until)
    }
  }
}
