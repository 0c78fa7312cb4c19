/// The words of the command line as the kernel handed them over.
package enum Arguments {
  /// The first one that isn't UTF-8, by its position; nil: all are. `CommandLine.arguments` replaces bytes that aren't, and a
  /// command would work on something else than what was named. The program's own name, at position 0, names nothing.
  package static var unreadable: String? {
    for position in 1..<max(Int(CommandLine.argc), 1) {
      guard let bytes = CommandLine.unsafeArgv[position] else { return nil }
      guard String(validatingCString: bytes) == nil else { continue }
      return "argument \(position) (\(String(cString: bytes))): has bytes that aren't UTF-8"
    }
    return nil
  }
}
