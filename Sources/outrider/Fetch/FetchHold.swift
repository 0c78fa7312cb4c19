internal import AssetModel
internal import AssetStore
internal import Downloads
internal import Foundation
internal import LinuxSystem

/// Why a download was left, as the journal's events keep it: its row knows only until when it waits.
enum FetchHold {
  private static let prefix = "left."

  /// nil: the row says it by itself.
  static func event(_ id: JobID, _ explanation: Explanation, at wall: Int64) -> StoredEvent? {
    switch explanation.code {
    case .queued, .paused, .retrying, .publication: return nil
    default: break
    }
    guard let data = try? JSONEncoder().encode(explanation.data) else { return nil }
    return StoredEvent(
      wall: wall, app: FetchPlan.app, job: id, kind: prefix + explanation.code.rawValue,
      detail: String(decoding: data, as: UTF8.self))
  }

  /// What an event says, unless the download did something since.
  static func explanation(_ event: StoredEvent?, of job: JobRecord, lastAttempt: Attempt?) -> Explanation? {
    guard let event, event.kind.hasPrefix(prefix), event.wall >= max(lastAttempt?.wall ?? 0, job.lastProgress.wall),
      let code = Explanation.Code(rawValue: String(event.kind.dropFirst(prefix.count))),
      let data = try? JSONDecoder().decode([String: String].self, from: Data(event.detail.utf8))
    else { return nil }
    var explanation = Explanation(code, data: data, remedy: "the same fetch, run again when that has ended")
    explanation.since = max(0, Double(SystemClock().wall - event.wall) / 1e9)
    if let error = job.lastError { explanation.data["lastError"] = Printable.text(error) }
    return explanation
  }
}
