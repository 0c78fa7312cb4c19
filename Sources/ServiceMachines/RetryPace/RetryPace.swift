/// When a download of an extension's begins that has failed under the same identifier before (B13, B47).
///
/// An extension that schedules what has failed as soon as it is told would ask its server as fast as that can answer. The first
/// time it gets its way at once; after that the attempts are further and further apart. What an app schedules isn't held back:
/// its user sees what it does.
package struct RetryPace: Sendable, Equatable, Codable {
  package enum Event: Sendable, Equatable, Codable {
    /// The extension has scheduled it. Answered by `start`, at once or later.
    case scheduled(uniqueIdentifier: String, identifier: String)
    /// It is to begin now, whatever was before: a user waits for it.
    case hurried(uniqueIdentifier: String)
    case failed(uniqueIdentifier: String, identifier: String)
    case finished(uniqueIdentifier: String, identifier: String)
    /// It is no longer wanted.
    case withdrawn(uniqueIdentifier: String)
    case tick
  }

  package enum Effect: Sendable, Equatable, Codable {
    case start(uniqueIdentifier: String)
  }

  struct Failures: Sendable, Equatable, Codable {
    var count: Int
    var last: Instant
  }

  /// Identifiers whose failures are remembered, those that failed last: an app may have 100,000 downloads.
  static let maxIdentifiers = 1024
  /// After so long without a failure an identifier begins anew.
  static let memory: Duration = .hours(24)
  static let base: Duration = .seconds(10)
  static let cap: Duration = .hours(1)

  private var failures: [String: Failures] = [:]
  /// When those begin that wait, by unique identifier.
  private var waiting: [String: Instant] = [:]
  /// When `tick` has something to do.
  package private(set) var nextDeadline: Instant?

  package init() {}

  var rememberedCount: Int { failures.count }

  /// Until when a download is held back; nil: it isn't.
  package func start(of uniqueIdentifier: String) -> Instant? { waiting[uniqueIdentifier] }

  package mutating func handle(_ event: Event, now: Instant) -> [Effect] {
    switch event {
    case .scheduled(let unique, let identifier):
      guard let former = failures[identifier], former.last + Self.delay(after: former.count) > now else {
        return [.start(uniqueIdentifier: unique)]
      }
      waiting[unique] = former.last + Self.delay(after: former.count)
      setDeadline()
    case .hurried(let unique): return take([unique])
    case .failed(let unique, let identifier):
      _ = take([unique])
      failed(identifier, now)
    case .finished(let unique, let identifier):
      _ = take([unique])
      failures[identifier] = nil
    case .withdrawn(let unique): _ = take([unique])
    case .tick: return take(waiting.filter { $0.value <= now }.keys.sorted())
    }
    return []
  }

  /// Nothing, and then 10 s, 20 s and so on up to an hour.
  static func delay(after failures: Int) -> Duration {
    failures < 2 ? .zero : failures > 12 ? cap : min(cap, base * (1 << (failures - 2)))
  }

  private mutating func failed(_ identifier: String, _ now: Instant) {
    let former = failures[identifier].map { $0.last + Self.memory > now ? $0.count : 0 } ?? 0
    if former == 0, failures.count >= Self.maxIdentifiers,
      let oldest = failures.min(by: { ($0.value.last, $0.key) < ($1.value.last, $1.key) })
    {
      failures[oldest.key] = nil
    }
    failures[identifier] = Failures(count: min(former + 1, 1000), last: now)
  }

  private mutating func take(_ uniques: [String]) -> [Effect] {
    let taken = uniques.filter { waiting.removeValue(forKey: $0) != nil }
    if !taken.isEmpty { setDeadline() }
    return taken.map { .start(uniqueIdentifier: $0) }
  }

  private mutating func setDeadline() { nextDeadline = waiting.values.min() }
}
