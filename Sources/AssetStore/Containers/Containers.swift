internal import Glibc
package import LinuxSystem

/// The directories of app groups, below one root. All is done through descriptors: what a path means can change between two
/// looks, what a descriptor means can't.
///
/// `root/GROUP/` is the service's; in it `container/` is what apps and extensions see, and `lease/` holds finished files while
/// they are handed over. All lie on one mount, so moving a file keeps it the same file.
package struct Containers: Sendable {
  package static let containerName = "container"
  package static let leaseName = "lease"

  package let root: String
  private let files: any FileOperations

  package init(root: String, files: any FileOperations = SystemFiles()) {
    self.root = root
    self.files = files
  }

  /// Whether an app group may name a directory: letters, digits, `.`, `-` and `_`, at most 200 of them, no dot first.
  package static func isValid(_ group: String) -> Bool {
    let bytes = group.utf8
    guard (1...200).contains(bytes.count), bytes.first != UInt8(ascii: ".") else { return false }
    return bytes.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"):
        true
      default: false
      }
    }
  }

  /// Makes what is missing of a group's directories, and refuses those that another could change or lead elsewhere.
  package func prepare(_ group: String) throws(StoreError) {
    guard Self.isValid(group) else { throw .container(path: group, why: .invalidIdentifier) }
    let top: OwnedDescriptor
    do throws(SystemCallError) { top = try OwnedDescriptor.open(root, O_RDONLY | O_DIRECTORY) } catch {
      throw .file(error)
    }
    try Self.examine(top.number, root, files)
    let path = "\(root)/\(group)"
    let directory = try Self.directory(group, in: top.number, path, files)
    for name in [Self.containerName, Self.leaseName] {
      _ = try Self.directory(name, in: directory.number, "\(path)/\(name)", files)
    }
  }

  private static func directory(
    _ name: String, in parent: Int32, _ path: String, _ files: any FileOperations
  ) throws(StoreError) -> OwnedDescriptor {
    do throws(SystemCallError) { try files.makeDirectory(name, in: parent, mode: 0o700) } catch {
      guard error.code == EEXIST else { throw .file(error) }
    }
    let opened: OwnedDescriptor
    do throws(SystemCallError) {
      opened = try files.open(name, in: parent, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, mode: 0)
    } catch {
      throw translated(error, path)
    }
    try examine(opened.number, path, files)
    return opened
  }

  private static func examine(_ number: Int32, _ path: String, _ files: any FileOperations) throws(StoreError) {
    let found: FileIdentity
    do throws(SystemCallError) { found = try files.status(of: number) } catch { throw .file(error) }
    guard found.isDirectory else { throw .container(path: path, why: .notADirectory) }
    guard found.owner == geteuid() else { throw .container(path: path, why: .foreignOwner(uid: found.owner)) }
    guard found.mode & 0o022 == 0 else {
      throw .container(path: path, why: .writableByOthers(mode: found.mode & 0o7777))
    }
  }

  private static func translated(_ error: SystemCallError, _ path: String) -> StoreError {
    switch error.code {
    case ELOOP, EXDEV: .container(path: path, why: .redirected)
    case ENOTDIR: .container(path: path, why: .notADirectory)
    default: .file(error)
    }
  }
}
