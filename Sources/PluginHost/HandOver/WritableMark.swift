internal import CLinux
internal import Glibc
internal import LinuxSystem

/// An extended attribute (xattr(7)) that says of a folder that plugins have been able to write to it. What they left there
/// stays when they are gone, and a later run, of this host or another, names other paths. No plugin can take it away: the
/// filter has no call for that.
package enum WritableMark {
  package static let name = "user.outrider.plugins"

  enum State: Equatable {
    case present, absent
    /// Folders of this filesystem can't be marked.
    case unavailable
  }

  /// `folder`: open, with O_PATH or otherwise.
  static func state(of folder: borrowing OwnedDescriptor) -> State {
    var isThere: Int32 = 0
    let code = ol_has_attribute(path(of: folder), name, &isThere)
    return code != 0 ? .unavailable : isThere == 1 ? .present : .absent
  }

  /// Marks a folder before a plugin gets it. Where the filesystem has no attributes, or the user may not write to the folder,
  /// there is none: `GrantWalk` follows no link then that a plugin can have made.
  static func set(on folder: borrowing OwnedDescriptor, _ subject: String) throws(SystemCallError) {
    guard state(of: folder) == .absent else { return }
    let code = ol_set_attribute(path(of: folder), name)
    guard [0, ENOTSUP, EPERM, EACCES, EROFS].contains(code) else {
      throw SystemCallError("setxattr", code: code, subject: subject)
    }
  }

  private static func path(of folder: borrowing OwnedDescriptor) -> String { "/proc/self/fd/\(folder.number)" }
}
