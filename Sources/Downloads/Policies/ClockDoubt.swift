/// Whether a certificate that isn't valid yet says something of the certificate, or of this machine's clock.
package enum ClockDoubt: Sendable, Equatable {
  /// It is earlier than this program was written.
  case beforeRelease
  /// Nothing keeps it right.
  case notSynchronised

  /// Seconds since 1970 before which no clock is right: 2025-11-01, when this was written.
  static let release: Int64 = 1_761_955_200

  /// `wall`: seconds since 1970. nil: the clock is believed. A clock that is too late makes certificates expire, but then
  /// so does time; that is never waited for.
  init?(wall: Int64, isSynchronised: Bool, release: Int64 = Self.release) {
    if wall < release {
      self = .beforeRelease
    } else if !isSynchronised {
      self = .notSynchronised
    } else {
      return nil
    }
  }

  /// For `explain`: the doubt, and who says so.
  var data: [String: String] {
    switch self {
    case .beforeRelease: ["doubt": "it is earlier than this program", "source": "release date"]
    case .notSynchronised: ["doubt": "it isn't synchronised", "source": "adjtimex"]
    }
  }
}
