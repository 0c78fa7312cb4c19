internal import AssetModel
internal import Glibc
internal import Hashing
internal import LinuxSystem
internal import Synchronization

/// The named file that a download grows in. A named one survives a crash; an unnamed one doesn't.
///
/// @unchecked Sendable: everything but the constants and `read` is touched in the job's own lane only, one piece of work at
/// a time.
final class StagingFile: @unchecked Sendable {
  let destination: Destination
  let name: String
  private let opened = Mutex<LockedFile?>(nil)
  private let isEnded = Atomic<Bool>(false)
  /// How far write-back has been asked for.
  private var writebackOffset: Int64 = 0
  /// Why a write failed. What was queued behind it would leave a hole, and a service that is killed before the journal
  /// is told of that trusts the file's length.
  private var writeFailure: SystemCallError?
  /// Its name would survive a power cut.
  var isNameDurable = false

  /// Bytes between two requests for write-back.
  private static let writebackStep: Int64 = 8 << 20

  init(destination: Destination, name: String) {
    self.destination = destination
    self.name = name
  }

  var files: any FileOperations { destination.files }

  /// Opens the file, and makes it where there is none yet.
  func open() throws(SystemCallError) -> Int32 {
    // What comes too late changes nothing, and makes no file that the journal doesn't know of.
    if isEnded.load(ordering: .acquiring) { throw SystemCallError("open", code: EBADF, subject: name) }
    if let file = opened.withLock({ $0 }) { return file.descriptor.number }
    do {
      return try make()
    } catch {
      guard error.code == EEXIST else { throw error }
      // Left by a run that never wrote it into its journal: its bytes belong to no job, unless that run still writes.
      try FileLock.with(name, in: destination.staging.number) { () throws(SystemCallError) in
        try files.remove(name, in: destination.staging.number)
      }
      return try make()
    }
  }

  private func make() throws(SystemCallError) -> Int32 {
    let flags = O_RDWR | O_CREAT | O_EXCL
    return try take(try files.open(name, in: destination.staging.number, flags, mode: 0o600), name)
  }

  /// Locked before the first byte is read or written, so that of two who know the name only one has the file.
  @discardableResult
  func take(_ descriptor: consuming OwnedDescriptor, _ name: String) throws(SystemCallError) -> Int32 {
    let file = LockedFile(descriptor)
    try FileLock.take(file.descriptor.number, name: name, in: destination.staging.number)
    opened.withLock { $0 = file }
    return file.descriptor.number
  }

  /// Bytes of its blocks, beyond its end as well; 0 while it isn't open. Any thread.
  var allocatedBytes: Int64 {
    guard let file = opened.withLock({ $0 }) else { return 0 }
    defer { withExtendedLifetime(file) {} }
    return (try? files.allocatedBytes(of: file.descriptor.number)) ?? 0
  }

  /// Removes what earlier runs left and none goes on with: `names`, and what lies under its own while it isn't open.
  func removeUnused(_ names: [String]) {
    for other in names where other != name { destination.removeStaging(other) }
    if opened.withLock({ $0 == nil }) { destination.removeStaging(name) }
  }

  func identity() throws(SystemCallError) -> FileIdentity { try files.status(of: try open()) }

  /// What there is of a file.
  struct Kept {
    /// Bytes up to which a file without chunks is certain.
    var certain: Int64
    var found = ChunkMap.Found()
    /// Its last bytes, where they are compared with what comes.
    var tail: [UInt8] = []
  }

  /// Opens what the journal knows of, and cuts it to what is certain; nil where there is no such file (any more).
  /// `comparing`: bytes before its end that are read.
  func reopen(
    _ partial: Partial, boot: String, chunks: ChunkList? = nil, comparing: Int64 = 0
  ) throws(SystemCallError) -> Kept? {
    // Its own lock would keep it out.
    close()
    let number: Int32
    do {
      number = try take(try files.open(name, in: destination.staging.number, O_RDWR, mode: 0), name)
    } catch {
      if error.code == ENOENT { return nil }
      throw error
    }
    isNameDurable = true
    let identity = try files.status(of: number)
    guard identity.isRegularFile, identity.owner == geteuid() else {
      throw SystemCallError("open", code: EPERM, subject: "\(name): it isn't a regular file of this user")
    }
    let isSameFile = identity.inode == partial.inode && identity.device == partial.device
    // In one boot the page cache is intact: what was written is there, synchronised or not.
    let isIntact = isSameFile && partial.bootIdentifier == boot
    if let chunks, !partial.verifiedChunks.isEmpty {
      guard isSameFile, try holds(partial, chunks, size: identity.size, isIntact: isIntact) else { return nil }
      if identity.size > chunks.totalSize { try files.truncate(number, to: chunks.totalSize) }
      if partial.bootIdentifier == Partial.lostPages { try erase(chunks, besides: partial.verifiedChunks) }
      // After another boot as well: the digests say which of the bytes on the disk are right.
      let found = try find(chunks, besides: partial.verifiedChunks)
      return Kept(certain: min(identity.size, chunks.totalSize), found: found)
    }
    var certain: Int64 = 0
    // A file that grew chunk by chunk may have gaps.
    if isIntact, partial.verifiedChunks.isEmpty, identity.size >= partial.durableOffset {
      certain = max(partial.durableOffset, identity.size / BufferPool.alignment * BufferPool.alignment)
    } else {
      for checkpoint in partial.checkpoints.reversed() where checkpoint.offset <= identity.size {
        if try holds(checkpoint, isSameFile) {
          certain = checkpoint.offset
          break
        }
      }
    }
    if identity.size > certain { try files.truncate(number, to: certain) }
    writebackOffset = certain
    var tail: [UInt8] = []
    if comparing > 0 { try read(max(0, certain - comparing)..<certain) { tail += $0 } }
    return Kept(certain: certain, tail: tail)
  }

  /// What isn't durable is read from memory, where it may be right, and never gets to the disk: it has to be written again.
  private func erase(_ list: ChunkList, besides known: [UInt8]) throws(SystemCallError) {
    let number = try open()
    let size = try files.status(of: number).size
    for chunk in 0..<list.count where !ChunkMap.isSet(chunk, known) {
      let range = list.range(of: chunk)
      guard range.lowerBound < size else { break }
      try files.erase(number, from: range.lowerBound, count: min(range.upperBound, size) - range.lowerBound)
    }
  }

  private func holds(_ checkpoint: Partial.Checkpoint, _ isSameFile: Bool) throws(SystemCallError) -> Bool {
    guard !checkpoint.tailDigest.isEmpty else { return isSameFile }
    return try tailDigest(before: checkpoint.offset) == checkpoint.tailDigest
  }

  /// Whether the chunks that the journal calls durable can be there: none beyond the end, and after another boot the last of
  /// them has its digest.
  private func holds(
    _ partial: Partial, _ list: ChunkList, size: Int64, isIntact: Bool
  ) throws(SystemCallError) -> Bool {
    let bits = partial.verifiedChunks
    guard let last = (0..<list.count).last(where: { ChunkMap.isSet($0, bits) }) else { return true }
    guard list.range(of: last).upperBound <= size else { return false }
    return isIntact ? true : try isRight(last, list)
  }

  func isRight(_ chunk: Int, _ list: ChunkList) throws(SystemCallError) -> Bool {
    var hash = RunningHash(.sha256)
    try read(list.range(of: chunk)) { hash.update($0) }
    return list.digest(of: chunk).elementsEqual(hash.digest)
  }

  enum Preallocation { case done, unsupported, noRoom }

  /// Reserves the blocks: all of them, or none. A filesystem that can't is no reason to stop.
  func preallocate(to size: Int64) throws(SystemCallError) -> Preallocation {
    let number = try open()
    do {
      try files.preallocate(number, from: 0, count: size)
      return .done
    } catch {
      guard error.code == ENOSPC || error.code == EDQUOT else { return .unsupported }
    }
    // Some filesystems keep what they had found by then (ext4): beyond the end nothing is needed.
    try files.truncate(number, to: try files.status(of: number).size)
    return .noRoom
  }

  func write(_ buffer: TransferBuffer) throws(SystemCallError) {
    if let writeFailure { throw writeFailure }
    do {
      try writeAll(buffer)
    } catch {
      writeFailure = error
      throw error
    }
  }

  private func writeAll(_ buffer: TransferBuffer) throws(SystemCallError) {
    let number = try open()
    // Closed meanwhile, its number could be another file's, and its lock another process's.
    guard let file = opened.withLock({ $0 }), file.beginWriting() else {
      throw SystemCallError("pwrite", code: EBADF, subject: name)
    }
    defer { file.endWriting() }
    var done = 0
    while done < buffer.count {
      let rest = UnsafeRawBufferPointer(rebasing: buffer.bytes[done...])
      let written = try files.write(rest, to: number, at: buffer.offset + Int64(done))
      guard written > 0 else { throw SystemCallError("pwrite", code: EIO, subject: name) }
      done += written
    }
    if buffer.end - writebackOffset >= Self.writebackStep {
      files.startWriteback(number, from: writebackOffset, count: buffer.end - writebackOffset)
      writebackOffset = buffer.end
    }
  }

  /// Synchronises what was written up to `offset`, and names it so that it can be found again.
  func checkpoint(at offset: Int64) throws(SystemCallError) -> Partial.Checkpoint {
    let number = try open()
    let digest = try tailDigest(before: offset)
    try files.synchronizeData(number)
    try synchronizeName()
    return Partial.Checkpoint(offset: offset, tailDigest: digest)
  }

  func synchronizeData() throws(SystemCallError) {
    try files.synchronizeData(try open())
    try synchronizeName()
  }

  /// Before the journal counts on finding it.
  private func synchronizeName() throws(SystemCallError) {
    guard !isNameDurable else { return }
    try files.synchronize(destination.staging.number)
    isNameDurable = true
  }

  /// A failed synchronisation says that pages were lost, and a second one that succeeds proves nothing: forget them. Only
  /// of what is open: under its name may lie what an earlier run has verified.
  func cutOpened(to offset: Int64) throws(SystemCallError) {
    guard let cut = cuttingOpened(to: offset) else { throw SystemCallError("ftruncate", code: EBADF, subject: name) }
    try cut()
  }

  /// Likewise, for later: until then it stays locked, also when it is closed meanwhile. To be called once.
  func cuttingOpened(to offset: Int64) -> (@Sendable () throws(SystemCallError) -> Void)? {
    guard let file = opened.withLock({ $0 }), file.beginWriting() else { return nil }
    let files = files
    return { () throws(SystemCallError) in
      defer { file.endWriting() }
      try files.truncate(file.descriptor.number, to: offset)
    }
  }

  private func tailDigest(before offset: Int64) throws(SystemCallError) -> [UInt8] {
    var hash = RunningHash(.sha256)
    try read(max(0, offset - Partial.tailLength)..<offset) { hash.update($0) }
    return hash.digest
  }

  /// Hands the bytes of `range` over in pieces; fewer where the file is shorter. Any lane; one that comes too late finds no
  /// file, and makes none.
  func read(_ range: Range<Int64>, _ body: (UnsafeRawBufferPointer) -> Void) throws(SystemCallError) {
    guard let file = opened.withLock({ $0 }) else { throw SystemCallError("pread", code: EBADF, subject: name) }
    defer { withExtendedLifetime(file) {} }
    let number = file.descriptor.number
    let capacity = Int(min(256 << 10, max(1, range.upperBound - range.lowerBound)))
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: capacity, alignment: 4096)
    defer { memory.deallocate() }
    var position = range.lowerBound
    while position < range.upperBound {
      let wanted = Int(min(Int64(capacity), range.upperBound - position))
      let count = try files.read(UnsafeMutableRawBufferPointer(rebasing: memory[..<wanted]), from: number, at: position)
      if count == 0 { return }
      body(UnsafeRawBufferPointer(rebasing: memory[..<count]))
      position += Int64(count)
    }
  }

  /// Ready to be published: mode set, and everything on the disk unless the caller synchronises the whole volume.
  /// `replaced`: the file in whose place it comes, which it has owner, group and permissions of.
  func seal(mode: UInt32, replacing replaced: FileIdentity?, synchronizes: Bool) throws(SystemCallError) -> FileIdentity
  {
    let number = try open()
    try files.setMode(replaced.map { takeOwner(of: $0, number) } ?? mode, of: number)
    if synchronizes { try files.synchronize(number) }
    return try files.status(of: number)
  }

  /// Gives the file the owner and the group of `replaced`, as far as this user may, and says which permissions it gets: another
  /// group than before may no more than everybody. What runs as its owner (set-user-ID) doesn't do so with new content.
  private func takeOwner(of replaced: FileIdentity, _ number: Int32) -> UInt32 {
    let permissions = replaced.mode & 0o777
    if replaced.owner != geteuid(), (try? files.setOwner(replaced.owner, group: replaced.group, of: number)) != nil {
      return permissions
    }
    if (try? files.setOwner(nil, group: replaced.group, of: number)) != nil { return permissions }
    return permissions & ~(~(permissions << 3) & 0o070)
  }

  /// Forgets the file, and removes it.
  func discard() {
    try? whileLocked { () throws(SystemCallError) in try files.remove(name, in: destination.staging.number) }
    close()
  }

  /// Runs `body` while no other process has it or can get it.
  func whileLocked(_ body: () throws(SystemCallError) -> Void) throws(SystemCallError) {
    // Also when it is ended meanwhile; one that was ended before has no lock any more.
    if let file = opened.withLock({ $0 }), file.beginWriting() {
      defer { file.endWriting() }
      return try body()
    }
    try FileLock.with(name, in: destination.staging.number, body)
  }

  func close() {
    let file = opened.withLock { file in
      defer { file = nil }
      return file
    }
    file?.close()
  }

  /// Closes it for good: later writes fail, and the next run may open it. Reads that are under way go on.
  func end() {
    isEnded.store(true, ordering: .releasing)
    opened.withLock { $0 }?.close()
  }
}
