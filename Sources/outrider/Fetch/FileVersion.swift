internal import Basics
internal import LinuxSystem

/// A file as it is told from others that have the same name later, and from itself after a change in place.
struct FileVersion: Equatable, Sendable {
  /// Where that isn't the one of its download.
  var name: String?
  var inode: UInt64
  var size: Int64
  /// Nanoseconds since 1970 of the last change of its content. Some programs set it back: `changed` they can't.
  var modified: Int64
  /// Nanoseconds since 1970 of the last change of its inode.
  var changed: Int64

  init(inode: UInt64, size: Int64, modified: Int64, changed: Int64, name: String? = nil) {
    (self.inode, self.size, self.modified, self.changed, self.name) = (inode, size, modified, changed, name)
  }

  init(_ identity: FileIdentity, name: String? = nil) {
    self.init(
      inode: identity.inode, size: identity.size, modified: identity.modified, changed: identity.changed, name: name)
  }

  /// The same file under the name that is given, or under its download's.
  func named(_ name: String?) -> Self {
    var version = self
    version.name = name
    return version
  }
}
