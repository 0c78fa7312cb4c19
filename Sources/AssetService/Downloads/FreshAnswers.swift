internal import AssetModel

/// Downloads whose access expired while their files were on their way, and that wait for another request of the same
/// identifier from their extension.
///
/// Kept in memory only: the engine's journal still has such a download as failed, so a service that starts finds it there
/// and asks again.
struct FreshAnswers {
  private struct Request {
    var number: UInt64
    /// What the download is told to have failed with when no answer comes.
    var failure: TransferFailure
  }

  /// By app and unique identifier.
  private var waiting: [String: [String: Request]] = [:]
  private var lastNumber: UInt64 = 0

  /// The number of the request that it waits for from now on; nil: it waits already.
  mutating func insert(_ unique: String, of app: String, _ failure: TransferFailure) -> UInt64? {
    guard waiting[app]?[unique] == nil else { return nil }
    lastNumber += 1
    waiting[app, default: [:]][unique] = Request(number: lastNumber, failure: failure)
    return lastNumber
  }

  func uniqueIdentifiers(of app: String) -> [String] { (waiting[app] ?? [:]).keys.sorted() }

  mutating func remove(_ unique: String, of app: String) {
    waiting[app]?[unique] = nil
    if waiting[app]?.isEmpty == true { waiting[app] = nil }
  }

  /// What a download failed with that waits for this request, and waits no more; nil: it was answered, or waits for a later one.
  mutating func take(_ unique: String, of app: String, number: UInt64) -> TransferFailure? {
    guard let request = waiting[app]?[unique], request.number == number else { return nil }
    remove(unique, of: app)
    return request.failure
  }

  mutating func takeAll(of app: String) -> [(unique: String, failure: TransferFailure)] {
    (waiting.removeValue(forKey: app) ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value.failure) }
  }
}
