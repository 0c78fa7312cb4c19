internal import Glibc
internal import LinuxSystem

/// The hidden folder of a container in which everything lies that goes with a run: finished downloads until the extension
/// has moved them, and its replacement folder. A container may hold any number of files; what a killed host left is
/// found here without looking through them. It is the plugin's to change at any moment: no link is followed.
struct IncomingFolder: ~Copyable {
  static let name = ".incoming"
  /// A plugin may fill it, too.
  private static let maxNames = 1024
  private static let tries = 16

  let descriptor: OwnedDescriptor
  private let container: OwnedDescriptor

  /// Throws ENOENT where there is none, unless it `creates` one; what isn't a folder goes.
  init(in container: consuming OwnedDescriptor, creates: Bool) throws(SystemCallError) {
    descriptor = try Self.open(in: container, creates: creates)
    self.container = container
  }

  private static func open(
    in container: borrowing OwnedDescriptor, creates: Bool
  ) throws(SystemCallError) -> OwnedDescriptor {
    let parent = container.number
    var made = Int32(-1)
    for _ in 0..<Self.tries where made < 0 {
      made = openat(parent, Self.name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      if made >= 0 { break }
      switch errno {
      case ENOENT where creates: mkdirat(parent, Self.name, 0o700)
      case ENOTDIR, ELOOP: unlinkat(parent, Self.name, 0)
      case EACCES where Files.unlock(Array(Self.name.utf8CString), in: parent): break
      case let code: throw SystemCallError("openat", code: code, subject: Self.name)
      }
    }
    guard made >= 0 else { throw SystemCallError("openat", code: ENOENT, subject: Self.name) }
    let folder = OwnedDescriptor(taking: made)
    // It is the host's to write in, whatever the plugin made of it.
    fchmod(made, 0o700)
    if geteuid() == 0 {
      let owner = try container.identity()
      fchown(made, owner.owner, owner.group)
    }
    return folder
  }

  init(in path: String, creates: Bool) throws(SystemCallError) {
    try self.init(in: try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY), creates: creates)
  }

  /// Whether a folder lies where the host made it. A plugin may have taken it away, alone or with all that is around it.
  borrowing func holds(_ name: String, _ folder: FileIdentity) -> Bool {
    func isSame(_ status: stat, _ identity: FileIdentity) -> Bool {
      UInt64(status.st_dev) == identity.device && UInt64(status.st_ino) == identity.inode
    }
    var (own, named) = (stat(), stat())
    guard let identity = try? descriptor.identity(),
      fstatat(container.number, Self.name, &own, AT_SYMLINK_NOFOLLOW) == 0, isSame(own, identity),
      fstatat(descriptor.number, name, &named, AT_SYMLINK_NOFOLLOW) == 0
    else { return false }
    return isSame(named, folder)
  }

  /// Not all of them where there are very many.
  borrowing func names() -> [String] {
    (try? Files.names(in: "/proc/self/fd/\(descriptor.number)", atMost: Self.maxNames)) ?? []
  }

  /// Removes an entry with all that is in it, and the folder if that was the last.
  borrowing func remove(_ name: String) {
    Files.removeTree("/proc/self/fd/\(descriptor.number)/\(name)")
    unlinkat(container.number, Self.name, AT_REMOVEDIR)
  }
}
