internal import CLinux
internal import Glibc
internal import LinuxSystem

/// An extended attribute (xattr(7)) that says of a folder, or of a file alone, that plugins have been able to write to it. What they left
/// there stays when they are gone, and a later run, of this host or another, names other paths. No plugin can take it away: the filter
/// has no call for that.
package enum WritableMark {
  package static let name = "user.outrider.plugins"

  enum State: Equatable {
    case present, absent
    /// Nothing of this filesystem can be marked.
    case unavailable
  }

  /// `file`: open, with O_PATH or otherwise.
  static func state(of file: borrowing OwnedDescriptor) -> State { state(of: path(of: file)) }

  private static func state(of path: String) -> State {
    var isThere: Int32 = 0
    let code = ol_has_attribute(path, name, &isThere)
    return code != 0 ? .unavailable : isThere == 1 ? .present : .absent
  }

  /// Marks a folder or a file before a plugin gets it. Where the filesystem has no attributes there is none: `GrantWalk` follows no link
  /// then that a plugin can have made.
  ///
  /// - Throws: EPERM where the user may write but set no mark, as in the folders of others that everyone may write to. Where not even that,
  ///   as in root's, its plugins can't write either.
  static func set(on file: borrowing OwnedDescriptor, _ subject: String) throws(SystemCallError) {
    guard state(of: file) == .absent else { return }
    let code = ol_set_attribute(path(of: file), name)
    guard [0, ENOTSUP, EACCES, EROFS].contains(code) else {
      throw SystemCallError("setxattr", code: code, subject: subject)
    }
  }

  private static func path(of file: borrowing OwnedDescriptor) -> String { "/proc/self/fd/\(file.number)" }

  enum Search: Equatable {
    case none
    case found(String)
    /// There are more files and folders than are looked at.
    case tooMany
  }

  /// A marked file or folder below `folder`, of at most `limit` that are looked at. No link is followed.
  static func search(below folder: String, limit: Int) -> Search {
    var folders = [folder]
    var seen = 0
    while let next = folders.popLast() {
      // What this user can't read, its plugins can't either.
      guard let directory = opendir(next) else { continue }
      defer { closedir(directory) }
      while let entry = readdir(directory) {
        let kind = Int32(entry.pointee.d_type)
        guard [DT_DIR, DT_REG, DT_UNKNOWN].map(Int32.init).contains(kind) else { continue }
        let name = withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        if name == "." || name == ".." { continue }
        seen += 1
        if seen > limit { return .tooMany }
        let path = "\(next)/\(name)"
        if kind == DT_UNKNOWN, Files.link(path) != nil { continue }
        if state(of: path) == .present { return .found(path) }
        if kind == DT_DIR || kind == DT_UNKNOWN && Files.isFolder(path) == true { folders.append(path) }
      }
    }
    return .none
  }
}
