internal import CLinux
internal import Glibc

/// A file descriptor with one owner, closed when the owner goes.
public struct OwnedDescriptor: ~Copyable, Sendable {
  public let number: Int32

  public init(taking number: Int32) { self.number = number }

  /// Hands the descriptor over to someone who closes it by another way.
  public consuming func release() -> Int32 {
    let number = self.number
    discard self
    return number
  }

  deinit { _ = Glibc.close(number) }

  /// open(2), close-on-exec.
  public static func open(
    _ path: String, _ flags: Int32, mode: UInt32 = 0o600
  ) throws(SystemCallError) -> OwnedDescriptor {
    OwnedDescriptor(taking: try checkErrno("open", path) { Glibc.open(path, flags | O_CLOEXEC, mode) })
  }

  public borrowing func duplicate() throws(SystemCallError) -> OwnedDescriptor {
    let number = self.number
    return OwnedDescriptor(
      taking: try checkErrno("fcntl(F_DUPFD_CLOEXEC)", "\(number)") { fcntl(number, F_DUPFD_CLOEXEC, 3) })
  }

  /// Device and inode, by which two names are known to be one file.
  public borrowing func identity() throws(SystemCallError) -> FileIdentity {
    var status = stat()
    let number = self.number
    try checkErrno("fstat", "\(number)") { fstat(number, &status) }
    return FileIdentity(status)
  }

  /// Up to `limit` bytes from the descriptor's position to its end.
  public borrowing func readAll(limit: Int) throws(SystemCallError) -> [UInt8] {
    let number = self.number
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 65536)
    while bytes.count < limit {
      let wanted = Swift.min(chunk.count, limit - bytes.count)
      let count = try checkErrno("read", "\(number)") { read(number, &chunk, wanted) }
      if count == 0 { break }
      bytes.append(contentsOf: chunk[0..<count])
    }
    return bytes
  }

  /// Writes all of `text` at the descriptor's position, as control files of /proc and cgroupfs expect: in one call.
  public borrowing func write(_ text: String) throws(SystemCallError) {
    let number = self.number
    var text = text
    let code: Int32 = text.withUTF8 { bytes in
      Glibc.write(number, bytes.baseAddress, bytes.count) == bytes.count ? 0 : errno
    }
    guard code == 0 else { throw SystemCallError("write", code: code, subject: "\(number)") }
  }
}

public struct FileIdentity: Sendable, Equatable, Hashable {
  public let device: UInt64
  public let inode: UInt64
  public let size: Int64
  public let mode: UInt32
  public let owner: UInt32
  public let group: UInt32
  /// Names that the file has.
  public let links: UInt64
  /// Nanoseconds since 1970 of the last change of content and of the inode.
  public let modified: Int64
  public let changed: Int64

  init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int64(status.st_size)
    mode = status.st_mode
    owner = status.st_uid
    group = status.st_gid
    links = UInt64(status.st_nlink)
    modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    changed = Int64(status.st_ctim.tv_sec) * 1_000_000_000 + Int64(status.st_ctim.tv_nsec)
  }

  public var isRegularFile: Bool { mode & S_IFMT == S_IFREG }
  public var isDirectory: Bool { mode & S_IFMT == S_IFDIR }
  public var isDevice: Bool { [S_IFCHR, S_IFBLK].contains(mode & S_IFMT) }
}
