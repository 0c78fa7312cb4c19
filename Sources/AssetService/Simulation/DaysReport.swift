internal import Foundation

/// What became of one machine in many days.
package struct DaysReport: Sendable, Codable {
  package struct Entry: Sendable, Codable {
    /// ISO 8601, in UTC; the simulated time begins with 2026.
    package var at: String
    package var app: String?
    package var event: String
    package var detail: String
  }

  package struct App: Sendable, Codable {
    package var identifier: String
    package var launchesPerDay: Double
    package var version: Int
    package var wakes = 0
    package var refusals = 0
    package var crashes = 0
    package var launches = 0
    package var runtimeSeconds = 0.0
    /// The longest that its gate was closed, sleep of the machine included.
    package var longestGateSeconds = 0.0
    package var scheduled = 0
    package var delivered = 0
    package var left = 0
    package var undelivered = 0
    package var failuresTold = 0
    /// Not settled or not told yet at the end.
    package var open = 0
  }

  package var days: Int
  package var seed: UInt64
  package var apps: [App] = []
  package var events = 0
  package var wakes = 0
  package var refusals: [String: Int] = [:]
  package var serviceRestarts = 0
  package var hoursAsleep = 0.0
  package var hoursOffline = 0.0
  package var hoursWithFullDisk = 0.0
  package var transfersBegun = 0
  package var transfersRetried = 0
  /// Wakes of the most and of the least woken app among those that are used alike: at most this far apart.
  package var fairnessSpread = 0.0
  /// What must never happen, and did.
  package var violations: [String] = []
  package var timeline: [Entry] = []

  /// Bounded, as is what a broken machine could say.
  static let maxViolations = 100
  static let maxTimeline = 100_000

  static func text(of seconds: Double) -> String {
    Date(timeIntervalSince1970: 1_767_225_600 + seconds.rounded(.down)).formatted(.iso8601)
  }
}
