internal import Glibc
package import LinuxSystem

/// The staging directory beneath a directory that people look at: kept as long as somebody works there, then removed if
/// nothing is in it. Whoever works there has a shared lock on it, so that nobody's is taken from under them.
package final class StagingLease: Sendable {
  private let path: String
  private let own: String
  private let folder: OwnedDescriptor

  package init(_ directory: String, app: String) throws(SystemCallError) {
    let path = "\(directory)/\(Destination.stagingDirectory)"
    self.path = path
    own = "\(path)/\(Destination.digest([app], length: 16))"
    while true {
      if mkdir(path, 0o700) != 0, errno != EEXIST { throw SystemCallError("mkdir", code: errno, subject: path) }
      let opened: OwnedDescriptor
      do throws(SystemCallError) {
        opened = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      } catch {
        if error.code == ENOENT { continue }
        throw error
      }
      let number = opened.number
      try checkErrno("flock", path) { flock(number, LOCK_SH) }
      // Removed in between, by whoever was the last there: what was opened has no name any more.
      guard let named = try? Files.identity(of: path), try opened.identity().inode == named.inode else { continue }
      folder = opened
      return
    }
  }

  package static func hasFolder(_ directory: String) -> Bool {
    Files.exists("\(directory)/\(Destination.stagingDirectory)")
  }

  package func end() {
    defer { flock(folder.number, LOCK_UN) }
    guard flock(folder.number, LOCK_EX | LOCK_NB) == 0 else { return }
    rmdir(own)
    rmdir(path)
  }
}
