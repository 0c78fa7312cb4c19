internal import Glibc
package import LinuxSystem

/// The staging directory beneath a directory that people look at: kept as long as a job works there, then removed if
/// nothing is in it. A process that works there holds a shared lock on it, so that no other one removes it meanwhile.
package final class StagingLease: Sendable {
  /// By descriptors, because directories may be moved meanwhile.
  private let directory: OwnedDescriptor
  private let folder: OwnedDescriptor
  private let name: String
  private let app: String

  package init(_ directory: String, app: String) throws(SystemCallError) {
    let parent = try OwnedDescriptor.open(directory, O_RDONLY | O_DIRECTORY)
    self.app = Destination.digest([app], length: 16)
    let files = SystemFiles()
    while true {
      let name = StagingFolder.name(in: parent.number)
      do throws(SystemCallError) {
        try files.makeDirectory(name, in: parent.number, mode: 0o700)
      } catch {
        if error.code != EEXIST { throw error }
      }
      let opened: OwnedDescriptor
      do throws(SystemCallError) {
        opened = try files.open(name, in: parent.number, O_RDONLY | O_DIRECTORY, mode: 0)
      } catch {
        if error.code == ENOENT { continue }
        throw error
      }
      let number = opened.number
      try checkErrno("flock", name) { flock(number, LOCK_SH) }
      // Removed in between, by the last job there: what was opened has no name any more.
      guard let named = try? files.open(name, in: parent.number, O_RDONLY | O_DIRECTORY, mode: 0).identity(),
        try opened.identity().inode == named.inode
      else { continue }
      folder = opened
      self.name = name
      self.directory = parent
      return
    }
  }

  package static func hasFolder(_ directory: String) -> Bool {
    guard let parent = try? OwnedDescriptor.open(directory, O_RDONLY | O_DIRECTORY) else { return false }
    return Files.exists("\(directory)/\(StagingFolder.name(in: parent.number))")
  }

  /// Removes the folder of an app that is gone from a directory that stays, where nothing is in it. The one around it stays, too:
  /// another app may be about to make its own there.
  package static func removeEmptyFolder(of app: String, in directory: String) {
    guard let parent = try? OwnedDescriptor.open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
      let folder = try? SystemFiles().open(
        StagingFolder.name(in: parent.number), in: parent.number, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, mode: 0)
    else { return }
    unlinkat(folder.number, Destination.digest([app], length: 16), AT_REMOVEDIR)
  }

  package func end() {
    defer { flock(folder.number, LOCK_UN) }
    guard flock(folder.number, LOCK_EX | LOCK_NB) == 0 else { return }
    unlinkat(folder.number, app, AT_REMOVEDIR)
    unlinkat(directory.number, name, AT_REMOVEDIR)
  }
}
