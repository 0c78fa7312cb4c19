internal import AssetModel
internal import AssetStore
internal import Foundation
internal import ServiceProtocol

/// Lists that may have thousands of elements. What they are made of is taken at once, and they are made of it where the
/// service isn't held up by that.
enum OperatorLists {
  typealias List = @Sendable () -> Result<Reply, ServiceFailure>

  private static let maxElements = 10_000

  static func downloads(_ all: [String: [String: ScheduledDownload]]) -> List {
    { .success(.downloadList(summaries(of: all))) }
  }

  static func runs(in store: AssetStore, of app: String?, _ limit: Int) -> List {
    let count = min(max(limit, 1), maxElements)
    return { .success(.runs(ServiceJournal.wakes(in: store, of: app, last: count))) }
  }

  static func log(in store: AssetStore, of app: String?, _ limit: Int) -> List {
    let count = min(max(limit, 1), maxElements)
    return { lines(in: store, of: app, last: count).map { .log($0) } }
  }

  private static func summaries(of all: [String: [String: ScheduledDownload]]) -> [DownloadSummary] {
    all.keys.sorted().flatMap { app in
      (all[app] ?? [:]).values.filter { !$0.isDiscarded }.map { Summaries.download(app, $0) }
        .sorted { ($0.identifier, $0.uniqueIdentifier) < ($1.identifier, $1.uniqueIdentifier) }
    }
  }

  private static func lines(
    in store: AssetStore, of app: String?, last count: Int
  ) -> Result<[LogLine], ServiceFailure> {
    do {
      let events = try store.history.events(last: app == nil ? count : maxElements).filter {
        app == nil || $0.app == app
      }
      return .success(
        events.suffix(count).map {
          LogLine(
            at: Timestamp.text(wall: $0.wall), level: "info", app: $0.app, event: $0.kind,
            detail: Printable.text($0.detail, limit: 2000))
        })
    } catch {
      return .failure(.command(73, "the log can't be read: \(error)"))
    }
  }
}
