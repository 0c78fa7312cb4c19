internal import AssetModel
internal import Downloads
internal import Foundation

/// One row of the progress display. It never wraps: rows are counted when they are drawn over.
enum FetchRow {
  static func text(_ name: String, _ progress: DownloadProgress?, note: String?, columns: Int) -> String {
    let nameWidth = min(28, max(8, columns / 3))
    let name = padded(fit(Printable.text(name), nameWidth), nameWidth + 1)
    guard let progress else { return fit(name + Printable.text(note ?? ""), columns) }
    let fraction = progress.total.map { $0 > 0 ? min(1, Double(progress.received) / Double($0)) : 1 }
    let percent = fraction.map { String(format: "%3.0f %%", $0 * 100) } ?? "  ? %"
    let received = FetchWords.size(progress.received)
    // What waits doesn't move: its reason needs the room more than a bar does.
    if let note { return fit("\(name)\(percent)  \(received)  \(Printable.text(note))", columns) }
    let rate = "\(FetchWords.size(Int64(progress.bytesPerSecond)))/s"
    let figures = "\(percent)  \(received)  \(rate)"
    let cells = min(20, columns - nameWidth - 2 - figures.count)
    guard cells >= 5 else { return fit(name + figures, columns) }
    let filled = Int((fraction ?? 0) * Double(cells))
    let bar = String(repeating: "█", count: filled) + String(repeating: "·", count: cells - filled)
    return fit("\(name)\(bar) \(figures)", columns)
  }

  /// `text`, or its beginning with an ellipsis.
  static func fit(_ text: String, _ columns: Int) -> String {
    if width(text) <= columns { return text }
    var result = ""
    var left = columns - 1
    for character in text {
      left -= width(of: character)
      if left < 0 { break }
      result.append(character)
    }
    return result + "…"
  }

  static func width(_ text: String) -> Int { text.reduce(0) { $0 + width(of: $1) } }

  private static func padded(_ text: String, _ columns: Int) -> String {
    text + String(repeating: " ", count: max(0, columns - width(text)))
  }

  /// Cells of a terminal, rather too many than too few; wcwidth(3) would ask a locale that nobody sets.
  private static func width(of character: Character) -> Int {
    let scalars = character.unicodeScalars
    let isEmoji = scalars.contains { $0.properties.isEmojiPresentation || $0 == "\u{fe0f}" }
    return isEmoji ? 2 : scalars.reduce(0) { $0 + width($1) }
  }

  private static func width(_ scalar: Unicode.Scalar) -> Int {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: return wide.contains { $0.contains(scalar.value) } ? 2 : 1
    }
  }

  /// The blocks of East Asian scripts (Unicode Standard Annex 11).
  private static let wide: [ClosedRange<UInt32>] = [
    0x1100...0x115f, 0x2e80...0x303e, 0x3041...0x4dbf, 0x4e00...0xa4cf, 0xa960...0xa97c, 0xac00...0xd7a3,
    0xf900...0xfaff, 0xfe30...0xfe6f, 0xff01...0xff60, 0xffe0...0xffe6, 0x1f300...0x1f64f, 0x1f900...0x1f9ff,
    0x20000...0x3fffd,
  ]

  /// Of the terminal at standard error, as it is now; the usual one where it doesn't say.
  static func terminal() -> (columns: Int, rows: Int) {
    var size = winsize()
    guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return (80, 24) }
    return (Int(size.ws_col), size.ws_row > 0 ? Int(size.ws_row) : 24)
  }
}
