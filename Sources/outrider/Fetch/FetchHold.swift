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
    var explanation = Explanation(code, data: data, remedy: remedy(code, data))
    explanation.since = max(0, Double(SystemClock().wall - event.wall) / 1e9)
    if let error = job.lastError { explanation.data["lastError"] = Printable.text(error) }
    return explanation
  }

  private static func remedy(_ code: Explanation.Code, _ data: [String: String]) -> String {
    let again = "run the same fetch again"
    guard code == .disk else { return "the same fetch, run again when \(condition(code, data))" }
    if data["inodes"] != nil { return "delete some files of that volume, however small, then \(again)" }
    func bytes(_ name: String) -> Int64 { data[name].flatMap { Int64($0) } ?? 0 }
    let floor = bytes("need").addingReportingOverflow(bytes("floor")).partialValue
    let missing = max(floor, bytes("backgroundFloor")) - max(0, bytes("free"))
    return "make \(missing > 0 ? "\(FetchWords.size(missing)) of " : "")room on that volume, then \(again)"
  }

  /// What has to be before the same fetch can go on.
  private static func condition(_ code: Explanation.Code, _ data: [String: String]) -> String {
    if data["journal"] != nil { return "the journal can be written again" }
    return switch code {
    case .volume: "the volume works again"
    case .lock: "\(data["holder"] ?? "the other process") has fetched the file, or has ended"
    case .retryAfter: "the time that the server asked for is over"
    case .originBackoff: "the server answers again"
    case .offline: "there is a network"
    case .captivePortal: "a person has logged in at the network's page"
    case .clockUnset: "the clock is right"
    case .metered: "the network isn't metered any more"
    case .powerSaver: "power saving has ended"
    case .battery: "the battery is charged"
    case .upgrading: "the upgrade is done"
    default: "that has ended"
    }
  }
}
