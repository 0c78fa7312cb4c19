internal import Basics

/// `Retry-After` (RFC 9110, 10.2.3).
enum RetryAfter {
  static let longest: Duration = .seconds(24 * 3600)

  /// A date counts against the answer's own `Date`, or, where it has none, against this machine's (`wall`). Past or garbage: nil.
  static func parse(_ value: String, responseDate: Int64?, wall: Int64) -> Duration? {
    // A number too large for an integer still asks to wait: as long as is allowed.
    if DecimalText.isDigits(value) { return DecimalText.value(value).map { min(.seconds($0), longest) } ?? longest }
    let now = responseDate ?? wall
    guard let date = HTTPDate.seconds(value), date > now else { return nil }
    let (seconds, overflow) = date.subtractingReportingOverflow(now)
    return overflow ? longest : min(.seconds(seconds), longest)
  }

  static func wait(backoff: Duration, requested: Duration?) -> Duration {
    max(backoff, min(requested ?? .zero, longest))
  }
}
