internal import Basics
internal import CLinux
internal import Glibc

/// Small file helpers over paths that the host itself chose.
package enum Files {
  package static func text(of path: String, limit: Int = 65536) throws(SystemCallError) -> String {
    let file = try OwnedDescriptor.open(path, O_RDONLY)
    return String(decoding: try file.readAll(limit: limit), as: UTF8.self)
  }

  /// All of a file of at most `limit` bytes; EFBIG for a longer one, of which no more is read. Of a pipe, what is written to it; ENXIO
  /// where no process opens it for that within two seconds.
  package static func content(of path: String, limit: Int) throws(SystemCallError) -> [UInt8] {
    let file = try OwnedDescriptor.open(path, O_RDONLY | O_NONBLOCK)
    var status = stat()
    if fstat(file.number, &status) == 0, status.st_mode & S_IFMT == S_IFIFO, ol_poll_readable(file.number, 2000) == 0 {
      throw SystemCallError("open", code: ENXIO, subject: path)
    }
    _ = fcntl(file.number, F_SETFL, 0)
    let bytes = try file.readAll(limit: limit + 1)
    guard bytes.count <= limit else { throw SystemCallError("read", code: EFBIG, subject: path) }
    return bytes
  }

  /// Whether what is written below a directory stays in memory (tmpfs(5), ramfs).
  package static func isMemory(_ path: String) -> Bool { ol_is_memory(path) == 1 }

  /// Descriptors that this process, and so any that it starts, may have at most (RLIMIT_NOFILE).
  package static var maxOpen: Int { Int(clamping: hardLimit(Int32(RLIMIT_NOFILE.rawValue))) }

  /// What this process may raise one of its limits to (getrlimit(2)).
  package static func hardLimit(_ resource: Int32) -> UInt64 {
    var (soft, hard): (UInt64, UInt64) = (0, 0)
    return ol_get_rlimit(resource, &soft, &hard) == 0 ? hard : .max
  }

  /// Lets this process have as much of what the limit is about as it may (setrlimit(2)).
  package static func raise(_ resource: Int32) {
    let hard = hardLimit(resource)
    _ = ol_set_rlimit(resource, hard, hard)
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

  /// Where a symbolic link leads (readlink(2)); nil for anything else.
  package static func link(_ path: String) -> String? {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(PATH_MAX)) { buffer in
      guard let start = buffer.baseAddress else { return nil }
      let count = readlink(path, start, buffer.count)
      return count > 0 ? String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self) : nil
    }
  }

  /// The flags that a descriptor was opened with (proc_pid_fdinfo(5)); nil where that can't be told.
  package static func openFlags(_ information: String) -> UInt64? {
    guard let text = try? text(of: information, limit: 4096) else { return nil }
    let line = text.split(separator: "\n").first { $0.hasPrefix("flags:") }
    return line.flatMap { UInt64($0.dropFirst(6).filter { !$0.isWhitespace }, radix: 8) }
  }

  /// Whether there is something of that name, be it a link that leads nowhere (lstat(2)); nil where that can't be told.
  package static func isNamed(_ path: String) -> Bool? {
    var status = stat()
    if lstat(path, &status) == 0 { return true }
    return errno == ENOENT || errno == ENOTDIR ? false : nil
  }

  /// Whether a name leads to something (stat(2)); nil where that can't be told, as in a folder that this user may not search.
  package static func isThere(_ path: String) -> Bool? {
    var status = stat()
    if stat(path, &status) == 0 { return true }
    return [ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG].contains(errno) ? false : nil
  }

  /// Whether what a name leads to is a folder; nil where it leads to nothing.
  package static func isFolder(_ path: String) -> Bool? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & S_IFMT == S_IFDIR : nil
  }

  /// Of what a name leads to, with its type; nil where it leads to nothing.
  package static func mode(of path: String) -> UInt32? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode : nil
  }

  package static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  package static func identity(of path: String) throws(SystemCallError) -> FileIdentity {
    var status = stat()
    try checkErrno("stat", path) { stat(path, &status) }
    return FileIdentity(status)
  }

  /// Of what has the name in a directory, a link itself (fstatat(2)).
  package static func identity(of name: String, in directory: Int32) throws(SystemCallError) -> FileIdentity {
    var status = stat()
    try checkErrno("fstatat", name) { fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) }
    return FileIdentity(status)
  }

  package static func names(in directory: String) throws(SystemCallError) -> [String] {
    try names(in: directory, atMost: .max).sorted()
  }

  /// As many as that, in no order. `beginning`: only those that begin so; the others of a full folder cost little.
  package static func names(
    in directory: String, atMost limit: Int, beginning: String = ""
  ) throws(SystemCallError) -> [String] {
    guard let stream = opendir(directory) else { throw SystemCallError("opendir", code: errno, subject: directory) }
    defer { closedir(stream) }
    var names: [String] = []
    let length = beginning.utf8.count
    while names.count < limit, let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) {
          strncmp($0, beginning, length) == 0 ? String(cString: $0) : nil
        }
      }
      if let name, name != ".", name != ".." { names.append(name) }
    }
    return names
  }

  /// Makes a directory and those above it where they are missing; what is there stays as it is.
  package static func makeDirectories(_ path: String, mode: UInt32) throws(SystemCallError) {
    var made = path.isAbsolutePath ? "" : "."
    for part in path.pathNames {
      made += "/\(part)"
      if mkdir(made, mode) == 0 {
        // The user's mask may have taken from its owner what the next one needs (umask(2)).
        var status = stat()
        if stat(made, &status) == 0, status.st_mode & 0o700 != mode & 0o700 {
          try checkErrno("chmod", made) { chmod(made, mode & 0o700 | status.st_mode & 0o077) }
        }
      } else if errno != EEXIST {
        throw SystemCallError("mkdir", code: errno, subject: made)
      }
    }
  }

  /// Lets the owner read, write and enter what this process makes from now on, whatever mask it was started with (umask(2)).
  package static func keepOwnersRights() {
    let mask = umask(0o077)
    umask(mask & 0o077)
  }

  /// Bytes that a file of this process may have (RLIMIT_FSIZE of setrlimit(2)); nil: as many as its volume takes.
  package static var largest: UInt64? {
    var limit = rlimit()
    guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0, limit.rlim_cur != UInt.max else {
      return nil
    }
    return UInt64(limit.rlim_cur)
  }

  /// Creates a directory of the caller's own below `parent` (mkdtemp(3)).
  package static func temporaryDirectory(in parent: String, prefix: String) throws(SystemCallError) -> String {
    var template = Array("\(parent)/\(prefix)XXXXXX".utf8CString)
    let made = template.withUnsafeMutableBufferPointer { $0.baseAddress.flatMap { mkdtemp($0) } != nil }
    guard made else { throw SystemCallError("mkdtemp", code: errno, subject: parent) }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// Where the volume of a path is mounted, as far as device numbers tell (a bind mount of the same volume has none of its
  /// own); nil: nothing is at that path.
  package static func mountPoint(of path: String) -> String? {
    guard var place = try? real(path), let device = try? identity(of: place).device else { return nil }
    while place != "/" {
      let end = place.utf8.lastIndex(of: UInt8(ascii: "/")) ?? place.startIndex
      let parent = end == place.startIndex ? "/" : String(place[..<end])
      guard let above = try? identity(of: parent).device, above == device else { break }
      place = parent
    }
    return place
  }
}
