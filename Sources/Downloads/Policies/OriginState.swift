internal import AssetModel
internal import LinuxSystem

/// What is known of one origin: its breaker, how long it wants to be left alone, whether it has ranges and how it is asked
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
  /// The address that files stay with which change from one to the other.
  var edge: String?
  /// How often it asked for calm (HTTP/2).
  private var calmings = 0
  /// Until then it has fewer connections at once.
  private var calmUntil: Duration?
  /// Never is a weaker scheme answered than one that was offered; a proxy has an entry of its own.
  var strongestOffered: Challenge.Strength?
  private var avoidsHTTP2Until: Duration?

  static let calmTime: Duration = .seconds(3600)
  /// For which it is remembered what an origin can't do.
  static let memory: Duration = .seconds(24 * 3600)

  var isRangeless: Bool { rangelessUntil != nil }
  var isCalmed: Bool { calmUntil != nil }
  /// HTTP/1.1 from the second time on that it asked for calm, and after a connection that broke.
  var avoidsHTTP2: Bool { calmings > 1 || avoidsHTTP2Until != nil }

  /// Nothing is known.
  var isBlank: Bool {
    retryAfter == nil && rangelessUntil == nil && rangeCondition == nil && edge == nil && calmings == 0
      && calmUntil == nil && strongestOffered == nil && avoidsHTTP2Until == nil && breaker.failures == 0
      && breaker.opensAt == nil
  }

  func asksToWait(now: Duration) -> Bool { retryAfter.map { $0 > now } ?? false }

  func isBlocked(now: Duration) -> Bool { asksToWait(now: now) || !breaker.permits(now: now) }

  /// When it may be asked again, as far as that is known.
  func opening(now: Duration) -> Duration { max(retryAfter ?? now, breaker.opensAt ?? now) }

  // MARK: What its answers tell. Each returns whether that is news for the journal.

  /// A shorter wait never replaces a longer one.
  mutating func leaveAlone(until: Duration, value: String) -> Bool {
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
  mutating func heeds(_ condition: RangeCondition, now: Duration) -> Bool {
    defer { (rangeCondition, rangeConditionUntil) = (condition, now + Self.memory) }
    return rangeCondition != condition
  }

  mutating func askedForCalm(now: Duration) {
    calmings += 1
    calmUntil = now + Self.calmTime
  }

  mutating func distrustHTTP2(now: Duration) { avoidsHTTP2Until = now + Self.memory }

  // MARK: Time

  /// The next moment at which something may start again.
  var nextOpening: Duration? { [retryAfter, breaker.nextChange, calmUntil].compactMap { $0 }.min() }

  struct Expiry {
    /// Something may start again.
    var opens = false
    /// It may have as many connections as others again.
    var endsCalm = false
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
    if let until = calmUntil, until <= now {
      calmUntil = nil
      expiry = Expiry(opens: true, endsCalm: true)
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
      guard let rest = wait?.remaining(at: moment), rest > 0 else { return nil }
      return now + .nanoseconds(rest)
    }
    if let until = end(record.retryAfter) { (retryAfter, retryAfterValue) = (until, record.retryAfterValue) }
    if let until = end(record.rangeless) { rangelessUntil = until }
    if let until = end(record.rangeConditionWait) {
      (rangeCondition, rangeConditionUntil) = (record.rangeCondition, until)
    }
  }
}
