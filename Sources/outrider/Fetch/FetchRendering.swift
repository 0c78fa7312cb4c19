internal import AssetModel
internal import Downloads
internal import Foundation

/// One piece of what a fetch prints.
enum FetchOutput: Equatable {
  /// The path of a file that is complete.
  case result(String)
  case note(String)
  case error(String)
  /// What a terminal obeys.
  case draw(String)
  /// One line of JSON.
  case object(FetchLine)
}

/// Makes output of what there is to tell. A value: what it returns is all that it does.
protocol FetchRenderer: Sendable {
  /// Whether paths of finished files have to be kept for its end.
  static var keepsPaths: Bool { get }
  mutating func show(_ news: FetchNews, _ inventory: FetchInventory, at now: Date) -> [FetchOutput]
  /// What the command says of itself.
  mutating func say(_ text: String) -> [FetchOutput]
  /// The terminal has another size.
  mutating func redraw(_ inventory: FetchInventory) -> [FetchOutput]
  /// Nothing is drawn any more, and what was is removed.
  mutating func leave() -> [FetchOutput]
  mutating func end(_ inventory: FetchInventory, status: Int32, left: Int) -> [FetchOutput]
}

extension FetchRenderer {
  mutating func say(_ text: String) -> [FetchOutput] { [.note(text)] }
  mutating func redraw(_ inventory: FetchInventory) -> [FetchOutput] { [] }
  mutating func leave() -> [FetchOutput] { [] }
}

/// Texts that several renderers have in common.
enum FetchText {
  static func failure(_ failure: TransferFailure, of url: String) -> String {
    "\(ParsedURL.shown(url)): \(failure.detail) (\(failure.reason.rawValue))"
  }

  /// A mark before each line says which way it went, as curl has it.
  static func head(_ head: TracedHead) -> [String] {
    let mark = head.direction == .sent ? ">" : "<"
    return ["* \(Printable.text(head.url, limit: 1000))"] + head.lines.map { "\(mark) \($0)" }
  }

  /// Those that are left, by name; `why`: what stands behind one's name.
  static func left(
    _ left: Int, _ inventory: FetchInventory, why: (FetchInventory.Item) -> String = { _ in "" }
  ) -> [String] {
    guard left > 0 else { return [] }
    var lines = [FetchInventory.left(left, of: inventory.items.count)]
    for item in inventory.items.lazy.filter({ $0.outcome == .open }).prefix(maxNamed) {
      lines.append("  \(item.id.map { "download \($0): " } ?? "")\(Printable.text(item.name))\(why(item))")
    }
    if left > maxNamed { lines.append("  and \(left - maxNamed) others") }
    return lines
  }

  /// Files that are named one by one.
  static let maxNamed = 20
}
