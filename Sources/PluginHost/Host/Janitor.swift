internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// Removes what hosts that are gone left behind, and nothing else: a host holds the locks of its folders.
enum Janitor {
  private static let parents = ["/tmp", "/var/tmp"]
  /// What a plugin writes there should lie on a disk: in memory nothing might count it.
  static let parent: String = {
    let writable = parents.filter { access($0, W_OK) == 0 }
    return writable.first { !Files.isMemory($0) } ?? writable.first ?? "/tmp"
  }()
  static let isInMemory = Files.isMemory(parent)
  static let prefix = "outrider-run-"
  /// Of this process, by path.
  private static let locks = Mutex<[String: FolderLock]>([:])

  /// `start`: of this process.
  static func makeFolder(start: UInt64) throws(SystemCallError) -> String {
    let (folder, lock) = try FolderLock.make { () throws(SystemCallError) in
      try Files.temporaryDirectory(in: parent, prefix: "\(prefix)\(getpid())-\(start)-")
    }
    locks.withLock { $0[folder] = lock }
    return folder
  }

  /// Whether the name of a folder that `makeFolder` made still leads to it.
  static func isThere(_ folder: String) -> Bool {
    guard let lock = locks.withLock({ $0[folder] }), let made = try? lock.folder.identity(),
      let named = try? Files.identity(of: folder)
    else { return false }
    return made.isSameFile(as: named)
  }

  /// Of a folder that `makeFolder` made, and that stays as it is.
  static func letGo(of folder: String) { locks.withLock { $0[folder] = nil } }

  /// Of a folder that `makeFolder` made. False where it isn't empty, or was so full once that looking takes a while: many filesystems
  /// don't make a folder smaller as files are removed.
  static func removeEmptyFolder(_ folder: String) -> Bool {
    guard let size = try? Files.identity(of: folder).size, size <= 4096, rmdir(folder) == 0 else { return false }
    locks.withLock { $0[folder] = nil }
    return true
  }

  /// Of a folder that `makeFolder` made.
  static func removeFolder(_ folder: String) {
    Files.removeTree(folder)
    locks.withLock { $0[folder] = nil }
  }

  static func removeFolders() {
    for parent in parents { removeFolders(in: parent) }
  }

  /// A name is easily made up: root removes what is its own or its runners', other users what is theirs.
  private static func isOurs(_ folder: FileIdentity) -> Bool {
    folder.isDirectory
      && (folder.owner == geteuid() || geteuid() == 0 && ForkServerClient.isRunner(folder.owner))
  }

  static func removeFolders(in parent: String) {
    for name in (try? Files.names(in: parent, atMost: .max, beginning: prefix)) ?? [] {
      let path = "\(parent)/\(name)"
      guard name.dropFirst(prefix.count).split(separator: "-").count == 3,
        let identity = try? Files.identity(of: path), isOurs(identity),
        let lock = try? FolderLock(path), lock.state == .own, let locked = try? lock.folder.identity(), isOurs(locked)
      else { continue }
      Files.removeTree(path)
    }
  }
}
