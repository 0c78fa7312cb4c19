internal import Glibc

/// The columns that help is broken at.
package enum HelpColumns {
  /// The parser takes them from COLUMNS or the terminal, and ends the program where there are fewer than it indents by.
  private static let least = 40

  /// Has COLUMNS say at least so many. Before there are other threads, or right before the program ends (setenv(3)).
  package static func widen() {
    var size = winsize()
    let terminal = ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : nil
    let variable = getenv("COLUMNS").flatMap { Int(String(cString: $0)) }
    if let columns = variable ?? terminal, columns < least { setenv("COLUMNS", "\(least)", 1) }
  }
}
