package import AssetModel

/// When a failed attempt is followed by another.
package struct RetryPolicy: Sendable, Equatable {
  /// Attempts in a row without progress after which the job fails; nil: time alone ends it.
  package let attemptLimit: Int?
  let base: Duration
  let cap: Duration

  static let longestWithoutProgress: Duration = .seconds(14 * 24 * 3600)

  /// `attemptLimit`: in place of the class's own.
  package init(transferClass: TransferClass, appIdleForWeek: Bool, attemptLimit: Int? = nil) {
    let limit: Int?
    switch transferClass {
    case .foreground: (limit, base, cap) = (6, .seconds(1), .seconds(60))
    case .essential: (limit, base, cap) = (10, .seconds(1), .seconds(60))
    case .background, .prefetch: (limit, base, cap) = (nil, .seconds(30), .seconds(appIdleForWeek ? 5 * 3600 : 3600))
    }
    self.attemptLimit = attemptLimit ?? limit
  }

  /// `min(cap, base · 2ⁿ) · U(0.5, 1.5)`; `random` is in 0..<1.
  package func delay(fruitless: Int, random: Double) -> Duration {
    let doubled = fruitless >= 30 ? cap : min(cap, base * (1 << max(0, fruitless)))
    return doubled * (0.5 + (random.isFinite ? min(max(random, 0), 1) : 0.5))
  }

  /// At least 1 MiB, or 1 % of the file, beyond what was ever durable: fetching the same bytes again is no progress.
  static func isProgress(durable: Int64, highWater: Int64, total: Int64?) -> Bool {
    let (fresh, overflow) = durable.subtractingReportingOverflow(highWater)
    guard fresh > 0, !overflow else { return false }
    guard fresh < 1 << 20, let total else { return fresh >= 1 << 20 }
    return fresh >= total / 100 + (total % 100 > 0 ? 1 : 0)
  }
}
