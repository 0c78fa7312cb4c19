internal import AssetModel
internal import Glibc

/// A table that keeps to the width of a terminal, and shows everything elsewhere.
struct FittedTable {
  struct Column {
    var title: String
    /// Cells that it keeps where there is no room; nil: it is never cut.
    var minimum: Int?
    var isRight = false

    /// What is as long as it is: numbers, words of a fixed set.
    static func fixed(_ title: String) -> Self { Self(title: title) }
    static func number(_ title: String) -> Self { Self(title: title, isRight: true) }
    /// Texts of others.
    static func text(_ title: String, minimum: Int = 8) -> Self { Self(title: title, minimum: minimum) }
  }

  private let columns: [Column]
  private(set) var rows: [[String]] = []

  init(_ columns: [Column]) { self.columns = columns }

  /// Every cell is made printable here.
  mutating func add(_ cells: [String]) { rows.append(cells.map { Printable.text($0) }) }

  /// With the titles first, where there are rows. `width`: of the terminal; nil: whatever it takes.
  func lines(width: Int?) -> [String] {
    guard !rows.isEmpty else { return [] }
    let all = [columns.map(\.title)] + rows
    var widths = columns.indices.map { column in all.map { FetchRow.width($0[column]) }.max() ?? 0 }
    // A column that says nothing anywhere isn't shown.
    let shown = columns.indices.filter { column in rows.contains { !$0[column].isEmpty } }
    if let width { shrink(&widths, shown, to: width) }
    return all.map { row in
      var line = shown.map { column in
        let cell = FetchRow.fit(row[column], widths[column])
        return columns[column].isRight ? FetchRow.right(cell, widths[column]) : FetchRow.padded(cell, widths[column])
      }.joined(separator: Self.gap)
      while line.last == " " { line.removeLast() }
      return width.map { FetchRow.fit(line, $0) } ?? line
    }
  }

  private static let gap = "  "

  /// Takes from the widest of those that may be cut, until all of them fit or nothing is left to take.
  private func shrink(_ widths: inout [Int], _ shown: [Int], to width: Int) {
    var excess = shown.reduce((shown.count - 1) * Self.gap.count) { $0 + widths[$1] } - width
    while excess > 0 {
      let candidates = shown.filter { column in columns[column].minimum.map { widths[column] > $0 } ?? false }
      guard let widest = candidates.max(by: { widths[$0] < widths[$1] }) else { return }
      widths[widest] -= 1
      excess -= 1
    }
  }

  /// On standard output, at its terminal's width.
  func print() {
    for line in lines(width: Self.outputWidth) { Output.line(line) }
  }

  /// Of the terminal at standard output; nil where there is none.
  static var outputWidth: Int? {
    guard isatty(STDOUT_FILENO) == 1 else { return nil }
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }
}
