internal import Basics
internal import CLinux
internal import Glibc
internal import LinuxSystem

/// Follows a path as the kernel does, but through no symbolic link that a plugin can have put there: what it may write to
/// would else be what it may read next time.
struct GrantWalk {
  enum Failure: Error, Equatable {
    /// It leads through this entry of a folder that plugins may write to.
    case link(String)
    case system(SystemCallError)
  }

  /// What a path leads to, held by a descriptor that neither reads nor writes (O_PATH).
  struct Found: ~Copyable {
    let descriptor: OwnedDescriptor
    let identity: FileIdentity
    /// Whether plugins, of this run or an earlier one, may have written it.
    let isPlugins: Bool
    /// Whether a link of /proc is on the way: what it leads to is a process's, under whatever name.
    let isProcess: Bool
  }

  /// Folders and files that plugins of this run may write to; of those of earlier runs `WritableMark` tells.
  let writable: [FileIdentity]

  private static let maxLinks = 40

  /// `path`: absolute. A link of /proc leads where the kernel says, as `/proc/self/fd/3` to what is open there.
  func open(_ path: String) throws(Failure) -> Found {
    do throws(SystemCallError) {
      var state = try Steps(path.pathNames, path)
      while let next = state.rest.popFirst() {
        if next == "..", state.isWritable.count == 1 { continue }
        let found = try Self.entry(next, of: state.current, path, O_NOFOLLOW)
        if next == ".." {
          state.isWritable.removeLast()
          state.current = found
          continue
        }
        let identity = try found.identity()
        guard identity.mode & S_IFMT == S_IFLNK else {
          let isBelow = state.isWritable.last == true
          state.isWritable.append(isBelow || isWritable(found, identity))
          state.current = found
          continue
        }
        let isPlanted = try mayBePlanted(identity, in: state.current)
        if state.isWritable.last == true || isPlanted {
          throw SystemCallError("link", code: 0, subject: next)
        }
        try follow(found, named: next, &state, path)
      }
      let identity = try state.current.identity()
      let isPlugins = state.isWritable.last == true
      let isProcess = state.isProcess
      return Found(descriptor: state.current, identity: identity, isPlugins: isPlugins, isProcess: isProcess)
    } catch {
      throw error.code == 0 ? .link(error.subject) : .system(error)
    }
  }

  /// How far a walk has come.
  private struct Steps: ~Copyable {
    var rest: ArraySlice<String>
    var current: OwnedDescriptor
    /// Whether a plugin may change what lies in the folder, for each on the way down.
    var isWritable = [false]
    var links = 0
    var isProcess = false

    init(_ components: [String], _ path: String) throws(SystemCallError) {
      rest = components[...]
      current = try OwnedDescriptor.open("/", ol_open_path | O_DIRECTORY)
    }
  }

  private func follow(
    _ link: borrowing OwnedDescriptor, named name: String, _ state: inout Steps, _ path: String
  ) throws(SystemCallError) {
    state.links += 1
    guard state.links <= Self.maxLinks else { throw SystemCallError("open", code: ELOOP, subject: path) }
    if ol_is_proc(state.current.number) == 1 {
      state.isProcess = true
      let found = try Self.entry(name, of: state.current, path, 0)
      // What is open may have no name any more, and what has one may be a pipe. A folder's ways up are those of its name.
      if !(try found.identity().isDirectory) {
        state.isWritable.append(false)
        state.current = found
        return
      }
    }
    let target = try Self.target(of: link, path)
    state.rest = target.pathNames + state.rest
    if target.isAbsolutePath {
      state.current = try OwnedDescriptor.open("/", ol_open_path | O_DIRECTORY)
      state.isWritable = [false]
    }
  }

  private func isWritable(_ found: borrowing OwnedDescriptor, _ identity: FileIdentity) -> Bool {
    guard identity.isDirectory || identity.isRegularFile else { return false }
    return writable.contains { $0.isSameFile(as: identity) } || WritableMark.state(of: found) == .present
  }

  /// Of a link in a folder without a mark: whether that says nothing. An ordinary user can't mark the folders of others that
  /// everyone may write to, as /tmp, and no user those of filesystems without attributes.
  private func mayBePlanted(
    _ link: FileIdentity, in folder: borrowing OwnedDescriptor
  ) throws(SystemCallError) -> Bool {
    let identity = try folder.identity()
    let isOpenToAll = identity.mode & S_IWOTH != 0
    if geteuid() != 0, isOpenToAll, identity.owner != geteuid(), link.owner == geteuid() { return true }
    return (identity.owner != 0 || isOpenToAll) && ol_is_proc(folder.number) != 1
      && WritableMark.state(of: folder) == .unavailable
  }

  private static func entry(
    _ name: String, of folder: borrowing OwnedDescriptor, _ path: String, _ flags: Int32
  ) throws(SystemCallError) -> OwnedDescriptor {
    let number = folder.number
    return OwnedDescriptor(
      taking: try checkErrno("open", path) { openat(number, name, ol_open_path | flags) })
  }

  private static func target(of link: borrowing OwnedDescriptor, _ path: String) throws(SystemCallError) -> String {
    let number = link.number
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = try checkErrno("readlink", path) { Int32(readlinkat(number, "", &buffer, buffer.count)) }
    return String(decoding: buffer.prefix(Int(count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
