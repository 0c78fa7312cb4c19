internal import AssetModel

/// Downloads whose access expired while their files were on their way, and that wait for another request of the same
/// identifier from their extension.
///
/// Kept in memory only: the engine's journal still has such a download as failed, so a service that starts finds it there
/// and asks again.
struct FreshAnswers {
  /// What each is told to have failed with when no answer comes, by app and unique identifier.
  private var waiting: [String: [String: TransferFailure]] = [:]

  /// Whether it wasn't waiting yet.
  mutating func insert(_ unique: String, of app: String, _ failure: TransferFailure) -> Bool {
    waiting[app, default: [:]].updateValue(failure, forKey: unique) == nil
  }

  func uniqueIdentifiers(of app: String) -> [String] { (waiting[app] ?? [:]).keys.sorted() }

  mutating func remove(_ unique: String, of app: String) {
    waiting[app]?[unique] = nil
    if waiting[app]?.isEmpty == true { waiting[app] = nil }
  }

  mutating func takeAll(of app: String) -> [(unique: String, failure: TransferFailure)] {
    (waiting.removeValue(forKey: app) ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
  }
}
