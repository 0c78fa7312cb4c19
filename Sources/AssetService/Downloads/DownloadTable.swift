internal import AssetModel
internal import Basics
internal import Foundation
internal import ServiceMachines
internal import ServiceProtocol

/// What apps have scheduled, by app and unique identifier. On the service's thread, like all that shares it.
final class DownloadTable {
  var byApp: [String: [String: ScheduledDownload]]
  var shared = SharedParts()
  /// Downloads that were rejected, by app and identifier, until they have unique identifiers.
  var rejected: [String: [String: DownloadValue]] = [:]
  private let transfers: Transfers

  init(_ byApp: [String: [String: ScheduledDownload]], transfers: Transfers) {
    self.byApp = byApp
    self.transfers = transfers
  }

  subscript(app: String) -> [String: ScheduledDownload]? {
    _read { yield byApp[app] }
    _modify { yield &byApp[app] }
  }

  subscript(app: String, default empty: [String: ScheduledDownload]) -> [String: ScheduledDownload] {
    _read { yield byApp[app, default: empty] }
    _modify { yield &byApp[app, default: empty] }
  }

  var count: Int { byApp.values.reduce(0) { $0 + $1.count } }

  /// What is known of a download's transfer changes.
  func change(_ app: String, _ unique: String, _ body: (inout TransferFacts) -> Void) {
    guard var facts = byApp[app]?[unique]?.transfer else { return }
    body(&facts)
    byApp[app]?[unique]?.transfer = facts
  }

  func current(of app: String) -> [DownloadValue] {
    // Names are sorted, not what they name, which is many fields long.
    let current = (byApp[app] ?? [:]).compactMap { unique, download in
      download.entry.map { $0.state != .finished } == true
        ? (identifier: download.value.identifier, unique: unique) : nil
    }
    .sorted { $0.identifier < $1.identifier }
    return current.compactMap { byApp[app]?[$0.unique]?.value }
  }

  /// Takes in a download that is to be scheduled, until the machines have decided about it.
  func insert(_ value: DownloadValue, of app: String) {
    byApp[app, default: [:]][value.uniqueIdentifier] = ScheduledDownload(value: value)
  }

  /// The machines have decided, and it isn't theirs: nothing of it stays.
  func removeUnlessPlanned(_ unique: String, of app: String) {
    if byApp[app]?[unique]?.entry == nil { byApp[app]?[unique] = nil }
  }

  /// The unique identifier that an extension gave, where it is one and nothing had it before: it names a file, and what the
  /// engine once made of another download under it would be taken for the result. Otherwise a new one.
  func unused(_ uniqueIdentifier: String, of app: String) -> String {
    guard UUID(uuidString: uniqueIdentifier) != nil, byApp[app]?[uniqueIdentifier] == nil,
      isUnknownToEngine(.init(app: app, download: uniqueIdentifier))
    else { return UniqueIdentifier.random() }
    return uniqueIdentifier
  }

  /// A journal that can't be read may have it: a new name is right in any case.
  private func isUnknownToEngine(_ key: Transfers.Key) -> Bool {
    do { return try transfers.record(key) == nil } catch { return false }
  }

  func find(_ download: String) throws(ServiceFailure) -> (app: String, unique: String) {
    guard let found = try look(for: download) else {
      throw .command(66, "there is no download \(Printable.text(download))", remedy: "'outrider downloads' lists them")
    }
    return found
  }

  /// By unique identifier, in either case, or by the identifier of one alone.
  func look(for download: String) throws(ServiceFailure) -> (app: String, unique: String)? {
    let wanted = download.uppercased()
    for (app, all) in byApp where all[download] != nil || all[wanted] != nil {
      return (app, all[download] != nil ? download : wanted)
    }
    let named = byApp.flatMap { app, all in
      all.values.filter { $0.value.identifier == download }.map { (app, $0.value.uniqueIdentifier) }
    }
    guard named.count < 2 else {
      throw .command(
        64, "\(named.count) downloads are called \(Printable.text(download))",
        remedy: "name one by its unique identifier, which 'outrider downloads' shows")
    }
    return named.first
  }
}
