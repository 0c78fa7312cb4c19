/// When the journal forgets downloads that are over, and which: pure.
struct JournalBounds {
  /// Settled downloads of each app that are kept, so that their results can be asked for.
  static let keptPerApp = 1000
  /// Nanoseconds: older ones don't stay.
  static let longestAge: Int64 = 30 * 86_400_000_000_000
  /// It is looked at again after so many were settled, or so many nanoseconds.
  static let settlements = 500
  static let interval: Int64 = 86_400_000_000_000

  private var settled = 0
  private var lastLook: Int64?

  /// Counts a download that is over; `wall`: nanoseconds since 1970. Returns whether it is time to look.
  mutating func count(wall: Int64) -> Bool {
    settled += 1
    guard settled < Self.settlements, let lastLook, abs(wall - lastLook) < Self.interval else {
      (settled, self.lastLook) = (0, wall)
      return true
    }
    return false
  }
}
