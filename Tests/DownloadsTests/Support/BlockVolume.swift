import Glibc
import LinuxSystem
import Synchronization

/// A volume that counts blocks as ext4 does: what is preallocated isn't free any more, and belongs to its file until that is
/// cut or removed, even while a process has it open.
final class BlockVolume: FileOperations {
  struct State {
    var free: Int64
    /// Bytes of blocks, by inode.
    var allocated: [UInt64: Int64] = [:]

    mutating func allocate(_ inode: UInt64, to end: Int64) {
      free -= max(0, end - (allocated[inode] ?? 0))
      allocated[inode] = max(allocated[inode] ?? 0, end)
    }

    mutating func cut(_ inode: UInt64, to end: Int64) {
      guard let had = allocated[inode], had > end else { return }
      free += had - end
      allocated[inode] = end
    }
  }

  private let system = SystemFiles()
  private let total: Int64
  let state: Mutex<State>
  /// Called when blocks were found, before who wanted them hears of it.
  private let preallocated: @Sendable () -> Void

  init(free: Int64, total: Int64 = 100 << 30, preallocated: @escaping @Sendable () -> Void = {}) {
    self.total = total
    self.preallocated = preallocated
    state = Mutex(State(free: free))
  }

  func space(of file: Int32) throws(SystemCallError) -> VolumeSpace {
    VolumeSpace(free: state.withLock { $0.free }, total: total, freeInodes: nil)
  }

  func allocatedBytes(of file: Int32) throws(SystemCallError) -> Int64 {
    let inode = try system.status(of: file).inode
    return state.withLock { $0.allocated[inode] ?? 0 }
  }

  func write(_ bytes: UnsafeRawBufferPointer, to file: Int32, at offset: Int64) throws(SystemCallError) -> Int {
    let inode = try system.status(of: file).inode
    let count = try system.write(bytes, to: file, at: offset)
    state.withLock { $0.allocate(inode, to: offset + Int64(count)) }
    return count
  }

  func preallocate(_ file: Int32, from offset: Int64, count: Int64) throws(SystemCallError) {
    let inode = try system.status(of: file).inode
    let hasRoom = state.withLock { state in
      let had = state.allocated[inode] ?? 0
      guard offset + count - had <= state.free else { return false }
      state.allocate(inode, to: offset + count)
      return true
    }
    guard hasRoom else { throw SystemCallError("fallocate", code: ENOSPC, subject: "\(file)") }
    preallocated()
  }

  func truncate(_ file: Int32, to size: Int64) throws(SystemCallError) {
    let inode = try system.status(of: file).inode
    try system.truncate(file, to: size)
    state.withLock { $0.cut(inode, to: size) }
  }

  func remove(_ name: String, in directory: Int32) throws(SystemCallError) {
    let inode = try? system.open(name, in: directory, O_RDONLY | O_NONBLOCK, mode: 0).identity().inode
    try system.remove(name, in: directory)
    if let inode { state.withLock { $0.cut(inode, to: 0) } }
  }

  func open(_ name: String, in directory: Int32, _ flags: Int32, mode: UInt32) throws(SystemCallError)
    -> OwnedDescriptor
  { try system.open(name, in: directory, flags, mode: mode) }
  func makeDirectory(_ name: String, in directory: Int32, mode: UInt32) throws(SystemCallError) {
    try system.makeDirectory(name, in: directory, mode: mode)
  }
  func read(_ buffer: UnsafeMutableRawBufferPointer, from file: Int32, at offset: Int64) throws(SystemCallError) -> Int
  { try system.read(buffer, from: file, at: offset) }
  func status(of file: Int32) throws(SystemCallError) -> FileIdentity { try system.status(of: file) }
  func setMode(_ mode: UInt32, of file: Int32) throws(SystemCallError) { try system.setMode(mode, of: file) }
  func startWriteback(_ file: Int32, from offset: Int64, count: Int64) {}
  func synchronizeData(_ file: Int32) throws(SystemCallError) { try system.synchronizeData(file) }
  func synchronize(_ file: Int32) throws(SystemCallError) { try system.synchronize(file) }
  func synchronizeVolume(of file: Int32) throws(SystemCallError) { try system.synchronizeVolume(of: file) }
  func rename(_ name: String, in directory: Int32, to newName: String, in newDirectory: Int32)
    throws(SystemCallError)
  { try system.rename(name, in: directory, to: newName, in: newDirectory) }
}
