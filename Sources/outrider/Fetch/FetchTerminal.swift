internal import AssetModel
internal import Downloads
internal import Foundation

/// A fetch on a terminal: a row with a bar for each file that moves, and one for all.
struct FetchTerminal: FetchRenderer {
  static let keepsPaths = true

  private let size: @Sendable () -> (columns: Int, rows: Int)
  private var screen = FetchScreen()
  private var isOver = false

  init(size: @escaping @Sendable () -> (columns: Int, rows: Int)) { self.size = size }

  mutating func show(_ news: FetchNews, _ inventory: FetchInventory, at now: Date) -> [FetchOutput] {
    var lines: [FetchOutput] = []
    switch news {
    case .restarted(let id, let reason):
      lines = [.note("\(Printable.text(inventory[id]?.name ?? "")) starts again: \(reason)")]
    case .failed(let place, let failure): lines = [.error(FetchText.failure(failure, of: inventory.items[place].url))]
    case .note(_, let text): lines = [.note(text)]
    case .head(let head): lines = FetchText.head(head).map { .note($0) }
    // While they are added there is nothing to see.
    case .listed: return []
    case .began, .moved, .waits, .finished, .paused, .cancelled: break
    }
    if !lines.isEmpty { lines = erase() + lines }
    return lines + draw(inventory)
  }

  mutating func say(_ text: String) -> [FetchOutput] { erase() + [.note(text)] }

  mutating func redraw(_ inventory: FetchInventory) -> [FetchOutput] { screen.isDrawn ? draw(inventory) : [] }

  mutating func leave() -> [FetchOutput] {
    isOver = true
    return erase()
  }

  mutating func end(_ inventory: FetchInventory, status: Int32, left: Int) -> [FetchOutput] {
    let paths = inventory.items.compactMap { item in item.path.map { FetchOutput.result($0) } }
    // Why it waits was drawn over.
    let open = FetchText.left(left, inventory) { item in
      item.id.flatMap { inventory.active[$0]?.wait }.map { ", \(FetchWords.wait($0.explanation))" } ?? ""
    }
    return leave() + paths + open.map { .note($0) }
  }

  private mutating func erase() -> [FetchOutput] { screen.isDrawn ? [.draw(screen.erase())] : [] }

  private mutating func draw(_ inventory: FetchInventory) -> [FetchOutput] {
    guard !isOver else { return [] }
    let (columns, height) = size()
    return [.draw(screen.draw(Self.rows(inventory, columns: columns, height: height)))]
  }

  static func rows(_ inventory: FetchInventory, columns: Int, height: Int) -> [String] {
    // The last column stays empty: there some terminals go to the next row by themselves.
    let room = columns - 1
    // In the order in which they were named.
    let moving = inventory.active
      .sorted { (inventory.place(of: $0.key) ?? 0) < (inventory.place(of: $1.key) ?? 0) }
      .prefix(max(0, min(FetchText.maxNamed, height - 2)))
    let names = moving.map { inventory[$0.key]?.name ?? "" }
    let width = names.map { FetchRow.width(Printable.text($0)) }.max()
    var rows = zip(names, moving).map { name, moving in
      let note = moving.value.note ?? (moving.value.progress == nil ? "begins" : nil)
      return FetchRow.text(name, moving.value.progress, note: note, nameWidth: width, columns: room)
    }
    if rows.isEmpty || inventory.items.count > 1 { rows.append(FetchRow.fit(inventory.total, room)) }
    return rows
  }
}
