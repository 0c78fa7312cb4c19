internal import CLinux

/// The words of the command line as the kernel handed them over: `CommandLine` has none where no /proc is mounted, and a program
/// that is asked for something would do what it does without any.
package enum Arguments {
  /// Without the program's own name, which names nothing. Bytes that aren't UTF-8 are replaced; `unreadable` tells.
  package static let words: [String] = all.dropFirst().map { String(cString: $0) }

  /// The first one that isn't UTF-8, by its position; nil: all are. A command would work on something else than what was named.
  package static var unreadable: String? {
    for (position, bytes) in all.enumerated().dropFirst() where String(validatingCString: bytes) == nil {
      return "argument \(position) (\(String(cString: bytes))): has bytes that aren't UTF-8"
    }
    return nil
  }

  private static var all: [UnsafeMutablePointer<CChar>] {
    var words: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
    let count = ol_arguments(&words)
    return (0..<Int(count)).compactMap { words?[$0] }
  }
}
