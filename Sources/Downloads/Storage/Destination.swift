internal import AssetModel
internal import Crypto
internal import Glibc
internal import LinuxSystem

/// A directory that finished files go to, with the staging directory beside them on the same filesystem. Kept open, so
/// that nobody can exchange it between check and use.
final class Destination: Sendable {
  /// Where partial files of all apps lie, beneath the directory of their targets.
  static let stagingDirectory = ".outrider"

  let path: String
  let target: OwnedDescriptor
  let staging: OwnedDescriptor
  let files: any FileOperations
  let device: UInt64

  init(_ path: String, app: String, files: any FileOperations) throws(SystemCallError) {
    self.path = path
    self.files = files
    target = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY)
    let all = try Self.subdirectory(Self.stagingDirectory, of: target.number, files)
    staging = try Self.subdirectory(Self.digest([app], length: 16), of: all.number, files)
    device = try target.identity().device
  }

  /// A name that says nothing, for anything: 40 digits of SHA-256 over the parts.
  static func digest(_ parts: [String], length: Int = 20) -> String {
    var hash = SHA256()
    for part in parts {
      // Length first, so that no two lists give the same bytes.
      withUnsafeBytes(of: UInt64(part.utf8.count).littleEndian) { hash.update(bufferPointer: $0) }
      hash.update(data: Array(part.utf8))
    }
    return ContentDigest(.sha256, bytes: Array(hash.finalize())).map { String($0.hex.prefix(length * 2)) } ?? ""
  }

  /// `owner`: whose journal knows of the file.
  static func stagingName(app: String, identifier: String, generation: Int, owner: String = "") -> String {
    digest([app, identifier, String(generation)] + (owner.isEmpty ? [] : [owner]))
  }

  /// Opens a directory of our own, and makes it first if there is none; refuses one of somebody else.
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

  func removeStaging(_ name: String) { try? files.remove(name, in: staging.number) }
}
