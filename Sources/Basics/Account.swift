internal import Glibc

/// What the machine knows of a user.
package enum Account {
  /// The home folder, where it is an absolute path (getpwuid(3)). A network may be asked for it.
  package static func home(of user: UInt32) -> String? {
    guard let home = getpwuid(user)?.pointee.pw_dir.map({ String(cString: $0) }) else { return nil }
    return home.isAbsolutePath ? home : nil
  }
}
