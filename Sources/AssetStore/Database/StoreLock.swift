internal import AssetModel
internal import Glibc
internal import LinuxSystem

/// One process at a time has a state folder: flock(2) on a file that names it. The kernel lets go when the process ends.
///
/// What the holder wrote stays when it dies, so the next holder learns how the last one ended.
final class StoreLock: Sendable {
  enum Predecessor: Sendable, Equatable {
    case none
    /// It closed the store; size and time of the database's last change as it left it.
    case closed(size: Int64, modified: Int64)
    case died(pid: Int32)
  }

  private let file: OwnedDescriptor
  let predecessor: Predecessor

  init(_ directory: String, now: Int64) throws(StoreError) {
    let path = "\(directory)/lock"
    let opened: OwnedDescriptor
    do {
      // Opening or reading a pipe or a device of that name would block.
      opened = try OwnedDescriptor.open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, mode: 0o600)
    } catch {
      throw .unusable(path: path, why: SystemCallError.message(error.code), remedy: Self.remedy(error.code))
    }
    guard (try? opened.identity())?.isRegularFile == true else { throw .notAFile(path) }
    guard flock(opened.number, LOCK_EX | LOCK_NB) == 0 else {
      let holder = StoreHolder(Self.fields(opened))
      throw .heldBy(pid: holder.pid, program: holder.program, since: holder.since, path: directory)
    }
    // Not before: who leaves writes that down last of all.
    let fields = Self.fields(opened)
    predecessor =
      if fields.count == 3, fields[0] == "closed", let size = Int64(fields[1]), let modified = Int64(fields[2]) {
        .closed(size: size, modified: modified)
      } else if fields.isEmpty {
        .none
      } else {
        .died(pid: Int32(fields[0]) ?? 0)
      }
    let name = String(((try? Files.text(of: "/proc/self/comm", limit: 64)) ?? "").prefix { $0 != "\n" })
    file = opened
    do {
      try write("\(getpid()) \(now) \(Printable.text(name))\n")
    } catch {
      throw .unusable(path: path, why: SystemCallError.message(error.code), remedy: Self.remedy(error.code))
    }
  }

  private static func fields(_ file: borrowing OwnedDescriptor) -> [String] {
    // Behind the first line may lie what is left of a longer one.
    let bytes = ((try? file.readAll(limit: 256)) ?? []).prefix { $0 != UInt8(ascii: "\n") }
    return String(decoding: bytes, as: UTF8.self).split(separator: " ", maxSplits: 2).map { String($0) }
  }

  /// Who has a folder now, for those who only look.
  static func holder(of directory: String) -> StoreHolder? {
    guard let file = try? OwnedDescriptor.open("\(directory)/lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK) else {
      return nil
    }
    guard let identity = try? file.identity(), identity.isRegularFile, FileLock.isHeld(inode: identity.inode) else {
      return nil
    }
    return StoreHolder(fields(file))
  }

  /// Whether the folder still has this lock, and not another one or none.
  func isNamed(in directory: String) -> Bool {
    guard let own = try? file.identity(), let named = try? Files.identity(of: "\(directory)/lock") else { return false }
    return (own.device, own.inode) == (named.device, named.inode)
  }

  /// Leaves word that everything was written down, and how the database looked then.
  func leave(size: Int64, modified: Int64) { try? write("closed \(size) \(modified)\n") }

  private func write(_ text: String) throws(SystemCallError) {
    let number = file.number
    var text = text
    let wanted = text.utf8.count
    // Over what is there: emptied first, a kill in between would hide how the last holder ended.
    let count = try checkErrno("pwrite", "lock") { text.withUTF8 { pwrite(number, $0.baseAddress, $0.count, 0) } }
    guard count == wanted else { throw SystemCallError("pwrite", code: ENOSPC, subject: "lock") }
    try checkErrno("ftruncate", "lock") { ftruncate(number, off_t(wanted)) }
  }

  deinit {
    // Said aloud, because a child that is about to execute something still shares the description.
    flock(file.number, LOCK_UN)
  }

  static func remedy(_ code: Int32) -> String {
    switch code {
    case EROFS, EACCES, EPERM: "make it writable, or name another state folder"
    case ENOSPC, EDQUOT: "free some space on its volume"
    default: "name another state folder"
    }
  }
}
