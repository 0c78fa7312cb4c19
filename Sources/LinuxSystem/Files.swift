internal import Glibc

/// Small file helpers over paths that the host itself chose.
package enum Files {
  package static func text(of path: String, limit: Int = 65536) throws(SystemCallError) -> String {
    let file = try OwnedDescriptor.open(path, O_RDONLY)
    return String(decoding: try file.readAll(limit: limit), as: UTF8.self)
  }

  /// Writes a control file of /proc or cgroupfs in one call.
  package static func control(_ path: String, _ text: String) throws(SystemCallError) {
    let file = try OwnedDescriptor.open(path, O_WRONLY)
    do {
      try file.write(text)
    } catch {
      throw SystemCallError("write", code: error.code, subject: path)
    }
  }

  /// realpath(3): absolute, without symbolic links.
  package static func real(_ path: String) throws(SystemCallError) -> String {
    guard let resolved = realpath(path, nil) else { throw SystemCallError("realpath", code: errno, subject: path) }
    defer { free(resolved) }
    return String(cString: resolved)
  }

  package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  package static func identity(of path: String) throws(SystemCallError) -> FileIdentity {
    var status = stat()
    try checkErrno("stat", path) { stat(path, &status) }
    return FileIdentity(status)
  }

  package static func names(in directory: String) throws(SystemCallError) -> [String] {
    guard let stream = opendir(directory) else { throw SystemCallError("opendir", code: errno, subject: directory) }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      if name != ".", name != ".." { names.append(name) }
    }
    return names.sorted()
  }

  /// Creates a directory of the caller's own below `parent` (mkdtemp(3)).
  package static func temporaryDirectory(in parent: String, prefix: String) throws(SystemCallError) -> String {
    var template = Array("\(parent)/\(prefix)XXXXXX".utf8CString)
    let made = template.withUnsafeMutableBufferPointer { $0.baseAddress.flatMap { mkdtemp($0) } != nil }
    guard made else { throw SystemCallError("mkdtemp", code: errno, subject: parent) }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Removes a directory and everything in it, however deep a plugin made it: descriptors instead of paths, one level
  /// open at a time, no symbolic link followed, no recursion.
  package static func removeTree(_ path: String) {
    let parent = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard parent >= 0 else {
      unlink(path)
      return
    }
    empty(parent)
    close(parent)
    rmdir(path)
  }

  /// Empties a directory by moving what lies in subdirectories up until there is nothing left to descend into.
  private static func empty(_ directory: Int32) {
    var serial = 0
    var progress = true
    while progress {
      progress = false
      for name in entries(directory) {
        if unlinkat(directory, name, 0) == 0 || unlinkat(directory, name, AT_REMOVEDIR) == 0 {
          progress = true
          continue
        }
        let child = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        if child < 0 {
          if errno == EACCES, fchmodat(directory, name, 0o700, 0) == 0 { progress = true }
          continue
        }
        for inner in entries(child) {
          if unlinkat(child, inner, 0) == 0 {
            progress = true
            continue
          }
          serial += 1
          if renameat(child, inner, directory, ".removing-\(serial)") == 0 {
            progress = true
          } else if errno == EACCES || errno == EPERM {
            if fchmod(child, 0o700) == 0, fchmodat(child, inner, 0o700, 0) == 0,
              renameat(child, inner, directory, ".removing-\(serial)") == 0
            {
              progress = true
            }
          }
        }
        close(child)
      }
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
        $0.withMemoryRebound(to: CChar.self, capacity: 256) { Array(UnsafeBufferPointer(start: $0, count: strlen($0) + 1)) }
      }
      let dot = CChar(UInt8(ascii: "."))
      if name != [dot, 0], name != [dot, dot, 0] { names.append(name) }
    }
    return names
  }
}
