internal import AssetModel
internal import Basics
internal import Foundation
internal import ServiceMachines
internal import ServiceProtocol

/// What extensions answer to content requests.
final class ContentAnswers {
  /// Of one answer; the rest is counted in the log.
  private static let maxRejected = 1000

  private let runs: RunTable
  private let decider: Decider
  private let downloads: DownloadTable
  private let freshAnswers: AccessRenewal
  private let news: ServiceNews

  init(
    runs: RunTable, decider: Decider, downloads: DownloadTable, freshAnswers: AccessRenewal, news: ServiceNews
  ) {
    self.runs = runs
    self.decider = decider
    self.downloads = downloads
    self.freshAnswers = freshAnswers
    self.news = news
  }

  func take(_ verdict: DownloadRules.Verdict, of app: String, run number: Int64) {
    var accepted: [PlannedDownload] = []
    var renewed = 0
    // What is scheduled already is rejected, and the extension is told of it by its name.
    var taken: [RunSummary.Rejection] = []
    for download in verdict.accepted {
      var value = DownloadValue(download)
      value.applicationGroupIdentifier = downloads.shared.names.shared(value.applicationGroupIdentifier)
      if freshAnswers.take(value, of: app) {
        renewed += 1
        continue
      }
      value.uniqueIdentifier = downloads.unused(value.uniqueIdentifier, of: app)
      downloads.insert(value, of: app)
      accepted.append(value.planned)
      if let failure = decider.core.apps[app]?.registry.rejection(of: value.planned) {
        taken.append(
          .init(identifier: Printable.text(value.identifier), code: failure.code, reason: failure.message))
      }
    }
    for download in verdict.rejectedDownloads.prefix(Self.maxRejected) {
      downloads.rejected[app, default: [:]][download.identifier] = DownloadValue(download)
    }
    let told = Array(verdict.rejected.prefix(Self.maxRejected))
    runs[number]?.summary.downloads = .init(
      accepted: accepted.count - taken.count + renewed,
      rejected: told.map {
        .init(identifier: Printable.text($0.identifier), code: Int($0.code), reason: $0.reason)
      } + taken.prefix(Self.maxRejected))
    if verdict.rejected.count > told.count {
      runs[number]?.summary.downloads.furtherRejected = verdict.rejected.count - told.count
      news.log(
        app, "rejected",
        "run \(number): \(verdict.rejected.count) downloads; the extension is told of the first \(told.count)")
    }
    // It goes on to its callbacks, beginning with those of what was rejected just now. Behind the gate those are held, and so the run
    // ends: one that stood by there would keep other extensions from theirs for as long as its essentials take.
    runs[number]?.isReady = true
    decider.process(.app(app, .router(.extensionReady(run: number))))
    decider.process(.app(app, .answered(run: number, accepted: accepted, rejected: told)))
    downloads.rejected[app] = nil
    freshAnswers.giveUp(of: app)
  }

  /// Rejected downloads get names, and the extension is told of each.
  func name(_ all: [RejectedDownload], of app: String) -> [CoreEvent] {
    // What the machines took on, or have refused by name, isn't meant.
    let machines = decider.core.apps[app]
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
      if let download = downloads.rejected[app]?.removeValue(forKey: one.identifier) {
        value = download
        value.uniqueIdentifier = downloads.unused(value.uniqueIdentifier, of: app)
      } else {
        // It was given a name when it was accepted.
        value =
          unplanned.removeValue(forKey: one.identifier)
          ?? DownloadValue(
            identifier: one.identifier, uniqueIdentifier: UniqueIdentifier.random(), url: "",
            applicationGroupIdentifier: "",
            fileSize: nil)
      }
      value.state = -1
      downloads.insert(value, of: app)
      return .app(
        app, .rejected(download: value.uniqueIdentifier, failure: .framework(Int(one.code), one.reason)))
    }
  }

  /// In the summary of the run that answered it: what isn't wrong in itself may still have no place before the first launch.
  private func report(_ rejected: [RejectedDownload], of app: String) {
    guard let number = runs.runs.first(where: { $0.value.app == app && $0.value.generation != nil })?.key,
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
