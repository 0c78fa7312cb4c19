internal import CLinux
internal import Glibc
internal import LinuxSystem
internal import PropertyLists

/// A bundle's folder as it was opened: whatever is named is looked for within it, through links that stay there.
struct BundleFolder: ~Copyable {
  let descriptor: OwnedDescriptor

  enum ReadError: Error, Equatable {
    case missing
    case leadsOut
    case isOther(String)
    case unreadable(Int32)
    case undecodable(PropertyList.ReadError)

    /// As what was found in place of what was expected.
    var text: String {
      switch self {
      case .missing: "nothing"
      case .leadsOut: "a link out of the bundle"
      case .isOther(let kind): kind
      case .unreadable(let code): "a file that can't be read (\(SystemCallError.message(code)))"
      case .undecodable(let readError): readError.description
      }
    }
  }

  init(opening path: String) throws(SystemCallError) {
    descriptor = try OwnedDescriptor.open(path, ol_open_path | O_DIRECTORY)
  }

  /// Opened for its identity alone: a FIFO or a device isn't touched by that.
  private func find(_ path: String) throws(ReadError) -> OwnedDescriptor {
    var number: Int32 = -1
    do throws(SystemCallError) {
      try check("openat2", path) { ol_open_inside(descriptor.number, path, ol_open_path, &number) }
    } catch {
      throw switch error.code {
      case ENOENT, ENOTDIR: ReadError.missing
      case EXDEV, ELOOP: .leadsOut
      default: .unreadable(error.code)
      }
    }
    return OwnedDescriptor(taking: number)
  }

  func identity(of path: String) throws(ReadError) -> FileIdentity {
    let found = try find(path)
    do throws(SystemCallError) {
      return try found.identity()
    } catch {
      throw .unreadable(error.code)
    }
  }

  func exists(_ path: String) -> Bool { (try? identity(of: path)) != nil }

  /// The first bytes of a regular file.
  func head(of path: String, count: Int) throws(ReadError) -> [UInt8] {
    let found = try find(path)
    do {
      let kind = FileKind(try found.identity())
      guard kind == .file else { throw ReadError.isOther(kind.rawValue) }
      // What was looked at, and not what has that name by now.
      let file = try OwnedDescriptor.open("/proc/self/fd/\(found.number)", O_RDONLY)
      return try file.readAll(limit: count)
    } catch let error as SystemCallError {
      throw .unreadable(error.code)
    } catch let error as ReadError {
      throw error
    } catch {
      throw .unreadable(EIO)
    }
  }

  func propertyList(_ path: String) throws(ReadError) -> PropertyList {
    let bytes = try head(of: path, count: PropertyList.maxBytes + 1)
    do throws(PropertyList.ReadError) {
      return try PropertyList(bytes)
    } catch {
      throw .undecodable(error)
    }
  }

  /// Sorted, and at most a thousand of them.
  func names(in path: String) throws(ReadError) -> [String] {
    let found = try find(path)
    do throws(SystemCallError) {
      return try Files.names(in: "/proc/self/fd/\(found.number)", atMost: 1000).sorted()
    } catch {
      if error.code == ENOTDIR { throw .isOther(try kind(of: path).rawValue) }
      throw .unreadable(error.code)
    }
  }

  private func kind(of path: String) throws(ReadError) -> FileKind { FileKind(try identity(of: path)) }
}

/// What a name in a file system may stand for (inode(7)).
enum FileKind: String {
  case file = "a regular file"
  case folder = "a folder"
  case link = "a symbolic link"
  case pipe = "a FIFO"
  case socket = "a socket"
  case device = "a device"
  case other = "a file of unknown kind"

  init(mode: UInt32) {
    self =
      switch mode & S_IFMT {
      case S_IFREG: .file
      case S_IFDIR: .folder
      case S_IFLNK: .link
      case S_IFIFO: .pipe
      case S_IFSOCK: .socket
      case S_IFCHR, S_IFBLK: .device
      default: .other
      }
  }

  init(_ identity: FileIdentity) { self.init(mode: identity.mode) }
}
