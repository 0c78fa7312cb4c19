internal import CLinux
internal import Glibc

/// What a volume has left (statvfs(3)).
public struct VolumeSpace: Sendable, Equatable {
  /// Bytes that an ordinary user may still write.
  public var free: Int64
  /// Bytes of the whole volume.
  public var total: Int64
  /// Inodes left; nil where the filesystem doesn't count them.
  public var freeInodes: Int64?

  /// Creates the space of a volume.
  public init(free: Int64, total: Int64, freeInodes: Int64?) {
    self.free = free
    self.total = total
    self.freeInodes = freeInodes
  }
}

/// The operations on downloaded files. Every one goes through one such value, so that a test can fail, shorten or interrupt the nth.
/// Names are relative to a directory's descriptor and never leave it. Calls block; any thread may make them.
public protocol FileOperations: Sendable {
  /// openat2(2) beneath `directory`: no symbolic link, no magic link, no other mount.
  func open(_ name: String, in directory: Int32, _ flags: Int32, mode: UInt32) throws(SystemCallError)
    -> OwnedDescriptor
  /// mkdirat(2).
  func makeDirectory(_ name: String, in directory: Int32, mode: UInt32) throws(SystemCallError)
  /// pwrite(2); may write less than was given, but at least one byte.
  func write(_ bytes: UnsafeRawBufferPointer, to file: Int32, at offset: Int64) throws(SystemCallError) -> Int
  /// pread(2); 0 at the end of the file.
  func read(_ buffer: UnsafeMutableRawBufferPointer, from file: Int32, at offset: Int64) throws(SystemCallError) -> Int
  /// fstat(2).
  func status(of file: Int32) throws(SystemCallError) -> FileIdentity
  /// fchmod(2).
  func setMode(_ mode: UInt32, of file: Int32) throws(SystemCallError)
  /// fchown(2); nil leaves the owner.
  func setOwner(_ owner: UInt32?, group: UInt32, of file: Int32) throws(SystemCallError)
  /// ftruncate(2).
  func truncate(_ file: Int32, to size: Int64) throws(SystemCallError)
  /// fallocate(2), without changing the file's size; EOPNOTSUPP where that isn't faster than writing.
  func preallocate(_ file: Int32, from offset: Int64, count: Int64) throws(SystemCallError)
  /// sync_file_range(2): write-back begins; nothing is promised.
  func startWriteback(_ file: Int32, from offset: Int64, count: Int64)
  /// fdatasync(2).
  func synchronizeData(_ file: Int32) throws(SystemCallError)
  /// fsync(2), of a file or a directory.
  func synchronize(_ file: Int32) throws(SystemCallError)
  /// syncfs(2): everything on the volume of `file`, at the price of one flush.
  func synchronizeVolume(of file: Int32) throws(SystemCallError)
  /// renameat2(2) with RENAME_NOREPLACE.
  func rename(_ name: String, in directory: Int32, to newName: String, in newDirectory: Int32) throws(SystemCallError)
  /// renameat(2): replaces a file that has the name, and at no moment is there none. A directory of that name is EISDIR.
  func replace(
    _ name: String, in directory: Int32, by newName: String, in newDirectory: Int32
  ) throws(SystemCallError)
  /// unlinkat(2).
  func remove(_ name: String, in directory: Int32) throws(SystemCallError)
  /// What the volume of `file` has left (fstatvfs(3)).
  func space(of file: Int32) throws(SystemCallError) -> VolumeSpace
  /// Bytes of the blocks that a file has, also beyond its end (st_blocks of stat(2)).
  func allocatedBytes(of file: Int32) throws(SystemCallError) -> Int64
  /// The first byte from `offset` on that was never written, or the end of the file (SEEK_HOLE of lseek(2)). A filesystem
  /// that keeps no account says the end. `offset` lies within the file, whose position changes.
  func firstHole(in file: Int32, from offset: Int64) throws(SystemCallError) -> Int64
  /// Bytes read as zeros afterwards, from memory as well: a hole (FALLOC_FL_PUNCH_HOLE of fallocate(2)), or zeros that are
  /// written where the filesystem has none.
  func erase(_ file: Int32, from offset: Int64, count: Int64) throws(SystemCallError)
}

extension FileOperations {
  public func replace(
    _ name: String, in directory: Int32, by newName: String, in newDirectory: Int32
  ) throws(SystemCallError) {
    try checkErrno("renameat", "\(newName) to \(name)") { renameat(newDirectory, newName, directory, name) }
  }

  public func setOwner(_ owner: UInt32?, group: UInt32, of file: Int32) throws(SystemCallError) {
    try checkErrno("fchown", "\(file)") { fchown(file, owner ?? uid_t.max, group) }
  }

  public func allocatedBytes(of file: Int32) throws(SystemCallError) -> Int64 {
    var status = stat()
    try checkErrno("fstat", "\(file)") { fstat(file, &status) }
    // POSIX leaves the unit open; on Linux it is 512 bytes everywhere (stat(2)).
    return Int64(status.st_blocks) * 512
  }

  public func erase(_ file: Int32, from offset: Int64, count: Int64) throws(SystemCallError) {
    do throws(SystemCallError) {
      return try check("fallocate", "\(file)") { ol_punch_hole(file, offset, count) }
    } catch {
      guard error.code == EOPNOTSUPP else { throw error }
    }
    let zeros = UnsafeMutableRawBufferPointer.allocate(byteCount: Int(min(count, 1 << 20)), alignment: 4096)
    defer { zeros.deallocate() }
    zeros.initializeMemory(as: UInt8.self, repeating: 0)
    var position = offset
    while position < offset + count {
      let length = Int(min(Int64(zeros.count), offset + count - position))
      position += Int64(try write(UnsafeRawBufferPointer(rebasing: zeros[..<length]), to: file, at: position))
    }
  }

  public func firstHole(in file: Int32, from offset: Int64) throws(SystemCallError) -> Int64 {
    var hole: Int64 = 0
    do throws(SystemCallError) {
      try check("lseek", "\(file)") { ol_first_hole(file, offset, &hole) }
    } catch {
      guard error.code == EINVAL else { throw error }
      return try status(of: file).size
    }
    return hole
  }
}

/// The kernel's own operations.
public struct SystemFiles: FileOperations {
  /// Creates the value; it has no state.
  public init() {}

  public func open(
    _ name: String, in directory: Int32, _ flags: Int32, mode: UInt32
  ) throws(SystemCallError) -> OwnedDescriptor {
    var descriptor: Int32 = -1
    try check("openat2", name) { ol_open_beneath(directory, name, flags, mode, &descriptor) }
    return OwnedDescriptor(taking: descriptor)
  }

  public func makeDirectory(_ name: String, in directory: Int32, mode: UInt32) throws(SystemCallError) {
    try checkErrno("mkdirat", name) { mkdirat(directory, name, mode) }
  }

  public func write(
    _ bytes: UnsafeRawBufferPointer, to file: Int32, at offset: Int64
  ) throws(SystemCallError) -> Int {
    try checkErrno("pwrite", "\(file)") { pwrite(file, bytes.baseAddress, bytes.count, off_t(offset)) }
  }

  public func read(
    _ buffer: UnsafeMutableRawBufferPointer, from file: Int32, at offset: Int64
  ) throws(SystemCallError) -> Int {
    try checkErrno("pread", "\(file)") { pread(file, buffer.baseAddress, buffer.count, off_t(offset)) }
  }

  public func status(of file: Int32) throws(SystemCallError) -> FileIdentity {
    var status = stat()
    try checkErrno("fstat", "\(file)") { fstat(file, &status) }
    return FileIdentity(status)
  }

  public func setMode(_ mode: UInt32, of file: Int32) throws(SystemCallError) {
    try checkErrno("fchmod", "\(file)") { fchmod(file, mode) }
  }

  public func truncate(_ file: Int32, to size: Int64) throws(SystemCallError) {
    try checkErrno("ftruncate", "\(file)") { ftruncate(file, off_t(size)) }
  }

  public func preallocate(_ file: Int32, from offset: Int64, count: Int64) throws(SystemCallError) {
    try check("fallocate", "\(file)") { ol_preallocate(file, offset, count) }
  }

  public func startWriteback(_ file: Int32, from offset: Int64, count: Int64) {
    _ = ol_start_writeback(file, offset, count)
  }

  public func synchronizeData(_ file: Int32) throws(SystemCallError) {
    try checkErrno("fdatasync", "\(file)") { fdatasync(file) }
  }

  public func synchronize(_ file: Int32) throws(SystemCallError) {
    try checkErrno("fsync", "\(file)") { fsync(file) }
  }

  public func synchronizeVolume(of file: Int32) throws(SystemCallError) {
    try check("syncfs", "\(file)") { ol_sync_filesystem(file) }
  }

  public func rename(
    _ name: String, in directory: Int32, to newName: String, in newDirectory: Int32
  ) throws(SystemCallError) {
    try check("renameat2", "\(name) to \(newName)") { ol_rename_exclusive(directory, name, newDirectory, newName) }
  }

  public func remove(_ name: String, in directory: Int32) throws(SystemCallError) {
    try checkErrno("unlinkat", name) { unlinkat(directory, name, 0) }
  }

  public func space(of file: Int32) throws(SystemCallError) -> VolumeSpace {
    var space = statvfs()
    try checkErrno("fstatvfs", "\(file)") { fstatvfs(file, &space) }
    return VolumeSpace(
      free: Int64(space.f_bavail) * Int64(space.f_frsize), total: Int64(space.f_blocks) * Int64(space.f_frsize),
      freeInodes: space.f_files == 0 ? nil : Int64(space.f_favail))
  }
}
