internal import AssetModel
internal import Downloads
internal import Foundation

/// A fetch as lines, where no terminal is: one for each event, and now and then one for all.
struct FetchLog: FetchRenderer {
  static let keepsPaths = false

  /// When a line last said how far it is: in logs a long fetch shows that it moves.
  private var toldTotal: Date
  private static let totalInterval: TimeInterval = 30

  init(at now: Date) { toldTotal = now }

  mutating func show(_ news: FetchNews, _ inventory: FetchInventory, at now: Date) -> [FetchOutput] {
    func line(_ id: JobID, _ text: String) -> FetchOutput {
      .note("\(Printable.text(inventory[id]?.name ?? "")) (download \(id)) \(text)")
    }
    switch news {
    // Of very many, a line for each that ends is enough.
    case .began(let id, isFirst: true) where inventory.items.count <= FetchText.maxNamed: return [line(id, "begins")]
    case .restarted(let id, let reason): return [line(id, "starts again: \(reason)")]
    case .waits(let id, let explanation, isNews: true): return [line(id, FetchWords.wait(explanation))]
    case .finished(_, let path): return [.result(path)]
    case .failed(let place, let failure): return [.error(FetchText.failure(failure, of: inventory.items[place].url))]
    case .note(_, let text): return [.note(text)]
    case .head(let head): return FetchText.head(head).map { .note($0) }
    case .moved:
      guard now.timeIntervalSince(toldTotal) >= Self.totalInterval else { return [] }
      toldTotal = now
      return [.note(inventory.total)]
    case .listed, .began, .waits, .paused, .cancelled: return []
    }
  }

  mutating func end(_ inventory: FetchInventory, status: Int32, left: Int) -> [FetchOutput] {
    // Why each waits was a line of its own.
    FetchText.left(left, inventory).map { .note($0) }
  }
}
