internal import AssetModel
internal import Downloads
internal import Foundation

/// A fetch as JSON: an object a line for each thing that happens, the last of which has every download. `docs/downloads.md`
/// describes them.
struct FetchJSON: FetchRenderer {
  static let keepsPaths = true

  mutating func show(_ news: FetchNews, _ inventory: FetchInventory, at now: Date) -> [FetchOutput] {
    func line(_ event: String, _ place: Int?, _ change: (inout FetchLine) -> Void = { _ in }) -> FetchOutput {
      var line = FetchLine(event: event, time: now.formatted(.iso8601))
      if let place {
        let item = inventory.items[place]
        (line.id, line.name, line.url) = (item.id?.number, item.name, item.url)
      }
      change(&line)
      return .object(line)
    }
    func line(_ event: String, of id: JobID, _ change: (inout FetchLine) -> Void = { _ in }) -> FetchOutput {
      line(event, inventory.place(of: id)) {
        $0.id = id.number
        change(&$0)
      }
    }
    switch news {
    case .listed(let place): return [line("added", place)]
    case .began(let id, _): return [line("started", of: id)]
    case .moved(let id):
      let progress = inventory.active[id]?.progress
      return [
        line("progress", of: id) {
          ($0.bytes, $0.durableBytes, $0.totalBytes) = (progress?.received, progress?.durable, progress?.total)
          $0.bytesPerSecond = progress.map { Int64(clamping: $0.bytesPerSecond) }
        }
      ]
    case .restarted(let id, let reason): return [line("restarted", of: id) { $0.detail = reason }]
    case .waits(let id, let explanation, _):
      return [
        line("waiting", of: id) {
          ($0.reason, $0.detail) = (explanation.code.rawValue, FetchWords.wait(explanation))
          $0.until = inventory.active[id]?.wait?.end?.formatted(.iso8601)
        }
      ]
    case .finished(let place, let path):
      let item = inventory.items[place]
      return [
        line("finished", place) {
          ($0.path, $0.bytes, $0.unchanged) = (path, item.bytes, item.isUnchanged ? true : nil)
        }
      ]
    case .failed(let place, let failure):
      let error = FetchOutput.error(FetchText.failure(failure, of: inventory.items[place].url))
      return [
        line("failed", place) { ($0.reason, $0.detail) = (failure.reason.rawValue, failure.detail) }, error,
      ]
    case .paused(let id): return [line("paused", of: id)]
    case .cancelled(let id): return [line("cancelled", of: id)]
    case .note(let id, let text): return [line("note", id.flatMap(inventory.place)) { $0.detail = text }]
    // For a person who looks for a fault.
    case .head(let head): return FetchText.head(head).map { .note($0) }
    }
  }

  mutating func end(_ inventory: FetchInventory, status: Int32, left: Int) -> [FetchOutput] {
    let rows = inventory.items.indices.map { FetchLine.Row($0, inventory) }
    var line = FetchLine(event: "end")
    (line.downloads, line.status) = (rows, status)
    guard left > 0 else { return [.object(line)] }
    let why = rows.first { $0.state == FetchInventory.Outcome.open.rawValue && $0.detail != nil }?.detail
    return [.object(line), .note(FetchInventory.left(left, of: rows.count) + (why.map { ": \($0)" } ?? ""))]
  }
}

/// One line of `fetch --json`.
struct FetchLine: Encodable, Equatable {
  var event: String
  /// When, in UTC.
  var time: String?
  var id: Int64?
  var name: String?
  var url: String?
  var path: String?
  var bytes: Int64?
  var durableBytes: Int64?
  var totalBytes: Int64?
  var bytesPerSecond: Int64?
  /// It was there already, and is what the server has.
  var unchanged: Bool?
  /// Why it failed, or why it doesn't move.
  var reason: String?
  var detail: String?
  /// When a wait ends by itself.
  var until: String?
  /// Of the last line alone.
  var downloads: [Row]?
  var status: Int32?

  init(event: String, time: String? = nil) { (self.event, self.time) = (event, time) }

  struct Row: Encodable, Equatable {
    /// nil: it never became a download.
    var id: Int64?
    var url: String
    var path: String?
    var state: String
    var bytes: Int64
    var unchanged: Bool?
    var reason: String?
    var detail: String?
    var until: String?

    init(_ place: Int, _ inventory: FetchInventory) {
      let item = inventory.items[place]
      (id, url, path, state) = (item.id?.number, item.url, item.path, item.outcome.rawValue)
      (bytes, unchanged) = (item.bytes, item.isUnchanged ? true : nil)
      if let failure = inventory.failures[place] {
        (reason, detail) = (failure.reason.rawValue, failure.detail)
      } else if let wait = item.id.flatMap({ inventory.active[$0]?.wait }) {
        (reason, detail) = (wait.explanation.code.rawValue, FetchWords.wait(wait.explanation))
        until = wait.end?.formatted(.iso8601)
      }
    }
  }
}
