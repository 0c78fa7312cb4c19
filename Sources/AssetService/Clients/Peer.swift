internal import CLinux
internal import Glibc
internal import LinuxSystem

/// The process at the other end of a socket, pinned: its number can't become another's while this is held.
struct Peer: ~Copyable {
  let process: Int32
  let user: UInt32
  private let pidfd: OwnedDescriptor

  /// SO_PEERPIDFD (Linux 6.5) names the process for certain. Before that the number is opened, and asked for again
  /// afterwards: the socket's peer can't have changed meanwhile, and a process that was reaped has no /proc entry.
  init(of socket: Int32) throws(SystemCallError) {
    let before = try Self.credentials(socket)
    var number: Int32 = -1
    var length = socklen_t(MemoryLayout<Int32>.size)
    if getsockopt(socket, SOL_SOCKET, Self.peerPidfd, &number, &length) != 0 || number < 0 {
      try check("pidfd_open", "\(before.pid)") { ol_pidfd_open(before.pid, &number) }
    }
    let opened = OwnedDescriptor(taking: number)
    guard try Self.credentials(socket).pid == before.pid else {
      throw SystemCallError("getsockopt", code: ESRCH, subject: "SO_PEERCRED")
    }
    process = before.pid
    user = before.uid
    pidfd = opened
  }

  /// As they were when it connected: the process may be gone, and its number another's.
  static func credentials(of socket: Int32) throws(SystemCallError) -> (process: Int32, user: UInt32) {
    let credentials = try credentials(socket)
    return (credentials.pid, credentials.uid)
  }

  private static let peerPidfd: Int32 = 77

  /// A `struct ucred` (unix(7)), which Swift doesn't see.
  private struct Credentials {
    var pid: Int32 = 0
    var uid: UInt32 = 0
    var gid: UInt32 = 0
  }

  private static func credentials(_ socket: Int32) throws(SystemCallError) -> Credentials {
    var credentials = Credentials()
    var length = socklen_t(MemoryLayout<Credentials>.size)
    try checkErrno("getsockopt", "SO_PEERCRED") {
      getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length)
    }
    return credentials
  }

  /// Device and inode of what it executes, and where that lies; nil when the process is gone or can't be looked at.
  borrowing func executable() -> (path: String, identity: FileIdentity)? {
    let link = "/proc/\(process)/exe"
    guard let identity = try? Files.identity(of: link), let path = Files.link(link), isAlive else { return nil }
    return (path, identity)
  }

  /// A pidfd becomes readable when its process ends (pidfd_open(2)).
  private var isAlive: Bool {
    var entry = pollfd(fd: pidfd.number, events: Int16(POLLIN), revents: 0)
    return poll(&entry, 1, 0) == 0
  }
}
