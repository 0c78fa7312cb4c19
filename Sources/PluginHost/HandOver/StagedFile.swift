internal import Glibc
internal import LinuxSystem

/// A finished download in a folder of its own inside the container, so that moving it stays on one filesystem.
///
/// The container is the plugin's to change at any moment: behind its root everything goes through descriptors and no
/// symbolic link is followed.
struct StagedFile: ~Copyable {
  /// From the container's root, with a leading `/`.
  let relativePath: String
  private let folderName: String
  private let incoming: IncomingFolder
  private let lock: FolderLock

  /// `fileName`: one component. `expected`: the container that the run has, where the caller named it. `host`: which one of
  /// all puts it there.
  init(
    copying file: FinishedFile, as fileName: String, into path: String, _ expected: FileIdentity? = nil, host: UInt64
  ) throws(HostError) {
    let source = file.subject
    var step = HandOverFailure.Step.file
    do throws(SystemCallError) {
      let identity = try file.descriptor.identity()
      step = .container
      let container = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY)
      let owner = try container.identity()
      // Another plugin may have put something else in its place.
      guard expected.map({ $0.device == owner.device && $0.inode == owner.inode }) ?? true else {
        throw SystemCallError("open", code: ESTALE, subject: path)
      }
      step = .folder
      let incoming = try IncomingFolder(in: container, creates: true)
      let (name, lock) = try Self.makeFolder(in: incoming, host)
      let folder = lock.folder.number
      let output = OwnedDescriptor(
        taking: try checkErrno("openat", fileName) {
          openat(folder, fileName, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
        })
      var offset: off_t = 0
      while Int64(offset) < identity.size {
        let left = Int(min(identity.size - Int64(offset), 1 << 30))
        let count = try checkErrno("sendfile", source) {
          sendfile(output.number, file.descriptor.number, &offset, left)
        }
        if count == 0 { break }
      }
      if geteuid() == 0 {
        try checkErrno("fchown", source) { fchown(output.number, owner.owner, owner.group) }
        try checkErrno("fchown", name) { fchown(folder, owner.owner, owner.group) }
      }
      relativePath = "/\(IncomingFolder.name)/\(name)/\(fileName)"
      folderName = name
      self.incoming = incoming
      self.lock = lock
    } catch {
      throw HandOverFailure(step: step, error: error, file: source, container: path).hostError
    }
  }

  /// Of a folder that belongs to a run of this process.
  static func folderName(host: UInt64) -> String { "\(getpid())-\(host)-\(UInt64.random(in: 0 ... .max))" }

  private static func makeFolder(
    in incoming: borrowing IncomingFolder, _ host: UInt64
  ) throws(SystemCallError) -> (String, FolderLock) {
    let number = incoming.descriptor.number
    return try FolderLock.make(in: number) { () throws(SystemCallError) in
      let name = folderName(host: host)
      try checkErrno("mkdirat", name) { mkdirat(number, name, 0o700) }
      return name
    }
  }

  /// Removes what the plugin left where it was put, and what it put there itself.
  func remove() { incoming.remove(folderName) }

  /// Removes from a container what hosts that are gone had put there.
  static func sweep(_ path: String) {
    forEachFolder(in: path) { incoming, name, _ in
      do throws(SystemCallError) {
        let lock = try FolderLock(name, in: incoming.descriptor.number)
        if lock.state == .own { incoming.remove(name) }
      } catch {
        // No folder, so no host's.
        if [ENOTDIR, ELOOP].contains(error.code) { incoming.remove(name) }
      }
    }
  }

  /// Removes what one host of this process has there.
  static func remove(allOf host: UInt64, in path: String) {
    forEachFolder(in: path) { incoming, name, owner in
      if owner == host { incoming.remove(name) }
    }
  }

  private static func forEachFolder(
    in path: String, _ body: (_ incoming: borrowing IncomingFolder, _ name: String, _ host: UInt64) -> Void
  ) {
    guard let incoming = try? IncomingFolder(in: path, creates: false) else { return }
    for name in incoming.names() {
      let parts = name.split(separator: "-")
      guard parts.count == 3, pid_t(parts[0]) != nil, let host = UInt64(parts[1]) else { continue }
      body(incoming, name, host)
    }
  }
}
