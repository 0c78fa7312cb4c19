internal import AssetModel

/// Downloads whose access expired while their files were on their way, and that wait for another request of the same
/// identifier from their extension.
///
/// Kept in memory only: the engine's journal still has such a download as failed, so a service that starts finds it there
/// and asks again.
struct FreshAnswers {
  private struct Request {
    /// On the clock of boot time.
    var deadline: Duration
    /// What the download is told to have failed with when no answer comes.
    var failure: TransferFailure
  }

  /// By app and unique identifier.
  private var waiting: [String: [String: Request]] = [:]

  /// Returns whether it waits from now on; otherwise it waits already, as long as it was to.
  mutating func insert(
    _ unique: String, of app: String, _ failure: TransferFailure, until deadline: Duration
  ) -> Bool {
    guard waiting[app]?[unique] == nil else { return false }
    waiting[app, default: [:]][unique] = Request(deadline: deadline, failure: failure)
    return true
  }

  /// The earliest; nil: none waits.
  var nextDeadline: Duration? { waiting.values.lazy.flatMap(\.values).map(\.deadline).min() }

  func uniqueIdentifiers(of app: String) -> [String] { (waiting[app] ?? [:]).keys.sorted() }

  mutating func remove(_ unique: String, of app: String) {
    waiting[app]?[unique] = nil
    if waiting[app]?.isEmpty == true { waiting[app] = nil }
  }

  /// Those whose time is over, which wait no more.
  mutating func takeOverdue(at now: Duration) -> [(app: String, unique: String, failure: TransferFailure)] {
    let overdue = waiting.flatMap { app, requests in
      requests.filter { $0.value.deadline <= now }.map { (app: app, unique: $0.key, request: $0.value) }
    }
    for one in overdue { remove(one.unique, of: one.app) }
    return overdue.sorted { ($0.request.deadline, $0.app, $0.unique) < ($1.request.deadline, $1.app, $1.unique) }
      .map { ($0.app, $0.unique, $0.request.failure) }
  }

  mutating func takeAll(of app: String) -> [(unique: String, failure: TransferFailure)] {
    (waiting.removeValue(forKey: app) ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value.failure) }
  }
}
