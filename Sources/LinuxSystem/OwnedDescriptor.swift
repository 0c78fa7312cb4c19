internal import CLinux
internal import Glibc

/// A file descriptor with one owner, closed when the owner goes.
public struct OwnedDescriptor: ~Copyable, Sendable {
  /// The descriptor.
  public let number: Int32

  /// Takes over an open descriptor.
  ///
  /// - Parameter number: The descriptor, which nothing else closes.
  public init(taking number: Int32) { self.number = number }

  /// Gives the descriptor up without closing it.
  ///
  /// - Returns: The descriptor, which the caller has to close.
  public consuming func release() -> Int32 {
    let number = self.number
    discard self
    return number
  }

  deinit { _ = Glibc.close(number) }

  /// Opens a file (open(2)), close-on-exec.
  ///
  /// - Parameters:
  ///   - path: The file's path.
  ///   - flags: As for open(2).
  ///   - mode: Of a file that is created.
  /// - Returns: The open file.
  /// - Throws: `SystemCallError` where the kernel refuses.
  public static func open(
    _ path: String, _ flags: Int32, mode: UInt32 = 0o600
  ) throws(SystemCallError) -> OwnedDescriptor {
    OwnedDescriptor(taking: try checkErrno("open", path) { Glibc.open(path, flags | O_CLOEXEC, mode) })
  }

  /// Makes a second descriptor of the same open file, close-on-exec.
  ///
  /// - Returns: The second one.
  /// - Throws: `SystemCallError` where the process may have no more descriptors.
  public borrowing func duplicate() throws(SystemCallError) -> OwnedDescriptor {
    let number = self.number
    return OwnedDescriptor(
      taking: try checkErrno("fcntl(F_DUPFD_CLOEXEC)", "\(number)") { fcntl(number, F_DUPFD_CLOEXEC, 3) })
  }

  /// What fstat(2) says of the file: among others device and inode, by which two names are known to be one file.
  ///
  /// - Returns: The file's identity and state.
  /// - Throws: `SystemCallError` of fstat(2).
  public borrowing func identity() throws(SystemCallError) -> FileIdentity {
    var status = stat()
    let number = self.number
    try checkErrno("fstat", "\(number)") { fstat(number, &status) }
    return FileIdentity(status)
  }

  /// Reads from the descriptor's position to the file's end.
  ///
  /// - Parameter limit: Bytes at which reading stops.
  /// - Returns: The bytes.
  /// - Throws: `SystemCallError` of read(2).
  public borrowing func readAll(limit: Int) throws(SystemCallError) -> [UInt8] {
    let number = self.number
    var bytes: [UInt8] = []
    // Nothing is written there but what is read: most of what this reads is a line of /proc or of a cgroup. It lies on the stack of a
    // thread that may be a caller's, and small.
    let code = withUnsafeTemporaryAllocation(byteCount: 16384, alignment: 1) { chunk -> Int32 in
      while bytes.count < limit {
        let count = read(number, chunk.baseAddress, Swift.min(chunk.count, limit - bytes.count))
        if count < 0 { return errno }
        if count == 0 { break }
        bytes.append(contentsOf: chunk[0..<count])
      }
      return 0
    }
    guard code == 0 else { throw SystemCallError("read", code: code, subject: "\(number)") }
    return bytes
  }

  /// Writes all of `text` at the descriptor's position, as control files of /proc and cgroupfs expect: in one call.
  ///
  /// - Parameter text: What is written.
  /// - Throws: `SystemCallError` where not all of it was written.
  public borrowing func write(_ text: String) throws(SystemCallError) {
    let number = self.number
    var text = text
    let code: Int32 = text.withUTF8 { bytes in
      Glibc.write(number, bytes.baseAddress, bytes.count) == bytes.count ? 0 : errno
    }
    guard code == 0 else { throw SystemCallError("write", code: code, subject: "\(number)") }
  }
}

/// Which file it is, and in which state (stat(2)).
public struct FileIdentity: Sendable, Equatable, Hashable {
  /// The number of the device that it lies on.
  public let device: UInt64
  /// Its number there.
  public let inode: UInt64
  /// Its bytes.
  public let size: Int64
  /// Its kind and permissions.
  public let mode: UInt32
  /// The user that owns it.
  public let owner: UInt32
  /// The group that owns it.
  public let group: UInt32
  /// Names that the file has.
  public let links: UInt64
  /// Nanoseconds since 1970 of the last change of its content.
  public let modified: Int64
  /// Nanoseconds since 1970 of the last change of its inode.
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

  /// Whether it is a regular file.
  public var isRegularFile: Bool { mode & S_IFMT == S_IFREG }
  /// Whether it is a directory.
  public var isDirectory: Bool { mode & S_IFMT == S_IFDIR }
  /// Whether it is a character or block device.
  public var isDevice: Bool { [S_IFCHR, S_IFBLK].contains(mode & S_IFMT) }
}
