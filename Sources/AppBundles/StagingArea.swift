internal import Basics
internal import Foundation
internal import Glibc
internal import LinuxSystem

/// What is to be installed, as it was given.
enum BundleSource {
  case folder(String)
  /// An archive, by its path.
  case archive(String)

  init(_ path: String) throws(BundleError) {
    let real: String
    let kind: FileKind
    do throws(SystemCallError) {
      real = try Files.real(path)
      kind = FileKind(try Files.identity(of: real))
    } catch {
      throw BundleError(.unreadable, path, SystemCallError.message(error.code))
    }
    switch kind {
    case .folder: self = .folder(real)
    case .file: self = .archive(real)
    default:
      throw BundleError(
        .notABundle, path, "is \(kind.rawValue)", remedy: "name a Name.app folder, or a tar or zip archive with one")
    }
  }
}

/// A folder beside the apps in which one is put together: `version` is what will be in its place, and nothing else of it
/// remains. It is removed with its owner; one whose owner was killed has no lock any more, and is swept.
final class StagingArea: Sendable {
  private let path: String
  private let descriptor: OwnedDescriptor
  private let lock: OwnedDescriptor
  private var version: String { "\(path)/version" }
  private static let lockName = "lock"

  init(in root: borrowing AppsRoot) throws(BundleError) {
    let path = "\(root.path)/\(Leftovers.name(.staged))"
    // Before it is locked, no other process may sweep.
    let rootLock = try root.locked()
    defer { rootLock.end() }
    do throws(SystemCallError) {
      try checkErrno("mkdir", path) { mkdir(path, 0o700) }
      let folder = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
      // A file, and open for writing: NFS locks nothing else exclusively (flock(2)).
      let held = try OwnedDescriptor.open("\(path)/\(Self.lockName)", O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
      try FileLock.take(held.number, name: path)
      try checkErrno("mkdir", path) { mkdir("\(path)/version", 0o755) }
      self.path = path
      descriptor = folder
      self.lock = held
    } catch {
      Files.removeTree(path)
      throw BundleError(error, subject: path)
    }
  }

  /// Removes one that has no owner any more. Called with the root's lock, under which an owner gets its own.
  static func sweep(_ path: String) {
    let flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK
    do throws(SystemCallError) {
      let held = try OwnedDescriptor.open("\(path)/\(lockName)", flags)
      try FileLock.take(held.number, name: path)
      Files.removeTree(path)
    } catch {
      // Killed before it had one.
      if error.code == ENOENT { Files.removeTree(path) }
    }
  }

  deinit { Files.removeTree(path) }

  /// - Returns: the copy's path.
  func copy(_ bundle: String, limits: BundleLimits) throws(BundleError) -> String {
    let name = bundle.pathNames.last ?? ""
    let target = "\(version)/\(name)"
    try make(target, subject: bundle)
    try TreePass.copy(bundle, to: target, limits: limits)
    return target
  }

  /// - Returns: the path of the one app in the archive.
  func unpack(_ archive: String, limits: BundleLimits) throws(BundleError) -> String {
    let folder = "\(path)/unpacked"
    try make(folder, subject: archive)
    try ArchiveUnpacker(archive, into: folder, limits: limits).run()
    let found = try UnpackedApp.find(in: folder, archive: archive)
    let target = "\(version)/\(found.name)"
    do throws(SystemCallError) {
      try checkErrno("rename", found.name) { rename(found.path, target) }
      try checkErrno("chmod", found.name) { chmod(target, 0o755) }
    } catch {
      throw BundleError(error, subject: archive)
    }
    // What lay beside the app.
    Files.removeTree(folder)
    return target
  }

  private func make(_ folder: String, subject: String) throws(BundleError) {
    do throws(SystemCallError) {
      try checkErrno("mkdir", folder) { mkdir(folder, 0o755) }
      try checkErrno("chmod", folder) { chmod(folder, 0o755) }
    } catch {
      throw BundleError(error, subject: subject)
    }
  }

  /// Writes the description beside the bundle, and everything onto the disk: a link to a version must not outlive its files.
  func seal(_ description: AppDescription, entries: Int) throws(BundleError) {
    do throws(SystemCallError) {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
      guard let json = try? encoder.encode(description) else {
        throw SystemCallError("encode", code: EINVAL, subject: description.identifier)
      }
      let name = "\(version)/\(AppFolder.descriptionName)"
      let file = try OwnedDescriptor.open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o644)
      try file.write(String(decoding: json, as: UTF8.self))
      try DiskFlush.flush(version, entries: entries)
    } catch {
      throw BundleError(error, subject: description.identifier)
    }
  }

  /// EEXIST where there is something of that name.
  func moveVersion(to folder: Int32, as name: String) throws(SystemCallError) {
    try SystemFiles().rename("version", in: descriptor.number, to: name, in: folder)
  }
}

/// Everything below a folder onto the disk.
enum DiskFlush {
  /// Beyond that many files one flush of the whole volume costs less than one for each, though others' data is in it.
  private static let maxSingleSynchronizations = 64

  static func flush(_ path: String, entries: Int) throws(SystemCallError) {
    let folder = try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    if entries > maxSingleSynchronizations { return try SystemFiles().synchronizeVolume(of: folder.number) }
    try flush(folder.number)
  }

  private static func flush(_ folder: Int32) throws(SystemCallError) {
    for name in try FolderNames.read(folder, atMost: .max) {
      var status = stat()
      try checkErrno("fstatat", "a file") { fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) }
      let kind = FileKind(mode: status.st_mode)
      guard kind == .file || kind == .folder else { continue }
      let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
      let opened = OwnedDescriptor(taking: try checkErrno("openat", "a file") { openat(folder, name, flags) })
      if kind == .folder { try flush(opened.number) } else { try SystemFiles().synchronize(opened.number) }
    }
    try SystemFiles().synchronize(folder)
  }
}
