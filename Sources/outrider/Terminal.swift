internal import Glibc

/// What a command's streams lead to.
enum Terminal {
  /// Whether it is a terminal that understands where text is to be drawn. One that is called dumb, or that has an empty name,
  /// shows lines alone.
  static func draws(on descriptor: Int32) -> Bool {
    guard isatty(descriptor) == 1 else { return false }
    guard let name = getenv("TERM").map({ String(cString: $0) }) else { return true }
    return !["", "dumb"].contains(name)
  }
}
