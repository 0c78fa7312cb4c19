internal import AssetModel
internal import Basics
internal import Glibc
internal import Hashing
internal import LinuxSystem

/// A directory that finished files go to, with the staging directory beside them on the same filesystem. Kept open, so
/// that it can't be exchanged between check and use.
final class Destination: Sendable {
  let path: String
  let target: OwnedDescriptor
  let staging: OwnedDescriptor
  let files: any FileOperations
  private let roots: [String]
  private let identity: FileIdentity

  /// `roots`: directories whose trees belong to apps. What lies beneath one is reached from it, by no link and no other mount.
  init(
    _ path: String, app: String, files: any FileOperations, beneath roots: [String] = []
  ) throws(SystemCallError) {
    self.path = path
    self.files = files
    self.roots = roots
    target = try Self.open(path, files, roots)
    let all = try Self.subdirectory(StagingFolder.name(in: target.number), of: target.number, files)
    staging = try Self.subdirectory(Self.digest([app], length: 16), of: all.number, files)
    identity = try target.identity()
  }

  private static func open(
    _ path: String, _ files: any FileOperations, _ roots: [String]
  ) throws(SystemCallError) -> OwnedDescriptor {
    guard let root = roots.first(where: { path.lies(below: $0) }) else {
      return try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY)
    }
    let parts = path.rest(after: root).pathNames
    let base = try OwnedDescriptor.open(root, O_RDONLY | O_DIRECTORY)
    do throws(SystemCallError) {
      return try files.open(
        parts.isEmpty ? "." : parts.joined(separator: "/"), in: base.number, O_RDONLY | O_DIRECTORY, mode: 0)
    } catch {
      throw SystemCallError("openat2", code: error.code, subject: path)
    }
  }

  var device: UInt64 { identity.device }

  /// Whether its path still leads to it. What is kept open may have been moved meanwhile, or something else be there.
  var isAtItsPath: Bool {
    guard let found = try? roots.isEmpty ? Files.identity(of: path) : Self.open(path, files, roots).identity() else {
      return false
    }
    return found.inode == identity.inode && found.device == identity.device
  }

  /// A name that says nothing, for anything: 40 digits of SHA-256 over the parts.
  static func digest(_ parts: [String], length: Int = 20) -> String {
    var hash = RunningHash(.sha256)
    for part in parts {
      // Length first, so that no two lists give the same bytes.
      withUnsafeBytes(of: UInt64(part.utf8.count).littleEndian) { hash.update($0) }
      Array(part.utf8).withUnsafeBytes { hash.update($0) }
    }
    return ContentDigest(.sha256, bytes: hash.digest).map { String($0.hex.prefix(length * 2)) } ?? ""
  }

  /// `owner`: whose journal knows of the file.
  static func stagingName(app: String, identifier: String, generation: Int, owner: String = "") -> String {
    digest([app, identifier, String(generation)] + (owner.isEmpty ? [] : [owner]))
  }

  /// Opens a directory of our own, and makes it first if there is none; refuses another user's.
  private static func subdirectory(
    _ name: String, of parent: Int32, _ files: any FileOperations
  ) throws(SystemCallError) -> OwnedDescriptor {
    do {
      try files.makeDirectory(name, in: parent, mode: 0o700)
    } catch {
      if error.code != EEXIST { throw error }
    }
    let directory = try files.open(name, in: parent, O_RDONLY | O_DIRECTORY, mode: 0)
    let identity = try directory.identity()
    guard identity.isDirectory, identity.owner == geteuid(), identity.mode & 0o077 == 0 else {
      throw SystemCallError("open", code: EPERM, subject: "\(name): it isn't a private directory of this user")
    }
    return directory
  }

  /// Whether a name in the target leads to the file that the journal calls verified.
  func holds(_ record: JobRecord, under name: String) throws(SystemCallError) -> Bool {
    try holds(record, under: name, in: target)
  }

  /// Likewise among the files that aren't published yet.
  func stages(_ record: JobRecord, under name: String) throws(SystemCallError) -> Bool {
    try holds(record, under: name, in: staging)
  }

  private func holds(
    _ record: JobRecord, under name: String, in directory: borrowing OwnedDescriptor
  ) throws(SystemCallError) -> Bool {
    do throws(SystemCallError) {
      let identity = try files.open(name, in: directory.number, O_RDONLY | O_NONBLOCK, mode: 0).identity()
      return identity.isRegularFile && identity.inode == record.publishedInode && identity.size == record.finalSize
    } catch {
      switch error.code {
      // None there, or something else than a file.
      case ENOENT, ELOOP, EISDIR, EXDEV, ENXIO, EACCES: return false
      default: throw error
      }
    }
  }

  /// What has that name in the target, a link itself.
  func identity(named name: String) -> FileIdentity? { try? Files.identity(of: name, in: target.number) }

  /// One component, as rename(2) takes it.
  static func isFileName(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= 255 && name != "." && name != ".." && !StagingFolder.isReserved(name)
      && !name.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "/") }
  }

  /// Leaves alone a file that another process writes to.
  func removeStaging(_ name: String) {
    try? FileLock.with(name, in: staging.number) { () throws(SystemCallError) in
      try files.remove(name, in: staging.number)
    }
  }
}
