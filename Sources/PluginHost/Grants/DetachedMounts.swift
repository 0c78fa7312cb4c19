internal import CLinux
internal import Glibc
internal import LinuxSystem

/// Mounts that a privileged host makes for a run and hands over detached. The runner's uid owns nothing on the machine;
/// through an id map the files of one owner are the runner's own, and what it writes belongs to that owner.
///
/// Only for root: an ordinary user's runners have the user's uid, and their fork server clones by path.
final class DetachedMounts {
  private struct Owner: Hashable {
    var user: UInt32
    var group: UInt32
  }

  private let runner: String
  private let uid: UInt32
  private let gid: UInt32
  private var maps: [Owner: Int32] = [:]

  init(runner: String, uid: UInt32, gid: UInt32) {
    self.runner = runner
    self.uid = uid
    self.gid = gid
  }

  deinit { for descriptor in maps.values { close(descriptor) } }

  /// A clone of `file`'s mount, as seen by its owner's stand-in. `mustMap`: fail where the filesystem can't map ids;
  /// otherwise what everyone may read is enough.
  func clone(_ file: PluginImage.File, mustMap: Bool) throws(SystemCallError) -> OwnedDescriptor {
    var number: Int32 = -1
    try check("open_tree", file.path) { ol_clone_mount(AT_FDCWD, file.path, 0, &number) }
    let mount = OwnedDescriptor(taking: number)
    let found = try mount.identity()
    guard found.device == file.identity.device, found.inode == file.identity.inode else {
      throw SystemCallError("open_tree", code: ESTALE, subject: file.path)
    }
    let owner = Owner(user: found.owner, group: found.group)
    if owner.user != uid {
      let map = try map(for: owner)
      let code = ol_idmap_mount(number, map)
      if code != 0, mustMap { throw SystemCallError(Self.mapping, code: code, subject: file.path) }
    }
    return mount
  }

  private static let mapping = "mount_setattr(IDMAP)"

  /// What helps where `clone` failed, as the end of a sentence.
  static func remedy(for error: SystemCallError) -> String {
    error.call == mapping
      ? "; run as the user who owns the folder, or choose a folder on a filesystem with id-mapped mounts (ext4, xfs, btrfs, tmpfs since Linux 6.3)"
      : ""
  }

  /// A user namespace in which the owner's ids stand for the runner's (mount_setattr(2), MOUNT_ATTR_IDMAP).
  private func map(for owner: Owner) throws(SystemCallError) -> Int32 {
    if let known = maps[owner] { return known }
    let (mine, theirs) = try Sockets.pair(stream: false)
    defer { close(mine) }
    let arguments: [UnsafeMutablePointer<CChar>?] = [strdup(runner), strdup("--user-namespace"), nil]
    var environment: [UnsafeMutablePointer<CChar>?] = [nil]
    defer { for argument in arguments { free(argument) } }
    var pid: pid_t = 0
    let code = ol_spawn(runner, arguments, &environment, theirs, &pid)
    // Held here, the socket would outlive the process, and the host wouldn't notice its end.
    close(theirs)
    try check("posix_spawn", runner) { code }
    defer {
      kill(pid, SIGKILL)
      var code: Int32 = 0
      var status: Int32 = 0
      _ = ol_wait(pid, &code, &status)
    }
    var byte = [UInt8](repeating: 0, count: 1)
    guard ol_poll_readable(mine, 5000) == 1, try Sockets.receive(mine, into: &byte)?.count == 1, byte[0] == 1 else {
      throw SystemCallError("unshare", code: EPERM, subject: "user namespace of an id map")
    }
    try Files.control("/proc/\(pid)/uid_map", "\(owner.user) \(uid) 1")
    try Files.control("/proc/\(pid)/gid_map", "\(owner.group) \(gid) 1")
    let descriptor = try OwnedDescriptor.open("/proc/\(pid)/ns/user", O_RDONLY).release()
    maps[owner] = descriptor
    return descriptor
  }
}
