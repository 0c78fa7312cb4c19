internal import Glibc

/// An exclusive lock on a whole file (flock(2)): it belongs to an open description and ends with it.
package enum FileLock {
  /// EWOULDBLOCK, with a subject that names the holder, while another description has it. On a filesystem without locks it always
  /// succeeds.
  package static func take(_ file: Int32, name: String) throws(SystemCallError) {
    while flock(file, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK else {
        if errno == EINTR { continue }
        return
      }
      var status = stat()
      let holder = fstat(file, &status) == 0 ? holderName(inode: UInt64(status.st_ino)) : "another process"
      throw SystemCallError("flock", code: EWOULDBLOCK, subject: name + beingWritten + holder)
    }
  }

  private static let beingWritten = " is being written by "

  /// For people: who has the lock that `take` failed for, without the file's name, which may mean nothing to them.
  package static func holder(_ error: SystemCallError) -> String {
    error.subject.firstRange(of: beingWritten).map { String(error.subject[$0.upperBound...]) } ?? "another process"
  }

  /// Said aloud before closing: a child that is about to execute something still shares the description.
  package static func giveBack(_ file: Int32) { flock(file, LOCK_UN) }

  /// Has the lock of what a name leads to while it runs `body`; likewise EWOULDBLOCK, and then it doesn't.
  package static func with<T>(
    _ name: String, in directory: Int32, _ body: () throws(SystemCallError) -> T
  ) throws(SystemCallError) -> T {
    let flags = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    // NFS locks exclusively only what is open for writing (flock(2)).
    var file = openat(directory, name, O_RDWR | flags)
    if file < 0, errno != ENOENT { file = openat(directory, name, O_RDONLY | flags) }
    guard file >= 0 else {
      // Not being able to look doesn't mean that there is no holder.
      if [EMFILE, ENFILE, ENOMEM].contains(errno) { throw SystemCallError("openat", code: errno, subject: name) }
      return try body()
    }
    defer { close(file) }
    try take(file, name: name, in: directory)
    defer { giveBack(file) }
    return try body()
  }

  /// Locks an open file of which `name` was opened. Between opening and locking, its holder may have renamed it and another
  /// process have made a new one: likewise EWOULDBLOCK, and then this one isn't locked.
  package static func take(_ file: Int32, name: String, in directory: Int32) throws(SystemCallError) {
    try take(file, name: name)
    var opened = stat()
    var named = stat()
    if fstat(file, &opened) == 0, fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) == 0,
      opened.st_ino == named.st_ino, opened.st_dev == named.st_dev
    {
      return
    }
    giveBack(file)
    throw SystemCallError("flock", code: EWOULDBLOCK, subject: name + beingWritten + "another process")
  }

  /// Whether a process has the lock of a file, by the kernel's list (proc_locks(5)): trying it would keep out, for a moment, who
  /// wants it.
  package static func isHeld(inode: UInt64) -> Bool { !holders(inode).isEmpty }

  /// For people: the name and number of the process that has a file's lock, as far as this one may know.
  static func holderName(inode: UInt64) -> String {
    guard let pid = holders(inode).first(where: { $0 > 0 }) else { return "another process" }
    let name = ((try? Files.text(of: "/proc/\(pid)/comm", limit: 64)) ?? "").prefix { $0 != "\n" }
    return name.isEmpty ? "process \(pid)" : "process \(pid) (\(name))"
  }

  /// The kernel gives its list a page at a time, and passes over locks when others are released between two pages: that a
  /// lock isn't in it is believed when it wasn't three times in a row.
  private static func holders(_ inode: UInt64) -> [Int32] {
    for _ in 0..<3 {
      let found = listedHolders(inode)
      if !found.isEmpty { return found }
    }
    return []
  }

  /// 0 for a process that isn't of this process's PID namespace.
  private static func listedHolders(_ inode: UInt64) -> [Int32] {
    guard let locks = try? Files.text(of: "/proc/locks", limit: 1 << 20) else { return [] }
    return locks.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ")
      guard words.count > 5, words[1] == "FLOCK", words[5].hasSuffix(":\(inode)") else { return nil }
      return Int32(words[4]) ?? 0
    }
  }
}
