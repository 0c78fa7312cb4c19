internal import Basics

/// `Retry-After` (RFC 9110, 10.2.3).
enum RetryAfter {
  static let longest: Duration = .seconds(24 * 3600)

  /// A date counts against the answer's own `Date`; without one, past or garbage: nil.
  static func parse(_ value: String, responseDate: Int64?) -> Duration? {
    // A number too large for an integer still asks to wait: as long as is allowed.
    if Decimal.isDigits(value) { return Decimal.value(value).map { min(.seconds($0), longest) } ?? longest }
    guard let date = HTTPDate.seconds(value), let responseDate, date > responseDate else { return nil }
    let (seconds, overflow) = date.subtractingReportingOverflow(responseDate)
    return overflow ? longest : min(.seconds(seconds), longest)
  }

  static func wait(backoff: Duration, requested: Duration?) -> Duration {
    max(backoff, min(requested ?? .zero, longest))
  }
}
