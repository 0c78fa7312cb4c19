internal import Glibc
internal import LinuxSystem

/// A finished download in a folder of its own inside the container, so that moving it stays on one filesystem.
///
/// The container is the plugin's to change at any moment: behind its root everything goes through descriptors and no
/// symbolic link is followed.
struct StagedFile: ~Copyable {
  private static let prefix = ".incoming-"

  /// From the container's root, with a leading `/`.
  let relativePath: String
  private let folderName: String
  private let container: OwnedDescriptor
  private let lock: FolderLock

  /// `fileName`: one component. `host`: which one of all puts it there.
  init(copying source: String, as fileName: String, into path: String, host: UInt64) throws(HostError) {
    do throws(SystemCallError) {
      let input = try OwnedDescriptor.open(source, O_RDONLY | O_NONBLOCK)
      let identity = try input.identity()
      guard identity.isRegularFile else { throw SystemCallError("open", code: EINVAL, subject: source) }
      let container = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY)
      let owner = try container.identity()
      let (name, lock) = try Self.makeFolder(in: container, host)
      let folder = lock.folder.number
      let output = OwnedDescriptor(
        taking: try checkErrno("openat", fileName) {
          openat(folder, fileName, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
        })
      var left = identity.size
      while left > 0 {
        let count = try checkErrno("sendfile", source) {
          sendfile(output.number, input.number, nil, Int(min(left, 1 << 30)))
        }
        if count == 0 { break }
        left -= Int64(count)
      }
      if geteuid() == 0 {
        try checkErrno("fchown", source) { fchown(output.number, owner.owner, owner.group) }
        try checkErrno("fchown", name) { fchown(folder, owner.owner, owner.group) }
      }
      relativePath = "/\(name)/\(fileName)"
      folderName = name
      self.container = container
      self.lock = lock
    } catch {
      throw .input("\(source): \(error.code == EINVAL ? "not a regular file" : SystemCallError.message(error.code))")
    }
  }

  static func folderName(host: UInt64) -> String { "\(prefix)\(getpid())-\(host)-\(UInt64.random(in: 0 ... .max))" }

  private static func makeFolder(
    in container: borrowing OwnedDescriptor, _ host: UInt64
  ) throws(SystemCallError) -> (String, FolderLock) {
    let number = container.number
    return try FolderLock.make(in: number) { () throws(SystemCallError) in
      let name = folderName(host: host)
      try checkErrno("mkdirat", name) { mkdirat(number, name, 0o700) }
      return name
    }
  }

  /// Removes what the plugin left where it was put, and what it put there itself.
  func remove() { Self.remove(folderName, in: container) }

  private static func remove(_ name: String, in container: borrowing OwnedDescriptor) {
    Files.removeTree("/proc/self/fd/\(container.number)/\(name)")
  }

  /// Removes from a container what hosts that are gone had put there.
  static func sweep(_ path: String) {
    forEachFolder(in: path) { container, name, _ in
      do throws(SystemCallError) {
        let lock = try FolderLock(name, in: container.number)
        if lock.state == .own { remove(name, in: container) }
      } catch {
        // No folder, so no host's.
        if [ENOTDIR, ELOOP].contains(error.code) { remove(name, in: container) }
      }
    }
  }

  /// Removes what one host of this process has there.
  static func remove(allOf host: UInt64, in path: String) {
    forEachFolder(in: path) { container, name, owner in
      if owner == host { remove(name, in: container) }
    }
  }

  private static func forEachFolder(
    in path: String, _ body: (_ container: borrowing OwnedDescriptor, _ name: String, _ host: UInt64) -> Void
  ) {
    guard let names = try? Files.names(in: path),
      let container = try? OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY)
    else { return }
    for name in names where name.hasPrefix(prefix) {
      let parts = name.dropFirst(prefix.count).split(separator: "-")
      guard parts.count == 3, pid_t(parts[0]) != nil, let host = UInt64(parts[1]) else { continue }
      body(container, name, host)
    }
  }
}
