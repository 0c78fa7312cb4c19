internal import Basics
internal import CLinux
internal import Glibc
internal import LinuxSystem

/// A finished file that was renamed into a folder of its own in a container. Unlike a copy it is the only one there is: its
/// folder is named after the inode, so that another process finds it again, and no host sweeps it.
///
/// The container is the plugin's to change at any moment. What became of the file is therefore not looked up but found out
/// by taking it away, and asking what was taken and which names are left.
struct MovedFile: ~Copyable {
  /// Where the plugin sees it.
  let view: String
  private let folderName: String
  private let fileName: String
  private let incoming: IncomingFolder
  private let lock: FolderLock
  private let file: OwnedDescriptor
  private let before: FileIdentity
  private let origin: Origin

  /// Where the file was taken from.
  struct Origin: ~Copyable {
    let folder: OwnedDescriptor
    let name: String

    /// Through no link that a plugin may have made.
    init(_ path: String, writable: [FileIdentity]) throws(HostError) {
      let parent = path.parentFolder ?? "."
      name = path.lastPathName
      guard !name.isEmpty, name != ".", name != "..", !path.utf8.contains(0) else {
        throw .usage("\(path): not the path of a file")
      }
      let named = try RunPath(opening: parent, writable: writable, subject: path)
      folder = try named.reading()
    }
  }

  /// `fileName`: one component.
  init(
    moving path: String, as fileName: String, into place: GroupContainers.Place, writable: [FileIdentity]
  ) throws(HostError) {
    let container = place.path
    let origin = try Origin(path, writable: writable)
    var step = HandOverFailure.Step.file
    do throws(SystemCallError) {
      let file = OwnedDescriptor(taking: try Self.open(origin.name, in: origin.folder.number))
      let before = try file.identity()
      guard before.isRegularFile else { throw SystemCallError("open", code: EINVAL, subject: path) }
      step = .container
      let folder = try OwnedDescriptor.open(container, O_RDONLY | O_DIRECTORY)
      let owner = try folder.identity()
      guard place.identity.map({ $0.device == owner.device && $0.inode == owner.inode }) ?? true else {
        throw SystemCallError("open", code: ESTALE, subject: container)
      }
      step = .folder
      let incoming = try IncomingFolder(in: folder, creates: true)
      let (name, lock) = try Self.makeFolder(in: incoming, inode: before.inode)
      do throws(SystemCallError) {
        try Self.take(origin.name, origin.folder.number, to: fileName, lock.folder.number)
      } catch {
        incoming.remove(name)
        throw error
      }
      if geteuid() == 0 {
        fchown(file.number, owner.owner, owner.group)
        fchown(lock.folder.number, owner.owner, owner.group)
      }
      view = "\(place.view)/\(IncomingFolder.name)/\(name)/\(fileName)"
      folderName = name
      self.fileName = fileName
      self.incoming = incoming
      self.lock = lock
      self.file = file
      self.before = before
      self.origin = origin
    } catch {
      if error.code == EXDEV {
        throw .usage("\(path) lies on another filesystem than the container \(container); hand a copy over instead")
      }
      throw HandOverFailure(step: step, error: error, file: path, container: container).hostError
    }
  }

  private static func open(_ name: String, in folder: Int32) throws(SystemCallError) -> Int32 {
    try checkErrno("openat", name) { openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC) }
  }

  private static func take(
    _ name: String, _ folder: Int32, to newName: String, _ newFolder: Int32
  ) throws(SystemCallError) {
    try check("renameat2", name) { ol_rename_exclusive(folder, name, newFolder, newName) }
  }

  private static func folderName(inode: UInt64) -> String { "moved-\(inode)" }

  private static func makeFolder(
    in incoming: borrowing IncomingFolder, inode: UInt64
  ) throws(SystemCallError) -> (String, FolderLock) {
    let number = incoming.descriptor.number
    let name = folderName(inode: inode)
    return try FolderLock.make(in: number) { () throws(SystemCallError) in
      // The file isn't in it: so it is a leftover, or the plugin's.
      Files.removeTree("/proc/self/fd/\(number)/\(name)")
      try checkErrno("mkdirat", name) { mkdirat(number, name, 0o700) }
      return name
    }
  }

  /// Deletes what the plugin left where it was put, and what it put there itself.
  consuming func delete() -> Handover.File {
    guard isInPlace else { return .moved }
    let wasThere = names(itself: fileName, in: lock.folder.number)
    unlinkat(lock.folder.number, fileName, 0)
    incoming.remove(folderName)
    guard wasThere, let after = try? file.identity(), after.links == 0 else { return .moved }
    return isSame(after) ? .left : .changed
  }

  /// Puts it back to where it came from, if the plugin left it as it was.
  consuming func giveBack(after failure: HostError?) -> Handover {
    guard isInPlace else { return Handover(file: .moved, isGivenBack: false, failure: failure) }
    let folder = origin.folder.number
    defer { incoming.remove(folderName) }
    do throws(SystemCallError) {
      try Self.take(fileName, lock.folder.number, to: origin.name, folder)
    } catch {
      let isLeft = error.code != ENOENT && names(itself: fileName, in: lock.folder.number)
      guard isLeft else { return Handover(file: .moved, isGivenBack: false, failure: failure) }
      // Something else has its name by now.
      unlinkat(lock.folder.number, fileName, 0)
      return Handover(file: .left, isGivenBack: false, failure: failure)
    }
    let after = try? file.identity()
    let isBack = names(itself: origin.name, in: folder)
    // Under a second name it is the plugin's, and what it does to that one it does to this.
    let isOurs = isBack && after?.links == 1
    guard isOurs, let after, isSame(after) else {
      unlinkat(folder, origin.name, 0)
      return Handover(file: isOurs ? .changed : .moved, isGivenBack: false, failure: failure)
    }
    if geteuid() == 0 { fchown(file.number, before.owner, before.group) }
    return Handover(file: .left, isGivenBack: true, failure: failure)
  }

  private var isInPlace: Bool {
    guard let folder = try? lock.folder.identity() else { return false }
    return incoming.holds(folderName, folder)
  }

  private func isSame(_ after: FileIdentity) -> Bool { after.size == before.size && after.modified == before.modified }

  /// Whether a name leads to this very file.
  private func names(itself name: String, in folder: Int32) -> Bool {
    var status = stat()
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && UInt64(status.st_ino) == before.inode
      && UInt64(status.st_dev) == before.device
  }

  static func takeBack(inode: UInt64, from container: String, to path: String) throws(HostError) -> Bool {
    let origin = try Origin(path, writable: [try? Files.identity(of: container)].compactMap { $0 })
    do throws(SystemCallError) {
      let incoming = try IncomingFolder(in: container, creates: false)
      let name = folderName(inode: inode)
      let lock = try FolderLock(name, in: incoming.descriptor.number)
      guard lock.state != .taken else { throw SystemCallError("flock", code: EWOULDBLOCK, subject: name) }
      let folder = lock.folder.number
      for fileName in try Files.names(in: "/proc/self/fd/\(folder)", atMost: 1024) {
        var status = stat()
        guard fstatat(folder, fileName, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_ino == inode,
          status.st_mode & S_IFMT == S_IFREG, status.st_nlink == 1
        else { continue }
        try take(fileName, folder, to: origin.name, origin.folder.number)
        incoming.remove(name)
        return true
      }
      incoming.remove(name)
      return false
    } catch {
      if [ENOENT, ENOTDIR, ELOOP].contains(error.code) { return false }
      throw .failed("\(path) can't be taken back from \(container): \(SystemCallError.message(error.code))")
    }
  }
}
