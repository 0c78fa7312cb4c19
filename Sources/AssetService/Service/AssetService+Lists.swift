internal import AssetModel
internal import AssetStore
internal import Foundation
internal import ServiceProtocol

/// Lists that may have thousands of elements. What they are made of is taken at once, and they are made of it where the
/// service isn't held up by that.
extension AssetService {
  typealias List = @Sendable () -> Result<Reply, ServiceFailure>

  private static let maxElements = 10_000

  /// nil: it asks for no list.
  func list(_ request: ClientRequest) -> List? {
    let store = store
    switch request {
    case .downloads(let app):
      do throws(ServiceFailure) { if let app { try known(app) } } catch { return { [error] in .failure(error) } }
      let all = downloads.filter { app == nil || $0.key == app }
      return { .success(.downloadList(Self.summaries(of: all))) }
    case .runs(let app, let limit):
      let count = min(max(limit, 1), Self.maxElements)
      return { .success(.runs(ServiceJournal.wakes(in: store, of: app, last: count))) }
    case .log(let app, let limit):
      let count = min(max(limit, 1), Self.maxElements)
      return { Self.lines(in: store, of: app, last: count).map { .log($0) } }
    default: return nil
    }
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
      let events = try store.events(last: app == nil ? count : maxElements).filter { app == nil || $0.app == app }
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
