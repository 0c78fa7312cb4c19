internal import AssetModel
internal import Foundation
internal import ServiceProtocol

/// How commands of the service say things.
enum ServiceWords {
  /// As the service writes times, and as others write them.
  static func date(_ text: String) -> Date? {
    (try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true)))
      ?? (try? Date(text, strategy: .iso8601))
  }

  /// For people, without fractions; what isn't a time stays as it is.
  static func time(_ text: String) -> String { date(text)?.formatted(.iso8601) ?? text }

  /// `3 d 4 h`, `2 h 10 min`, `5 min`, `12 s`: two units at most.
  static func duration(_ seconds: Double) -> String {
    guard seconds >= 1 else { return "0 s" }
    guard seconds < 1e11 else { return "years" }
    let whole = Int(seconds)
    let parts = [(whole / 86400, "d"), (whole / 3600 % 24, "h"), (whole / 60 % 60, "min"), (whole % 60, "s")]
    let first = parts.firstIndex { $0.0 > 0 } ?? 3
    return parts[first..<min(first + 2, 4)].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: " ")
  }

  /// `in 3 h`, `5 min ago`.
  static func relative(_ text: String?, now: Date = Date()) -> String {
    guard let text else { return "" }
    guard let date = date(text) else { return text }
    let distance = date.timeIntervalSince(now)
    return distance >= 0 ? "in \(duration(distance))" : "\(duration(-distance)) ago"
  }

  /// Rounded down: what isn't complete never looks so. What a service calls a fraction may be none.
  static func percent(_ fraction: Double) -> Int { fraction.isFinite ? Int(min(max(fraction, 0), 1) * 100) : 0 }

  static func size(_ bytes: Int64) -> String { FetchWords.size(max(0, bytes)) }

  static func progress(_ received: Int64, of total: Int64?) -> String {
    total.map { "\(size(received)) of \(size($0))" } ?? size(received)
  }

  static func state(_ app: AppSummary) -> String {
    app.isPaused ? "\(app.state.rawValue), paused" : app.state.rawValue
  }

  /// Why a download doesn't move: the code, what it is about, what ends it.
  static func waiting(_ waiting: DownloadSummary.Waiting) -> String {
    if waiting.code == "retrying" {
      let about = [waiting.data["attempt"], waiting.data["lastError"]].compactMap { $0 }.joined(separator: "; ")
      return "another attempt\(about.isEmpty ? "" : " (\(about))"): \(waiting.remedy)"
    }
    let data = waiting.data.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
    let about = data.isEmpty ? "" : " (\(data))"
    return "\(waiting.code)\(about)\(waiting.remedy.isEmpty ? "" : ": \(waiting.remedy)")"
  }

  static func note(_ download: DownloadSummary) -> String {
    if let failure = download.failure { return failure.description }
    return download.waiting.map(waiting) ?? ""
  }
}
