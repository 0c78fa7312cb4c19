internal import CLinux
internal import Glibc
internal import LinuxSystem

/// Follows a granted path as the kernel does, but through no symbolic link that a plugin can have put there: what it may
/// write to would else be what it may read next time.
struct GrantWalk {
  enum End: Equatable {
    case file(FileIdentity)
    /// It leads through this entry of a folder that plugins may write to.
    case link(String)
  }

  /// Folders that plugins may write to.
  let writable: [FileIdentity]

  private static let mostLinks = 40

  func end(of path: String) throws(SystemCallError) -> End {
    var rest = Self.components(path)[...]
    var current = try OwnedDescriptor.open("/", ol_open_path | O_DIRECTORY)
    // Whether a plugin may change what lies in the folder, for each on the way down.
    var isWritable = [false]
    var links = 0
    while let next = rest.popFirst() {
      if next == "..", isWritable.count == 1 { continue }
      let found = try Self.entry(String(next), of: current, path)
      if next == ".." {
        isWritable.removeLast()
        current = found
        continue
      }
      let identity = try found.identity()
      guard identity.mode & S_IFMT == S_IFLNK else {
        isWritable.append(isWritable.last == true || isListed(identity))
        current = found
        continue
      }
      if isWritable.last == true { return .link(String(next)) }
      links += 1
      guard links <= Self.mostLinks else { throw SystemCallError("open", code: ELOOP, subject: path) }
      let target = try Self.target(of: found, path)
      rest = Self.components(target) + rest
      if target.hasPrefix("/") {
        current = try OwnedDescriptor.open("/", ol_open_path | O_DIRECTORY)
        isWritable = [false]
      }
    }
    return .file(try current.identity())
  }

  private func isListed(_ folder: FileIdentity) -> Bool {
    writable.contains { $0.device == folder.device && $0.inode == folder.inode }
  }

  private static func components(_ path: String) -> [Substring] { path.split(separator: "/").filter { $0 != "." } }

  private static func entry(
    _ name: String, of folder: borrowing OwnedDescriptor, _ path: String
  ) throws(SystemCallError) -> OwnedDescriptor {
    let number = folder.number
    return OwnedDescriptor(
      taking: try checkErrno("open", path) { openat(number, name, ol_open_path | O_NOFOLLOW) })
  }

  private static func target(of link: borrowing OwnedDescriptor, _ path: String) throws(SystemCallError) -> String {
    let number = link.number
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = try checkErrno("readlink", path) { Int32(readlinkat(number, "", &buffer, buffer.count)) }
    return String(decoding: buffer.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
