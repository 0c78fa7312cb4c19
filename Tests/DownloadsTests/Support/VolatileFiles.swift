import Foundation
import Glibc
import LinuxSystem
import Synchronization

/// Files on a volume that loses its power: at the nth operation everything stops, and then `loseWhatWasNotSynchronized`
/// makes the disk what it would be afterwards. As strict as POSIX allows: a name is durable when its directory was
/// synchronised, whatever happened to the file.
final class VolatileFiles: FileOperations {
  private enum Change {
    case write(offset: Int64, bytes: [UInt8])
    case truncate(Int64)
  }

  private struct Contents {
    var durable: [UInt8]
    var changes: [Change] = []
    /// A name for it outside of what is tested, so that it can be changed whatever it is called in the end.
    let link: String
  }

  private enum NameChange {
    case made(String)
    case renamed(from: String, to: String)
    case removed(String, kept: String)
  }

  private struct State {
    var operations = 0
    var isDead = false
    var contents: [UInt64: Contents] = [:]
    var names: [(change: NameChange, directories: Set<String>)] = []
    var lastNumber = 0
  }

  private let system = SystemFiles()
  private let state = Mutex(State())
  private let shadow: String
  let last: Int
  private let whenDead: @Sendable () -> Void

  /// `shadow`: a directory of the same filesystem. `last`: the number of the operation that isn't done any more.
  init(shadow: String, last: Int, whenDead: @escaping @Sendable () -> Void) {
    self.shadow = shadow
    self.last = last
    self.whenDead = whenDead
  }

  var isDead: Bool { state.withLock { $0.isDead } }

  /// One operation more, of files or of the journal. After the last one there is no power.
  func pass() throws(SystemCallError) {
    let (isDead, isFirst) = state.withLock { state in
      state.operations += 1
      let isFirst = state.operations == last
      state.isDead = state.isDead || isFirst
      return (state.isDead, isFirst)
    }
    if isFirst { whenDead() }
    if isDead { throw SystemCallError("power", code: EIO, subject: "the volume") }
  }

  private static func path(of descriptor: Int32) -> String {
    (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")) ?? ""
  }

  private func number(_ state: inout State) -> Int {
    state.lastNumber += 1
    return state.lastNumber
  }

  func open(_ name: String, in directory: Int32, _ flags: Int32, mode: UInt32) throws(SystemCallError)
    -> OwnedDescriptor
  {
    try pass()
    let opened = try system.open(name, in: directory, flags, mode: mode)
    guard flags & O_CREAT != 0 else { return opened }
    let parent = Self.path(of: directory)
    let path = "\(parent)/\(name)"
    let inode = try opened.identity().inode
    state.withLock { state in
      let link = "\(shadow)/\(number(&state))"
      guard Glibc.link(path, link) == 0 else { return }
      state.contents[inode] = Contents(durable: [], link: link)
      state.names.append((.made(path), [parent]))
    }
    return opened
  }

  func makeDirectory(_ name: String, in directory: Int32, mode: UInt32) throws(SystemCallError) {
    try pass()
    try system.makeDirectory(name, in: directory, mode: mode)
  }

  func write(_ bytes: UnsafeRawBufferPointer, to file: Int32, at offset: Int64) throws(SystemCallError) -> Int {
    try pass()
    let count = try system.write(bytes, to: file, at: offset)
    try note(.write(offset: offset, bytes: Array(bytes.prefix(count))), file)
    return count
  }

  private func note(_ change: Change, _ file: Int32) throws(SystemCallError) {
    let inode = try system.status(of: file).inode
    state.withLock { $0.contents[inode]?.changes.append(change) }
  }

  func read(_ buffer: UnsafeMutableRawBufferPointer, from file: Int32, at offset: Int64) throws(SystemCallError) -> Int
  {
    try system.read(buffer, from: file, at: offset)
  }

  func status(of file: Int32) throws(SystemCallError) -> FileIdentity { try system.status(of: file) }
  func setMode(_ mode: UInt32, of file: Int32) throws(SystemCallError) { try system.setMode(mode, of: file) }

  func truncate(_ file: Int32, to size: Int64) throws(SystemCallError) {
    try pass()
    try system.truncate(file, to: size)
    try note(.truncate(size), file)
  }

  func preallocate(_ file: Int32, from offset: Int64, count: Int64) throws(SystemCallError) { try pass() }
  func startWriteback(_ file: Int32, from offset: Int64, count: Int64) {}

  func synchronizeData(_ file: Int32) throws(SystemCallError) { try synchronize(file) }

  func synchronize(_ file: Int32) throws(SystemCallError) {
    try pass()
    let found = try system.status(of: file)
    let path = Self.path(of: file)
    state.withLock { state in
      if found.isDirectory {
        for index in state.names.indices { state.names[index].directories.remove(path) }
        state.names.removeAll { $0.directories.isEmpty }
      } else {
        Self.flush(&state.contents[found.inode]) { _ in true }
      }
    }
  }

  func synchronizeVolume(of file: Int32) throws(SystemCallError) {
    try pass()
    state.withLock { state in
      state.names = []
      for inode in state.contents.keys { Self.flush(&state.contents[inode]) { _ in true } }
    }
  }

  private static func flush(_ contents: inout Contents?, _ isKept: (Int) -> Bool) {
    guard var changed = contents else { return }
    for (index, change) in changed.changes.enumerated() where isKept(index) {
      switch change {
      case .truncate(let size): resize(&changed.durable, Int(size))
      case .write(let offset, let bytes):
        let end = Int(offset) + bytes.count
        if changed.durable.count < end { resize(&changed.durable, end) }
        changed.durable.replaceSubrange(Int(offset)..<end, with: bytes)
      }
    }
    changed.changes = []
    contents = changed
  }

  private static func resize(_ bytes: inout [UInt8], _ size: Int) {
    if bytes.count > size { bytes.removeLast(bytes.count - size) }
    if bytes.count < size { bytes += [UInt8](repeating: 0, count: size - bytes.count) }
  }

  func rename(_ name: String, in directory: Int32, to newName: String, in newDirectory: Int32) throws(SystemCallError) {
    try pass()
    try system.rename(name, in: directory, to: newName, in: newDirectory)
    let (from, to) = (Self.path(of: directory), Self.path(of: newDirectory))
    state.withLock { $0.names.append((.renamed(from: "\(from)/\(name)", to: "\(to)/\(newName)"), [from, to])) }
  }

  func remove(_ name: String, in directory: Int32) throws(SystemCallError) {
    try pass()
    let parent = Self.path(of: directory)
    let kept = state.withLock { state in "\(shadow)/\(number(&state))" }
    let isKept = link("\(parent)/\(name)", kept) == 0
    try system.remove(name, in: directory)
    if isKept { state.withLock { $0.names.append((.removed("\(parent)/\(name)", kept: kept), [parent])) } }
  }

  func space(of file: Int32) throws(SystemCallError) -> VolumeSpace { try system.space(of: file) }

  /// The power is back. Of what wasn't synchronised `survives` says which writes got to the disk by themselves; names go in
  /// the order in which they were made, so that those that survive are the first ones.
  func loseWhatWasNotSynchronized(names surviving: Int, survives: (Int) -> Bool) throws {
    try state.withLock { state in
      for entry in state.names.dropFirst(surviving).reversed() {
        switch entry.change {
        case .made(let path): unlink(path)
        case .renamed(let from, let to): Glibc.rename(to, from)
        case .removed(let path, let kept): Glibc.link(kept, path)
        }
      }
      for inode in state.contents.keys {
        Self.flush(&state.contents[inode], survives)
        guard let contents = state.contents[inode] else { continue }
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: contents.link))
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: contents.durable)
        try file.close()
      }
      for name in try FileManager.default.contentsOfDirectory(atPath: shadow) { unlink("\(shadow)/\(name)") }
    }
  }

  /// Names that aren't durable yet.
  var pendingNames: Int { state.withLock { $0.names.count } }
}
