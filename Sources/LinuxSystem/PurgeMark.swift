internal import CLinux
internal import Glibc

/// The mark of a finished file that the service may delete when storage runs low (B56, L14): an extended attribute
/// (xattr(7)) that goes with the file when it is moved, and whose content is true of that one unmodified file alone. A copy
/// has another inode, even where the attributes are copied along; a modified file has another size or time.
///
/// Plugins can't set it: their filter has no call for that.
package struct PurgeMark: Sendable, Equatable {
  package static let name = "user.outrider.purgeable"
  private static let version = "1"
  /// Bytes of the longest attribute that can be one.
  private static let longest = 80

  package enum State: Sendable, Equatable {
    case marked
    /// Never marked, or marked as another file or in an earlier state: only its owner may delete it.
    case unmarked
    /// This filesystem keeps no attributes of users.
    case unavailable
  }

  package var inode: UInt64
  package var size: Int64
  /// Nanoseconds since 1970 of the last change of content.
  package var modified: Int64

  /// The mark that is true of a file now.
  package init(of file: FileIdentity) {
    inode = file.inode
    size = file.size
    modified = file.modified
  }

  /// nil for anything that `text` didn't make.
  package init?(parsing text: String) {
    let parts = text.split(separator: " ", omittingEmptySubsequences: false)
    guard parts.count == 4, parts[0] == Self.version, let inode = UInt64(parts[1]), let size = Int64(parts[2]),
      let modified = Int64(parts[3])
    else { return nil }
    self.inode = inode
    self.size = size
    self.modified = modified
    guard self.text == text else { return nil }
  }

  package var text: String { "\(Self.version) \(inode) \(size) \(modified)" }

  /// Marks a regular file as it is now; who writes to it takes the mark from it. `file`: open, not with O_PATH. False where
  /// the filesystem keeps no attributes of users.
  package static func set(on file: borrowing OwnedDescriptor) throws(SystemCallError) -> Bool {
    let identity = try file.identity()
    guard identity.isRegularFile else { throw SystemCallError("fsetxattr", code: EINVAL, subject: name) }
    let bytes = Array(PurgeMark(of: identity).text.utf8)
    switch ol_set_file_attribute(file.number, name, bytes, bytes.count) {
    case 0: return true
    case ENOTSUP: return false
    case let code: throw SystemCallError("fsetxattr", code: code, subject: name)
    }
  }

  /// Whether the file may be deleted to make room: it carries the mark, and the mark is true of it.
  package static func state(of file: borrowing OwnedDescriptor) throws(SystemCallError) -> State {
    let identity = try file.identity()
    guard identity.isRegularFile else { return .unmarked }
    var bytes = [UInt8](repeating: 0, count: longest)
    var count = 0
    switch ol_get_file_attribute(file.number, name, &bytes, bytes.count, &count) {
    case 0: break
    // ERANGE: longer than any that is one.
    case ENODATA, ERANGE: return .unmarked
    case ENOTSUP: return .unavailable
    case let code: throw SystemCallError("fgetxattr", code: code, subject: name)
    }
    return PurgeMark(parsing: String(decoding: bytes[..<count], as: UTF8.self)) == PurgeMark(of: identity)
      ? .marked : .unmarked
  }

  /// Makes the file the app's own for good. Nothing happens to one that has no mark.
  package static func remove(from file: borrowing OwnedDescriptor) throws(SystemCallError) {
    let code = ol_remove_file_attribute(file.number, name)
    guard [0, ENODATA, ENOTSUP].contains(code) else {
      throw SystemCallError("fremovexattr", code: code, subject: name)
    }
  }
}
