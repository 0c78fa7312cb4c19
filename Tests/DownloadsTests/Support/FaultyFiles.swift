import Glibc
import LinuxSystem
import Synchronization

/// The system's files, but calls fail as a test says.
final class FaultyFiles: FileOperations {
  enum Kind: String, Sendable, CaseIterable {
    case open, makeDirectory, write, read, status, setMode, truncate, preallocate, synchronizeData, synchronize,
      synchronizeVolume
    case rename, space
  }

  enum Fault: Sendable {
    case code(Int32)
    /// At most so many bytes of a write.
    case short(Int)
  }

  private let system = SystemFiles()
  private let counts = Mutex<[Kind: Int]>([:])
  /// What is said to be left; nil: what there is.
  let left = Mutex<VolumeSpace?>(nil)
  /// Of the nth call of a kind, counted from 1; nil: nothing is wrong.
  private let fault: @Sendable (Kind, Int) -> Fault?

  init(_ fault: @escaping @Sendable (Kind, Int) -> Fault?) { self.fault = fault }

  /// The nth call of one kind fails, once.
  convenience init(_ kind: Kind, _ nth: Int, _ code: Int32) {
    self.init { $0 == kind && $1 == nth ? .code(code) : nil }
  }

  func count(_ kind: Kind) -> Int { counts.withLock { $0[kind] ?? 0 } }

  @discardableResult
  private func pass(_ kind: Kind) throws(SystemCallError) -> Fault? {
    let nth = counts.withLock { counts in
      counts[kind, default: 0] += 1
      return counts[kind, default: 0]
    }
    let fault = fault(kind, nth)
    if case .code(let code) = fault { throw SystemCallError(kind.rawValue, code: code, subject: "call \(nth)") }
    return fault
  }

  func open(_ name: String, in directory: Int32, _ flags: Int32, mode: UInt32) throws(SystemCallError)
    -> OwnedDescriptor
  {
    try pass(.open)
    return try system.open(name, in: directory, flags, mode: mode)
  }

  func makeDirectory(_ name: String, in directory: Int32, mode: UInt32) throws(SystemCallError) {
    try pass(.makeDirectory)
    try system.makeDirectory(name, in: directory, mode: mode)
  }

  func write(_ bytes: UnsafeRawBufferPointer, to file: Int32, at offset: Int64) throws(SystemCallError) -> Int {
    guard case .short(let most) = try pass(.write) else { return try system.write(bytes, to: file, at: offset) }
    return try system.write(UnsafeRawBufferPointer(rebasing: bytes.prefix(most)), to: file, at: offset)
  }

  func read(_ buffer: UnsafeMutableRawBufferPointer, from file: Int32, at offset: Int64) throws(SystemCallError) -> Int
  {
    try pass(.read)
    return try system.read(buffer, from: file, at: offset)
  }

  func status(of file: Int32) throws(SystemCallError) -> FileIdentity {
    try pass(.status)
    return try system.status(of: file)
  }

  func setMode(_ mode: UInt32, of file: Int32) throws(SystemCallError) {
    try pass(.setMode)
    try system.setMode(mode, of: file)
  }

  func truncate(_ file: Int32, to size: Int64) throws(SystemCallError) {
    try pass(.truncate)
    try system.truncate(file, to: size)
  }

  func preallocate(_ file: Int32, from offset: Int64, count: Int64) throws(SystemCallError) {
    try pass(.preallocate)
    try system.preallocate(file, from: offset, count: count)
  }

  func startWriteback(_ file: Int32, from offset: Int64, count: Int64) {
    system.startWriteback(file, from: offset, count: count)
  }

  func synchronizeData(_ file: Int32) throws(SystemCallError) {
    try pass(.synchronizeData)
    try system.synchronizeData(file)
  }

  func synchronize(_ file: Int32) throws(SystemCallError) {
    try pass(.synchronize)
    try system.synchronize(file)
  }

  func synchronizeVolume(of file: Int32) throws(SystemCallError) {
    try pass(.synchronizeVolume)
    try system.synchronizeVolume(of: file)
  }

  func rename(_ name: String, in directory: Int32, to newName: String, in newDirectory: Int32) throws(SystemCallError) {
    try pass(.rename)
    try system.rename(name, in: directory, to: newName, in: newDirectory)
  }

  func remove(_ name: String, in directory: Int32) throws(SystemCallError) { try system.remove(name, in: directory) }

  func space(of file: Int32) throws(SystemCallError) -> VolumeSpace {
    try pass(.space)
    if let left = left.withLock({ $0 }) { return left }
    return try system.space(of: file)
  }
}
