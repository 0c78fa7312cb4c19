internal import CLinux
internal import Glibc

extension Files {
  /// Removes a directory and everything in it, however deep a plugin made it: descriptors instead of paths, one level
  /// open at a time, no symbolic link followed, no recursion.
  package static func removeTree(_ path: String) {
    unlock(Array(path.utf8CString), in: AT_FDCWD)
    let top = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard top >= 0 else {
      unlink(path)
      return
    }
    Emptying(top: top).run()
    close(top)
    rmdir(path)
  }

  /// Lets its owner into a directory. Nothing else: the change of a symbolic link's mode would be that of its target, and
  /// the name may become one at any moment. So what was looked at is what is changed, by a descriptor that needs no right.
  @discardableResult
  package static func unlock(_ name: [CChar], in directory: Int32) -> Bool {
    let place = openat(directory, name, ol_open_path | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard place >= 0 else { return false }
    defer { close(place) }
    var status = stat()
    guard fstat(place, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else { return false }
    return status.st_mode & 0o700 == 0o700 || chmod("/proc/self/fd/\(place)", 0o700) == 0
  }

  /// Empties a directory by moving what lies in subdirectories up until there is nothing left to descend into.
  private struct Emptying {
    let top: Int32
    /// Not to be foreseen: a plugin that left a folder of the name that something is moved to would keep both.
    private static let attempts = 8

    func run() {
      var hasProgress = true
      while hasProgress {
        hasProgress = false
        for name in Files.entries(top) where remove(name, in: top) || flatten(name) { hasProgress = true }
      }
    }

    private func remove(_ name: [CChar], in directory: Int32) -> Bool {
      unlinkat(directory, name, 0) == 0 || unlinkat(directory, name, AT_REMOVEDIR) == 0
    }

    /// Empties one subdirectory of the top. False when nothing in it could be removed or moved.
    private func flatten(_ name: [CChar]) -> Bool {
      guard Files.unlock(name, in: top) else { return false }
      let child = openat(top, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      guard child >= 0 else { return false }
      defer { close(child) }
      var hasProgress = false
      for inner in Files.entries(child) where unlinkat(child, inner, 0) == 0 || moveUp(inner, from: child) {
        hasProgress = true
      }
      return hasProgress
    }

    private func moveUp(_ name: [CChar], from child: Int32) -> Bool {
      for _ in 0..<Self.attempts {
        let target = ".removing-" + String(UInt64.random(in: .min ... .max), radix: 16)
        if renameat(child, name, top, target) == 0 { return true }
        switch errno {
        case EEXIST, ENOTEMPTY, EISDIR, ENOTDIR: continue
        // A directory that its owner may not write into can't be moved.
        case EACCES, EPERM: guard Files.unlock(name, in: child) else { return false }
        default: return false
        }
      }
      return false
    }
  }

  /// Names as bytes: a plugin's need not be UTF-8.
  private static func entries(_ directory: Int32) -> [[CChar]] {
    let copy = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0, let stream = fdopendir(copy) else { return [] }
    defer { closedir(stream) }
    var names: [[CChar]] = []
    while names.count < 4096, let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) {
          Array(UnsafeBufferPointer(start: $0, count: strlen($0) + 1))
        }
      }
      let dot = CChar(UInt8(ascii: "."))
      if name != [dot, 0], name != [dot, dot, 0] { names.append(name) }
    }
    return names
  }
}
