internal import Glibc
internal import LinuxSystem

/// A lock (flock(2)) on a folder says that the process that made it is at work. Process ids don't: where hosts share a folder, one may be in
/// a pid namespace in which nothing is known of the other. The kernel lets go when the process ends, however it ends.
///
/// What an extension has made is locked by another kind, F_OFD_SETLK: flock isn't among the calls that it may make.
final class FolderLock: Sendable {
  enum State: Sendable, Equatable {
    case own
    /// Another process holds it, or the name has come to lead elsewhere meanwhile.
    case taken
    /// The filesystem has no locks for folders, so no process can ever lock this one.
    case unavailable
  }

  let folder: OwnedDescriptor
  let state: State

  /// Doesn't wait, and follows no symbolic link.
  init(_ name: String, in directory: Int32 = AT_FDCWD) throws(SystemCallError) {
    func open() throws(SystemCallError) -> OwnedDescriptor {
      OwnedDescriptor(
        taking: try checkErrno("openat", name) {
          openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        })
    }
    var found: OwnedDescriptor
    do throws(SystemCallError) {
      found = try open()
    } catch {
      // A plugin may have locked its owner out.
      guard error.code == EACCES, Files.unlock(Array(name.utf8CString), in: directory) else { throw error }
      found = try open()
    }
    let number = found.number
    if flock(number, LOCK_EX | LOCK_NB) == 0 {
      var named = stat()
      let identity = try found.identity()
      // Locked too late, it is on its way out or gone.
      let isThere =
        fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0 && UInt64(named.st_dev) == identity.device
        && UInt64(named.st_ino) == identity.inode
      state = isThere && !Self.isReadLocked(number) ? .own : .taken
    } else {
      state = errno == EWOULDBLOCK ? .taken : .unavailable
    }
    folder = found
  }

  /// A process that this one is starting has a copy of the descriptor until it executes its program: the lock doesn't wait for that.
  deinit { if state == .own { flock(folder.number, LOCK_UN) } }

  private static func isReadLocked(_ folder: Int32) -> Bool {
    let getLock: Int32 = 36  // F_OFD_GETLK, which Swift doesn't see (fcntl(2)).
    var lock = Glibc.flock()
    lock.l_type = Int16(F_WRLCK)
    return fcntl(folder, getLock, &lock) == 0 && Int32(lock.l_type) != F_UNLCK
  }

  /// Makes a folder and locks it. Another host may take it for a leftover between the two: then it has it, and the next
  /// one is made.
  static func make(
    in directory: Int32 = AT_FDCWD, _ makeFolder: () throws(SystemCallError) -> String
  ) throws(SystemCallError) -> (name: String, lock: FolderLock) {
    for _ in 0..<16 {
      let name = try makeFolder()
      do {
        let lock = try FolderLock(name, in: directory)
        if lock.state != .taken { return (name, lock) }
      } catch {
        if error.code == ENOENT { continue }
        unlinkat(directory, name, AT_REMOVEDIR)
        throw error
      }
    }
    throw SystemCallError("flock", code: EWOULDBLOCK, subject: "a new folder")
  }
}
