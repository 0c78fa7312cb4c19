internal import AssetModel
internal import Downloads
internal import Foundation

/// One row of the progress display, at most as wide as it is told.
enum FetchRow {
  /// What stands behind a bar, in cells that are the same in every row: from all of it to what is left where there is no
  /// room.
  private enum Figures: CaseIterable {
    case all, total, left, rate, percent

    var width: Int {
      switch self {
      case .all: 5 + 2 + 24 + 2 + 12 + 2 + 13
      case .total: 5 + 2 + 10 + 2 + 12 + 2 + 13
      case .left: 5 + 2 + 12 + 2 + 13
      case .rate: 5 + 2 + 12
      case .percent: 5
      }
    }
  }

  /// `nameWidth`: cells of the names of all rows; nil: this row is alone.
  static func text(
    _ name: String, _ progress: DownloadProgress?, note: String?, nameWidth: Int? = nil, columns: Int
  ) -> String {
    let name = Printable.text(name)
    let nameWidth = min(nameWidth ?? width(name), max(8, columns / 3))
    let start = padded(fit(name, nameWidth), nameWidth + 1)
    guard let progress else { return fit(start + Printable.text(note ?? ""), columns) }
    let fraction = progress.total.map { $0 > 0 ? min(1, Double(progress.received) / Double($0)) : 1 }
    // Rounded down: a file that isn't complete never looks so.
    let percent = fraction.map { String(format: "%3d %%", Int($0 * 100)) } ?? "  ? %"
    // What waits doesn't move: its reason needs the room more than a bar does.
    if let note {
      return fit("\(start)\(percent)  \(FetchWords.size(progress.received))  \(Printable.text(note))", columns)
    }
    let room = columns - nameWidth - 2
    guard let shown = Figures.allCases.first(where: { room - $0.width >= shortestBar }) else {
      return fit(start + percent, columns)
    }
    let figures = figures(shown, percent, progress)
    return fit("\(start)\(bar(fraction, room - shown.width)) \(figures)", columns)
  }

  private static let shortestBar = 6

  private static func figures(_ shown: Figures, _ percent: String, _ progress: DownloadProgress) -> String {
    let received = FetchWords.size(progress.received)
    let total = progress.total.map { FetchWords.size($0) }
    let rate = right("\(FetchWords.size(Int64(progress.bytesPerSecond)))/s", 12)
    let left = FetchWords.timeLeft(progress.total.map { $0 - progress.received }, at: progress.bytesPerSecond) ?? ""
    switch shown {
    case .all:
      let size = right(received, 10) + (total.map { " of " + $0 } ?? "")
      return "\(percent)  \(padded(size, 24))  \(rate)  \(left)"
    case .total: return "\(percent)  \(right(total ?? received, 10))  \(rate)  \(left)"
    case .left: return "\(percent)  \(rate)  \(left)"
    case .rate: return "\(percent)  \(rate)"
    case .percent: return percent
    }
  }

  static func bar(_ fraction: Double?, _ cells: Int) -> String {
    guard let fraction else { return String(repeating: "·", count: cells) }
    let filled = fraction > 0 ? max(1, Int(fraction * Double(cells))) : 0
    return String(repeating: "█", count: filled) + String(repeating: "·", count: cells - filled)
  }

  static func right(_ text: String, _ columns: Int) -> String {
    String(repeating: " ", count: max(0, columns - width(text))) + text
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

  static func padded(_ text: String, _ columns: Int) -> String {
    text + String(repeating: " ", count: max(0, columns - width(text)))
  }

  /// Cells of a terminal, rather too many than too few; wcwidth(3) would ask a locale that isn't set.
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
  static func terminal(_ descriptor: Int32 = STDERR_FILENO) -> (columns: Int, rows: Int) {
    var size = winsize()
    guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return (80, 24) }
    return (Int(size.ws_col), size.ws_row > 0 ? Int(size.ws_row) : 24)
  }
}
