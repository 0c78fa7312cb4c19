@testable import outrider

/// A small terminal: what a fetch draws with, and what becomes of it when the window gets narrower.
struct TerminalScreen {
  private struct Line {
    var cells: [Character] = []
    /// The next line is the rest of this one.
    var isWrapped = false
  }

  private(set) var columns: Int
  /// Lines that were too long are broken anew, as most terminals do; otherwise what is too long is cut.
  var reflows = true
  var rows = 24
  private var lines = [Line()]
  private var (row, column) = (0, 0)
  private var wraps = true

  init(columns: Int) { self.columns = columns }

  /// Without the blanks at the ends, and without the empty lines below.
  var text: [String] {
    var text = lines.map { line in
      var line = line.cells
      while line.last == " " { line.removeLast() }
      return String(line)
    }
    while text.last == "" { text.removeLast() }
    return text
  }

  /// Only complete sequences of those that are drawn with.
  mutating func take(_ text: String) {
    var rest = text.unicodeScalars.map(Character.init)[...]
    while let next = rest.popFirst() {
      switch next {
      case "\r": column = 0
      case "\n": goDown()
      case "\u{1b}":
        rest = rest.dropFirst()
        let parameter = String(rest.prefix { !$0.isLetter })
        rest = rest.dropFirst(parameter.count)
        if let command = rest.popFirst() { obey(command, parameter) }
      default: put(next)
      }
    }
  }

  private mutating func goDown() {
    row += 1
    if row == lines.count { lines.append(Line()) }
  }

  private mutating func obey(_ command: Character, _ parameter: String) {
    switch command {
    case "A": row = max(max(0, lines.count - rows), row - (Int(parameter) ?? 1))
    case "K":
      lines[row].cells = Array(lines[row].cells.prefix(column))
      lines[row].isWrapped = false
    case "J":
      lines[row].cells = Array(lines[row].cells.prefix(column))
      lines[row].isWrapped = false
      lines.removeSubrange((row + 1)...)
    case "h" where parameter == "?7": wraps = true
    case "l" where parameter == "?7": wraps = false
    default: break
    }
  }

  private mutating func put(_ character: Character) {
    if column == columns {
      if wraps {
        lines[row].isWrapped = true
        goDown()
        column = 0
      } else {
        column -= 1
      }
    }
    while lines[row].cells.count <= column { lines[row].cells.append(" ") }
    lines[row].cells[column] = character
    column += 1
  }

  mutating func resize(columns new: Int) {
    defer { columns = new }
    guard reflows else {
      for index in lines.indices { lines[index].cells = Array(lines[index].cells.prefix(new)) }
      column = min(column, new - 1)
      return
    }
    var result: [Line] = []
    var (cells, offset): ([Character], Int?) = ([], nil)
    for (index, line) in lines.enumerated() {
      if index == row { offset = cells.count + column }
      cells += line.cells
      if line.isWrapped { continue }
      if let offset { (row, column) = (result.count + offset / new, offset % new) }
      repeat {
        result.append(Line(cells: Array(cells.prefix(new)), isWrapped: cells.count > new))
        cells = Array(cells.dropFirst(new))
      } while !cells.isEmpty
      offset = nil
    }
    lines = result
    while lines.count <= row { lines.append(Line()) }
  }
}
