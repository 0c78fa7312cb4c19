internal import Basics
internal import GRDB
internal import Glibc
internal import LinuxSystem

/// A database as files: the file itself and what SQLite keeps beside it.
enum DatabaseFiles {
  static let suffixes = ["", "-wal", "-shm", "-journal"]

  /// What the first hundred bytes say (SQLite file format, 1.3), without SQLite.
  enum Header: Equatable {
    case missing
    /// In bytes; `pageCount` is 0 where the header doesn't say.
    case database(pageSize: Int64, pageCount: Int64, size: Int64)
    /// A directory, a pipe or the like: nothing that could be kept a copy of.
    case notAFile
    case damaged(String)
  }

  static func header(of path: String) throws(SystemCallError) -> Header {
    if !Files.exists(path) { return .missing }
    let file = try OwnedDescriptor.open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    let found = try file.identity()
    guard found.isRegularFile else { return .notAFile }
    if found.size == 0 { return .damaged("it is empty") }
    let bytes = try file.readAll(limit: 100)
    guard bytes.count == 100, bytes.starts(with: Array("SQLite format 3\0".utf8)) else {
      return .damaged("it isn't an SQLite database")
    }
    guard Int32(bitPattern: bytes.word(68)) == Schema.applicationIdentifier else {
      return .damaged("it is another program's database")
    }
    let stated = Int64(bytes[16]) << 8 | Int64(bytes[17])
    // The page count is valid only if it was written together with the change counter.
    let isCounted = bytes.word(24) == bytes.word(92)
    return .database(
      pageSize: stated == 1 ? 65_536 : stated, pageCount: isCounted ? Int64(bytes.word(28)) : 0, size: found.size)
  }

  /// Bytes that the file lacks and its write-ahead log doesn't hold either: SQLite would read them as zeros, and its own check
  /// sees that of some pages only. `pageCount`: what the file says, which is what a log said before it: none of ours ever
  /// gets shorter.
  static func missingBytes(
    of path: String, pageSize: Int64, pageCount: Int64, size: Int64
  ) throws(SystemCallError) -> Int64 {
    guard pageSize > 0 else { return 0 }
    let present = size / pageSize
    let log = try WriteAheadLog(of: path, after: present)
    let wanted = max(log.pageCount, pageCount)
    guard wanted > present else { return 0 }
    let missing = wanted - present - Int64(log.pages.count { $0 <= wanted })
    return missing * pageSize - (log.pages.contains(present + 1) ? 0 : size % pageSize)
  }

  /// A change that was interrupted and that the next one to write takes back, before any process can read.
  static func hasRollbackJournal(_ path: String) -> Bool {
    ((try? Files.identity(of: path + "-journal"))?.size ?? 0) > 0
  }

  /// The first thing that SQLite's own check finds wrong, or nil. Reads every page.
  static func firstFault(_ database: Database) throws -> String? {
    let answer = try String.fetchOne(database, sql: "PRAGMA quick_check(1)")
    return answer == "ok" ? nil : answer ?? "no answer"
  }

  /// Takes from all others the right to read: URLs and fields of requests are secrets, and the folder may be open to them.
  static func hide(_ path: String) throws(SystemCallError) {
    for suffix in suffixes {
      guard let found = try? Files.identity(of: path + suffix), found.isRegularFile, found.mode & 0o077 != 0 else {
        continue
      }
      do throws(SystemCallError) {
        try checkErrno("chmod", path + suffix) { chmod(path + suffix, 0o600) }
      } catch {
        // Some volumes have one mode for all of their files (FAT).
        guard [EPERM, EOPNOTSUPP, ENOSYS].contains(error.code) else { throw error }
      }
    }
  }

  static func remove(_ path: String) { for suffix in suffixes { unlink(path + suffix) } }

  /// Copies a damaged database under a dated name; nil if there is nothing. What hasn't changed since isn't copied again: a
  /// service that is restarted every minute must not fill the disk.
  static func keepCopy(of path: String, now: Int64) throws(SystemCallError) -> String? {
    // A log alone says nothing.
    guard Files.exists(path) else { return nil }
    let present = suffixes.filter { Files.exists(path + $0) }
    let changed = (try? Files.identity(of: path).modified) ?? now
    let copy = "\(path).damaged-\(WallClock.stamp(changed))-\(changed % 1_000_000_000)"
    if Files.exists(copy) { return copy }
    // The database itself last: where it is, the copy is whole.
    for suffix in present.reversed() {
      unlink("\(copy).unfinished")
      try Self.copy(path + suffix, to: "\(copy).unfinished")
      try checkErrno("rename", copy) { rename("\(copy).unfinished", copy + suffix) }
    }
    return copy
  }

  /// Makes the beginning of a database in WAL mode that of one with a rollback journal: the two bytes say which readers
  /// and writers may use it (SQLite file format, 1.3.3).
  static func leaveLog(_ beginning: UnsafeMutableRawBufferPointer) {
    guard beginning.count >= 100 else { return }
    (beginning[18], beginning[19]) = (1, 1)
  }

  /// `target` must not exist. `changing`: what is done to the first MiB on the way.
  static func copy(
    _ source: String, to target: String, changing: (UnsafeMutableRawBufferPointer) -> Void = { _ in }
  ) throws(SystemCallError) {
    let from = try OwnedDescriptor.open(source, O_RDONLY)
    let to = try OwnedDescriptor.open(target, O_WRONLY | O_CREAT | O_EXCL)
    let files = SystemFiles()
    // Not on the stack, which `ulimit -s` may have made small.
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 16)
    defer { buffer.deallocate() }
    var offset: Int64 = 0
    while true {
      let count = try files.read(buffer, from: from.number, at: offset)
      if count == 0 { break }
      if offset == 0 { changing(UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])) }
      var written = 0
      while written < count {
        let rest = UnsafeRawBufferPointer(rebasing: buffer[written..<count])
        written += try files.write(rest, to: to.number, at: offset + Int64(written))
      }
      offset += Int64(count)
    }
    try files.synchronize(to.number)
  }

  /// Renames a whole database to where it is used. An old one's log would be taken for its own, so that goes first; and the
  /// old one before it, because without its log it could pass for a sound one that knows less.
  static func putInPlace(_ unfinished: String, at path: String) throws(SystemCallError) {
    try synchronize(unfinished, O_RDWR)
    remove(path)
    try checkErrno("rename", unfinished) { rename(unfinished, path) }
    try synchronizeFolder(of: path)
  }

  static func synchronizeFolder(of path: String) throws(SystemCallError) {
    try synchronize(path.parentFolder ?? "", O_RDONLY | O_DIRECTORY)
  }

  static func synchronize(_ path: String, _ flags: Int32) throws(SystemCallError) {
    let file = try OwnedDescriptor.open(path, flags)
    let number = file.number
    try checkErrno("fsync", path) { fsync(number) }
  }
}
