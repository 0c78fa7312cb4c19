internal import AssetModel
internal import Foundation
internal import ServiceMachines
internal import ServiceProtocol

/// What extensions answer to content requests.
extension AssetService {
  /// Of one answer; the rest is counted in the log.
  private static let maxRejected = 1000

  func answered(_ app: String, _ number: Int64, _ verdict: DownloadRules.Verdict) {
    var accepted: [PlannedDownload] = []
    var renewed = 0
    for download in verdict.accepted {
      var value = DownloadValue(download)
      value.applicationGroupIdentifier = shared.names.shared(value.applicationGroupIdentifier)
      if takeFreshAnswer(value, of: app) {
        renewed += 1
        continue
      }
      value.uniqueIdentifier = unused(value.uniqueIdentifier, of: app)
      downloads[app, default: [:]][value.uniqueIdentifier] = ScheduledDownload(value: value)
      accepted.append(value.planned)
    }
    for download in verdict.rejectedDownloads.prefix(Self.maxRejected) {
      rejected[app, default: [:]][download.identifier] = DownloadValue(download)
    }
    let told = Array(verdict.rejected.prefix(Self.maxRejected))
    runs[number]?.summary.downloads = .init(
      accepted: accepted.count + renewed,
      rejected: told.map {
        .init(identifier: Printable.text($0.identifier), code: Int($0.code), reason: $0.reason)
      })
    if verdict.rejected.count > told.count {
      runs[number]?.summary.downloads.furtherRejected = verdict.rejected.count - told.count
      log(
        app, "rejected",
        "run \(number): \(verdict.rejected.count) downloads; the extension is told of the first \(told.count)")
    }
    // Without a gate the run goes on to its callbacks, beginning with those of what was rejected just now.
    if core.apps[app]?.lifecycle.gate.isClosed == false {
      runs[number]?.isReady = true
      process(.app(app, .router(.extensionReady(run: number))))
    }
    process(.app(app, .answered(run: number, accepted: accepted, rejected: told)))
    rejected[app] = nil
    giveUpFreshAnswers(of: app)
  }

  /// Rejected downloads get names, and the extension is told of each.
  func stage(_ app: String, _ all: [RejectedDownload]) -> [CoreEvent] {
    // What the machines took on, or have refused by name, isn't meant.
    let machines = core.apps[app]
    var unplanned: [String: DownloadValue] = [:]
    for (unique, download) in downloads[app] ?? [:]
    where download.entry == nil && machines?.registry.entries[unique] == nil
      && machines?.failed.contains(unique) != true && machines?.ledger.entries[unique] == nil
    {
      unplanned[download.value.identifier] = download.value
    }
    report(all, of: app)
    return all.map { one in
      var value: DownloadValue
      if let download = rejected[app]?.removeValue(forKey: one.identifier) {
        value = download
        value.uniqueIdentifier = unused(value.uniqueIdentifier, of: app)
      } else {
        // It was given a name when it was accepted.
        value =
          unplanned.removeValue(forKey: one.identifier)
          ?? DownloadValue(
            identifier: one.identifier, uniqueIdentifier: UUID().uuidString, url: "", applicationGroupIdentifier: "",
            fileSize: nil)
      }
      value.state = -1
      downloads[app, default: [:]][value.uniqueIdentifier] = ScheduledDownload(value: value)
      return .app(
        app, .rejected(download: value.uniqueIdentifier, failure: .framework(Int(one.code), one.reason)))
    }
  }

  /// The unique identifier that an extension gave, where it is one and nothing had it before: it names a file, and what the
  /// engine once made of another download under it would be taken for the result. Otherwise a new one.
  func unused(_ uniqueIdentifier: String, of app: String) -> String {
    guard UUID(uuidString: uniqueIdentifier) != nil, downloads[app]?[uniqueIdentifier] == nil,
      transfers.record(.init(app: app, download: uniqueIdentifier)) == nil
    else { return UUID().uuidString }
    return uniqueIdentifier
  }

  /// In the summary of the run that answered it: what isn't wrong in itself may still have no place before the first launch.
  private func report(_ rejected: [RejectedDownload], of app: String) {
    guard let number = runs.first(where: { $0.value.app == app && $0.value.generation != nil })?.key,
      let downloads = runs[number]?.summary.downloads
    else { return }
    let known = Set(downloads.rejected.map(\.identifier))
    let further = rejected.compactMap { one -> RunSummary.Rejection? in
      let identifier = Printable.text(one.identifier)
      return known.contains(identifier)
        ? nil : .init(identifier: identifier, code: Int(one.code), reason: one.reason)
    }
    runs[number]?.summary.downloads.accepted = max(0, downloads.accepted - further.count)
    runs[number]?.summary.downloads.rejected += further
  }
}
