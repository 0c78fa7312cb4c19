/// The rows that a terminal shows of a fetch, drawn over and over.
///
/// The cursor waits at the start of the first row. A terminal that becomes narrower may break the rows below it in two, or
/// cut them, and no program can tell which: but all of it stays below the cursor, and what is drawn next clears that.
struct FetchScreen {
  private(set) var isDrawn = false

  private static let (wrapOff, wrapOn) = ("\u{1b}[?7l", "\u{1b}[?7h")
  private static let (clearLine, clearBelow) = ("\u{1b}[K", "\u{1b}[J")

  /// What draws `rows` in the place of those before. Without automatic wrapping each stays one row, also where the terminal
  /// has become narrower since it was measured.
  mutating func draw(_ rows: [String]) -> String {
    guard !rows.isEmpty else { return erase() }
    isDrawn = true
    let text = rows.map { $0 + Self.clearLine }.joined(separator: "\r\n")
    let up = rows.count > 1 ? "\u{1b}[\(rows.count - 1)A" : ""
    return "\r\(Self.wrapOff)\(text)\(Self.clearBelow)\(Self.wrapOn)\(up)\r"
  }

  /// What removes them; the cursor is where they began.
  mutating func erase() -> String {
    defer { isDrawn = false }
    return isDrawn ? "\r\(Self.clearBelow)" : ""
  }
}
