internal import CLinux
internal import Glibc
internal import LinuxSystem

/// Goes through a folder that anyone may have made, and copies it where a target is given. Every name is opened from the
/// descriptor of its folder, no link is followed, and nothing is waited for.
struct TreePass {
  let limits: BundleLimits
  /// Where findings are collected; otherwise the first one ends the pass.
  private let collects: Bool
  /// For messages.
  private let subject: String
  private(set) var entries = 0
  private(set) var bytes: Int64 = 0
  private(set) var problems: [Finding] = []
  private var links: [String] = []

  private static let maxProblems = 50
  private static let expected = "regular files, folders, and links that stay in the bundle"

  private init(subject: String, limits: BundleLimits, collects: Bool) {
    self.subject = subject
    self.limits = limits
    self.collects = collects
  }

  /// Everything about the files themselves that keeps a bundle from being installed.
  static func problems(of path: String, limits: BundleLimits) -> [Finding] {
    var pass = TreePass(subject: path, limits: limits, collects: true)
    do throws(BundleError) {
      try pass.run(path, to: nil)
    } catch {
      pass.problems.append(Finding(file: "", expected: "a bundle that can be copied", found: error.reason))
    }
    return pass.problems
  }

  /// - Returns: what there is: entries and bytes.
  @discardableResult
  static func verify(
    _ path: String, subject: String, limits: BundleLimits
  ) throws(BundleError) -> (entries: Int, bytes: Int64) {
    var pass = TreePass(subject: subject, limits: limits, collects: false)
    try pass.run(path, to: nil)
    return (pass.entries, pass.bytes)
  }

  /// - Parameter target: a folder that is there and empty.
  static func copy(_ path: String, to target: String, limits: BundleLimits) throws(BundleError) {
    var pass = TreePass(subject: path, limits: limits, collects: false)
    try pass.run(path, to: target)
  }

  private mutating func run(_ path: String, to target: String?) throws(BundleError) {
    let source = try opened(path)
    if let target {
      let copy = try opened(target)
      try visit(source.number, "", depth: 1, to: copy.number)
    } else {
      try visit(source.number, "", depth: 1, to: nil)
    }
    // All are there by now: the kernel says where each leads, however many others are on its way.
    for link in links { try verify(link, in: source.number) }
  }

  private func opened(_ path: String) throws(BundleError) -> OwnedDescriptor {
    do throws(SystemCallError) {
      return try OwnedDescriptor.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
    } catch {
      throw BundleError(error, subject: subject)
    }
  }

  private mutating func visit(
    _ folder: Int32, _ prefix: String, depth: Int, to target: Int32?
  ) throws(BundleError) {
    guard depth <= limits.depth else {
      throw BundleError(.tooLarge, subject, "has folders within each other deeper than \(limits.depth) levels")
    }
    let names: [[CChar]]
    do throws(SystemCallError) {
      names = try FolderNames.read(folder, atMost: limits.entries - entries + 1)
    } catch {
      throw BundleError(error, subject: "\(subject)/\(prefix)")
    }
    for name in names {
      entries += 1
      guard entries <= limits.entries else {
        throw BundleError(.tooLarge, subject, "has more than \(limits.entries) files and folders")
      }
      let text = String(validating: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      guard let text, BundleNames.isPlain(text) else {
        try object(prefix + FolderNames.text(name), "a name that isn't UTF-8 text, or has control characters")
        continue
      }
      let path = prefix + text
      guard path.utf8.count <= limits.pathLength else {
        throw BundleError(.tooLarge, subject, "has a path of more than \(limits.pathLength) bytes: \(path.prefix(60))…")
      }
      try visitEntry(name, path, in: folder, depth: depth, to: target)
    }
  }

  private mutating func visitEntry(
    _ name: [CChar], _ path: String, in folder: Int32, depth: Int, to target: Int32?
  ) throws(BundleError) {
    var status = stat()
    do {
      try checkErrno("fstatat", path) { fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) }
      let kind = FileKind(mode: status.st_mode)
      // A folder has the bit from the one above it, and it gives no rights.
      if kind == .file, status.st_mode & 0o6000 != 0 {
        return try object(path, "\(kind.rawValue) with a setuid or setgid bit", remedy: "chmod ug-s")
      }
      switch kind {
      case .folder: try visitFolder(name, path, in: folder, depth: depth, to: target)
      case .file: try visitFile(name, path, in: folder, to: target)
      case .link:
        links.append(path)
        if let target { try Self.copyLink(name, from: folder, to: target, size: Int(status.st_size)) }
      default: try object(path, kind.rawValue)
      }
    } catch let error as SystemCallError {
      throw BundleError(error, subject: "\(subject)/\(path)")
    } catch let error as BundleError {
      throw error
    } catch {
      throw BundleError(.systemRefused, path, "\(error)")
    }
  }

  private mutating func visitFolder(
    _ name: [CChar], _ path: String, in folder: Int32, depth: Int, to target: Int32?
  ) throws {
    let flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
    let inner = OwnedDescriptor(taking: try checkErrno("openat", path) { openat(folder, name, flags) })
    guard let target else { return try visit(inner.number, path + "/", depth: depth + 1, to: nil) }
    try checkErrno("mkdirat", path) { mkdirat(target, name, 0o755) }
    let copy = OwnedDescriptor(taking: try checkErrno("openat", path) { openat(target, name, flags) })
    try checkErrno("fchmod", path) { fchmod(copy.number, 0o755) }
    try visit(inner.number, path + "/", depth: depth + 1, to: copy.number)
  }

  private mutating func visitFile(_ name: [CChar], _ path: String, in folder: Int32, to target: Int32?) throws {
    var status = stat()
    guard let target else {
      try checkErrno("fstatat", path) { fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) }
      return try count(Int64(status.st_size))
    }
    // It may be a FIFO by now.
    let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
    let source = OwnedDescriptor(taking: try checkErrno("openat", path) { openat(folder, name, flags) })
    try checkErrno("fstat", path) { fstat(source.number, &status) }
    guard FileKind(mode: status.st_mode) == .file else { return try object(path, "a file that was replaced meanwhile") }
    let mode: UInt32 = status.st_mode & 0o111 == 0 ? 0o644 : 0o755
    let copy = OwnedDescriptor(
      taking: try checkErrno("openat", path) {
        openat(target, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
      })
    try checkErrno("fchmod", path) { fchmod(copy.number, mode) }
    let before = bytes
    try count(Int64(status.st_size))
    // A file that grows meanwhile is copied as long as it was.
    try FileCopy.copy(source.number, to: copy.number, count: bytes - before)
  }

  private mutating func count(_ size: Int64) throws(BundleError) {
    guard size >= 0, size <= limits.totalBytes - bytes else {
      throw BundleError(.tooLarge, subject, "has more than \(limits.totalBytes >> 20) MiB")
    }
    bytes += size
  }

  private static func copyLink(
    _ name: [CChar], from folder: Int32, to target: Int32, size: Int
  ) throws(SystemCallError) {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
    let count = try checkErrno("readlinkat", "a link") { readlinkat(folder, name, &buffer, Int(PATH_MAX)) }
    buffer[count] = 0
    try checkErrno("symlinkat", "a link") { symlinkat(buffer, target, name) }
  }

  private mutating func verify(_ link: String, in root: Int32) throws(BundleError) {
    var number: Int32 = -1
    switch ol_open_inside(root, link, ol_open_path, &number) {
    case 0: close(number)
    case EXDEV: try object(link, "a link out of the bundle", remedy: "put a copy of the file in its place")
    case ELOOP: try object(link, "a link that leads in a circle")
    case let code: try object(link, "a link that leads nowhere (\(SystemCallError.message(code)))")
    }
  }

  private mutating func object(_ path: String, _ found: String, remedy: String? = nil) throws(BundleError) {
    guard collects else {
      throw BundleError(
        .unsafeContent, "\(subject)/\(path)", "is \(found); a bundle has \(Self.expected)", remedy: remedy)
    }
    guard problems.count < Self.maxProblems else { return }
    problems.append(Finding(file: path, expected: Self.expected, found: found, remedy: remedy))
  }
}

/// Names in a folder as the bytes that they are, which need not be text.
enum FolderNames {
  /// In the order of their bytes, each with the zero at its end.
  static func read(_ folder: Int32, atMost limit: Int) throws(SystemCallError) -> [[CChar]] {
    let copy = try checkErrno("openat", "a folder") { openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard let stream = fdopendir(copy) else {
      let code = errno
      close(copy)
      throw SystemCallError("fdopendir", code: code, subject: "a folder")
    }
    defer { closedir(stream) }
    var names: [[CChar]] = []
    errno = 0
    while names.count < limit, let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: 256) {
          Array(UnsafeBufferPointer(start: $0, count: strlen($0) + 1))
        }
      }
      let dot = CChar(UInt8(ascii: "."))
      if name != [dot, 0], name != [dot, dot, 0] { names.append(name) }
      errno = 0
    }
    guard errno == 0 || names.count >= limit else { throw SystemCallError("readdir", code: errno, subject: "a folder") }
    return names.sorted { $0.lexicographicallyPrecedes($1) { UInt8(bitPattern: $0) < UInt8(bitPattern: $1) } }
  }

  static func text(_ name: [CChar]) -> String {
    String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
