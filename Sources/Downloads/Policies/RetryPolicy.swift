internal import AssetModel
internal import LinuxSystem

/// What went wrong with an attempt, as far as the next one is concerned.
enum TransferProblem: Sendable, Equatable, CustomStringConvertible {
  case resolve(String), connect(String), tls(String), reset(String), proxy(String)
  case truncated, stalled, headTimeout
  case http2(enhanceYourCalm: Bool)
  case status(Int)
  case protocolFault(String)

  enum Classification: Equatable {
    case transient
    case permanent(TransferFailure.Reason)
    /// A file that isn't there yet: publication takes time.
    case publication
    /// Nobody's failure that counts against the job.
    case notAnAttempt
  }

  var classification: Classification {
    switch self {
    case .proxy: .notAnAttempt
    case .status(404): .publication
    case .status(408), .status(429), .status(500...599): .transient
    case .status(401), .status(403), .status(407): .permanent(.challenge)
    case .status(410), .status(451): .permanent(.gone)
    case .status: .permanent(.refused)
    case .resolve, .connect, .tls, .reset, .truncated, .stalled, .headTimeout, .http2, .protocolFault: .transient
    }
  }

  var status: Int? { if case .status(let status) = self { status } else { nil } }

  var description: String {
    switch self {
    case .resolve(let text), .connect(let text), .tls(let text), .reset(let text), .proxy(let text): text
    case .truncated: "the connection ended before the file did"
    case .stalled: "next to nothing arrived for too long"
    case .headTimeout: "the server didn't answer in time"
    case .http2(let calm): calm ? "the server asked for fewer requests (HTTP/2)" : "HTTP/2 failed"
    case .status(let status): "the server answered \(status)"
    case .protocolFault(let text): text
    }
  }
}

/// When a failed attempt is followed by another.
struct RetryPolicy: Sendable {
  /// Attempts in a row without progress after which the job fails; nil: time alone ends it.
  let attemptLimit: Int?
  let base: Duration
  let cap: Duration

  static let longestWithoutProgress: Duration = .seconds(14 * 24 * 3600)

  init(transferClass: TransferClass, appIdleForWeek: Bool) {
    switch transferClass {
    case .foreground: (attemptLimit, base, cap) = (6, .seconds(1), .seconds(60))
    case .essential: (attemptLimit, base, cap) = (10, .seconds(1), .seconds(60))
    case .visible, .prefetch: (attemptLimit, base, cap) = (nil, .seconds(30), .seconds(appIdleForWeek ? 5 * 3600 : 3600))
    }
  }

  /// `min(cap, base · 2ⁿ) · U(0.5, 1.5)`; `random` is in 0..<1.
  func delay(fruitless: Int, random: Double) -> Duration {
    let doubled = fruitless >= 30 ? cap : min(cap, base * (1 << max(0, fruitless)))
    return doubled * (0.5 + min(max(random, 0), 1))
  }

  /// At least 1 MiB, or 1 % of the file, beyond what was ever durable: fetching the same bytes again is no progress.
  static func isProgress(durable: Int64, highWater: Int64, total: Int64?) -> Bool {
    let fresh = durable - highWater
    guard fresh > 0 else { return false }
    return fresh >= 1 << 20 || total.map { fresh >= max(1, $0 / 100) } ?? false
  }
}

/// `Retry-After` (RFC 9110, 10.2.3).
enum RetryAfter {
  static let longest: Duration = .seconds(24 * 3600)

  /// A date counts against the answer's own `Date`; without one, past or garbage: nil.
  static func parse(_ value: String, responseDate: Int64?) -> Duration? {
    if let seconds = Decimal.value(value) { return min(.seconds(min(seconds, 1 << 40)), longest) }
    if value.utf8.count > 19, value.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) { return longest }
    guard let date = HTTPDate.seconds(value), let responseDate, date > responseDate else { return nil }
    return min(.seconds(date - responseDate), longest)
  }

  static func wait(own: Duration, asked: Duration?) -> Duration { max(own, min(asked ?? .zero, longest)) }
}
