internal import AssetModel

/// What the planner keeps of one app.
package struct WakeRecord: Sendable, Equatable, Codable {
  package internal(set) var version: String
  package internal(set) var installedAt: Instant
  package internal(set) var use = UseHistory()
  /// Processes of the app.
  package internal(set) var running = 0
  package internal(set) var runtime = Runtime()
  package internal(set) var quarantine: Quarantine?
  /// Of the last content request: callbacks are asked of the same extension.
  package internal(set) var manifestDigest = ""
  package internal(set) var lastRefusal: WakeRefusal?
  /// Callbacks whose run the host couldn't make aren't tried again before.
  var hostFailedUntil: Instant?
  /// A request was refused, and the end of that refusal hasn't been reported yet.
  var isReconsidered = true
  package internal(set) var lastWake: Instant?
  package internal(set) var nextPeriodic: Instant?
  /// Periodic requests since the last launch.
  package internal(set) var periodicSinceLaunch = 0
  /// Periodic requests in a row whose manifest couldn't be had.
  var failedPeriodics = 0
  /// Where in its interval this app's periodic wakes lie, 0..<1: a fleet spreads over it for good.
  var phase: Double
  /// The next periodic wake makes up for one that was missed.
  var isMakingUp = false

  /// Time inside entry points, a day at a time: a day begins with the first wake after the last one.
  package struct Runtime: Sendable, Equatable, Codable {
    package internal(set) var began: Instant?
    package internal(set) var charged: Duration = .zero
    /// Promised to runs that haven't ended: a crash of the service can't give it back.
    package internal(set) var reserved: Duration = .zero

    package static let period: Duration = .hours(24)

    package var renewsAt: Instant? { began.map { $0 + Self.period } }
    package var used: Duration { charged + reserved }

    mutating func renew(_ now: Instant) {
      guard let renewsAt, renewsAt <= now else { return }
      began = reserved > .zero ? now : nil
      charged = .zero
    }

    mutating func reserve(_ slice: Duration, _ now: Instant) {
      began = began ?? now
      reserved += slice
    }

    mutating func charge(_ used: Duration, ofReserved slice: Duration) {
      reserved = max(.zero, reserved - slice)
      charged += max(.zero, used)
    }
  }

  /// An extension that crashed, hung or broke its walls waits, longer each time, until its manifest or version changes.
  package struct Quarantine: Sendable, Equatable, Codable {
    package internal(set) var manifestDigest: String
    package internal(set) var failures: Int
    package internal(set) var reason: RunEnd
    package internal(set) var until: Instant

    static let base: Duration = .minutes(15)
    static let cap: Duration = .days(7)

    /// `base · 2ⁿ⁻¹ · U(0.75, 1.25)`, at most a week.
    static func delay(failures: Int, random: Double) -> Duration {
      let doubled = failures > 12 ? cap : min(cap, base * (1 << max(0, failures - 1)))
      return min(cap, doubled * (0.75 + random / 2))
    }
  }

  /// What a day's runtime is for an app that is used like this one (B22); `setting`: what the user or 6.3 says.
  func dailyRuntime(_ setting: Duration, now: Instant) -> Duration {
    if use.launches(inLast: 7, now: now) >= 14 { return setting * 3 / 2 }
    if use.launches(inLast: 7, now: now) > 0 || now - installedAt < .days(3) { return setting }
    return use.launches(inLast: UseHistory.days, now: now) > 0 ? setting / 2 : setting / 4
  }

  /// How far periodic wakes lie apart (B3, B22, B23); nil: there are none until the app is launched.
  func periodicInterval(now: Instant) -> Duration? {
    guard let last = use.lastLaunch else {
      return periodicSinceLaunch < 5 ? .days(1 << periodicSinceLaunch) : nil
    }
    if use.launches(inLast: 7, now: now) >= 7 { return .hours(12) }
    switch now - last {
    case ..<(.days(7)): return .hours(24)
    case ..<(.days(28)): return .days(3)
    case ..<(.days(90)): return .days(7)
    default: return .days(28)
    }
  }

  /// The next moment of this app's own rhythm that isn't too near. `setting`: an interval that the user has set.
  func nextSlot(after now: Instant, _ setting: Duration?) -> Instant? {
    guard let interval = (setting ?? periodicInterval(now: now))?.inNanoseconds else { return nil }
    let earliest = Nanoseconds.sum(now.nanoseconds, interval / 2)
    let offset = Int64(Double(interval) * phase)
    return Instant(
      nanoseconds: Nanoseconds.sum(earliest - ((earliest - offset) % interval + interval) % interval, interval))
  }
}
