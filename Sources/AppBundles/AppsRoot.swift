internal import CLinux
internal import Glibc
internal import LinuxSystem

/// The opened folder of all apps. It may be a link: where it leads is looked up once.
struct AppsRoot: ~Copyable {
  let path: String
  private let descriptor: OwnedDescriptor
  var number: Int32 { descriptor.number }

  private static let lockName = ".lock"

  /// - Throws: `.notInstalled` where there is no such folder and it isn't to be made.
  init(_ path: String, isCreating: Bool) throws(BundleError) {
    let real = try Self.resolved(path, isCreating: isCreating)
    let opened = try BundleError.translating(path) { () throws(SystemCallError) in
      try OwnedDescriptor.open(real, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    }
    self.path = real
    descriptor = opened
  }

  private static func resolved(_ path: String, isCreating: Bool) throws(BundleError) -> String {
    do throws(SystemCallError) {
      if isCreating { try Files.makeDirectories(path, mode: 0o700) }
      return try Files.real(path)
    } catch {
      if error.code == ENOENT, !isCreating { throw BundleError(.notInstalled, path, "has no apps") }
      throw BundleError(error, subject: path)
    }
  }

  /// Sorted.
  var names: [String] { (try? Files.names(in: path)) ?? [] }

  /// Waits for other processes that change something here: for as long as a few renames take, and at most one removal.
  func locked() throws(BundleError) -> RootLock {
    do throws(SystemCallError) {
      let name = Self.lockName
      let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
      let file = OwnedDescriptor(
        taking: try checkErrno("openat", "\(path)/\(name)") { openat(number, name, flags, 0o600) })
      try checkErrno("flock", "\(path)/\(name)") { flock(file.number, LOCK_EX) }
      return RootLock(file: file)
    } catch {
      throw BundleError(error, subject: path)
    }
  }
}

struct RootLock: ~Copyable {
  let file: OwnedDescriptor

  /// A process that this one starts meanwhile shares the description until it executes something.
  func end() { flock(file.number, LOCK_UN) }
}

/// Folders that an operation makes beside the apps, and that may outlive it.
enum Leftovers: String {
  case staged = ".staging-"
  case removed = ".removed-"

  static func name(_ kind: Leftovers) -> String {
    kind.rawValue + String(UInt64.random(in: .min ... .max), radix: 36)
  }

  static func isOne(_ name: String, _ kind: Leftovers) -> Bool {
    name.hasPrefix(kind.rawValue)
      && name.utf8.dropFirst(kind.rawValue.utf8.count).allSatisfy(BundleNames.isAlphanumeric)
  }
}
