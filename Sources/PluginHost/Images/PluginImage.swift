internal import Basics
internal import CLinux
internal import Glibc
internal import Hashing
package import LinuxSystem
internal import Synchronization

/// The files of one plugin as the host opened them: what is loaded is these inodes and nothing else.
package struct PluginImage: Sendable {
  package struct File: Sendable {
    package let path: String
    package let identity: FileIdentity
    /// The name that others need it by; `path` has the links behind that resolved.
    let name: String

    init(path: String, identity: FileIdentity, name: String? = nil) {
      self.path = path
      self.identity = identity
      self.name = name ?? path.lastPathName
    }
  }

  /// The library that is loaded.
  package let library: File
  /// Libraries beside it that it needs, directly or through each other.
  package let neighbours: [File]
  /// Whether it or one of these does, by their heads.
  let needsFoundation: Bool
  /// The `.appex` folder; nil for a bare library.
  package let bundle: File?
  package let bundleIdentifier: String
  /// Found by the loader's search rather than by a path: it lies in the runtime that every runner sees.
  package let isSystemLibrary: Bool
  package let elf: ELFFile?
  /// SHA-256 of the library as the host read it, in hexadecimal.
  package let digest: String
  /// Why `elf` is nil, as the end of a sentence that begins with the file's name.
  package let formatError: String?
  /// Whether its file ends before what it says of itself.
  let isCutShort: Bool

  /// Opens a `.so`, an `.appex` folder, or (`searching`) a library that the system's loader would find by its name.
  /// `readsExports`: for those who want to see them; they are many, and no load needs them.
  package init(
    opening name: String, searching: Bool = false, readsExports: Bool = false
  ) throws(HostError) {
    try self.init(opening: name, searching: searching, readsExports: readsExports, reading: .unlimited)
  }

  /// Throws `.ended` where `reading` is over before all that has to be read was.
  init(
    opening name: String, searching: Bool, readsExports: Bool = false, reading: ReadingTime
  ) throws(HostError) {
    var path = name
    var isInRuntime = false
    // Neither the folder nor the one above it is a library's name.
    if searching, !name.hasSlash, name != ".", name != ".." {
      guard let found = LibrarySearch.find(name) else {
        throw .input("\(name): the system's loader finds no such library; a path needs a '/', for example ./\(name)")
      }
      path = found
      isInRuntime = (try? Files.real(found)).map { $0.hasPrefix("/usr/lib") } ?? false
    }
    isSystemLibrary = isInRuntime
    let top = try Self.open(path)
    if top.identity.isDirectory {
      bundle = top
      let facts = try BundleFacts(readingFrom: top.path)
      bundleIdentifier = facts.identifier
      library = try Self.open(top.path + "/" + facts.executable)
      guard library.path.lies(below: top.path) else {
        throw .input("\(name): CFBundleExecutable '\(facts.executable)' lies outside the bundle")
      }
    } else {
      bundle = nil
      bundleIdentifier = ""
      library = top
    }
    guard library.identity.isRegularFile else { throw .input("\(library.path): not a regular file") }
    // A file that the host can't read as ELF is left to the loader, which has the last word, inside the walls.
    var room = Self.maxBytes
    try Self.admit(library, &room)
    let parsed = try readsExports ? Self.read(library, readsExports: true, reading) : Self.parse(library, reading)
    (elf, formatError, digest) = (parsed.elf, parsed.formatError, parsed.digest)
    isCutShort = parsed.isCutShort
    var needed = Set((elf?.needed ?? []).map(ExactText.init))
    neighbours =
      isSystemLibrary
      ? []
      : try Self.closure(
        of: elf?.needed ?? [], in: Self.directory(of: library.path),
        within: bundle?.path ?? Self.directory(of: library.path), itself: library.name,
        reading, &room, &needed)
    needed.remove(ExactText(library.name))
    needsFoundation = needed.contains { $0.text.utf8.starts(with: "libFoundation".utf8) }
    Self.read.withLock { read in
      if read.count >= Self.maxKnown { read.removeAll() }
      read.insert(top.identity)
    }
  }

  /// Libraries and folders of which all has been read before.
  private static let read = Mutex<Set<FileIdentity>>([])

  /// Whether opening it reads nothing, unless what lies beside it has changed. Only a guess.
  static func isKnown(_ path: String) -> Bool {
    guard let identity = try? Files.identity(of: path) else { return false }
    return read.withLock { $0.contains(identity) }
  }

  /// Whether the system's loader finds a library by that name, as `init(opening:searching:)` does.
  package static func isFoundByLoader(_ name: String) -> Bool {
    !name.hasSlash && name != "." && name != ".." && LibrarySearch.find(name) != nil
  }

  static func directory(of path: String) -> String { path.parentFolder ?? "/" }

  private static func open(_ path: String) throws(HostError) -> File {
    let named = try RunPath(opening: path)
    // The kernel's mark on the path of a file that has no name any more (proc_pid_fd(5)).
    guard !named.path.hasSuffix(" (deleted)") || Files.exists(named.path) else {
      throw .input("\(path): replaced while it was opened; try again")
    }
    return File(path: named.path, identity: named.identity)
  }

  private struct Parsed {
    var elf: ELFFile?
    var formatError: String?
    var isCutShort = false
    var digest: String
  }

  /// A host wakes the same few files again and again; one that has changed in any way is read anew.
  private static let parsed = Mutex<[FileIdentity: Parsed]>([:])
  private static let maxKnown = 256

  /// Bytes of the library and its neighbours together: nothing ends their reading earlier, and it takes the host's time.
  private static let maxBytes: Int64 = 2 << 30

  private static func admit(_ file: File, _ room: inout Int64) throws(HostError) {
    guard file.identity.size <= room else {
      throw .input(
        "\(file.path): it has \(file.identity.size >> 20) MiB, and of a library and those beside it that it needs at most \(maxBytes >> 20) MiB are read; remove debug information (strip -g), and keep data in files of their own"
      )
    }
    room -= file.identity.size
  }

  private static func parse(_ file: File, _ reading: ReadingTime) throws(HostError) -> Parsed {
    if let known = parsed.withLock({ $0[file.identity] }) { return known }
    let result = try read(file, readsExports: false, reading)
    parsed.withLock { cache in
      if cache.count >= maxKnown { cache.removeAll() }
      cache[file.identity] = result
    }
    return result
  }

  private static func read(_ file: File, readsExports: Bool, _ reading: ReadingTime) throws(HostError) -> Parsed {
    let result: Parsed
    do throws(SystemCallError) {
      result = try contents(of: file, readsExports, reading)
    } catch {
      throw .input(
        "\(file.path): \(error.code == ESTALE ? "replaced while it was opened; try again" : SystemCallError.message(error.code))"
      )
    }
    try reading.check(file.path)
    return result
  }

  /// As far as it is read until `reading` is over.
  private static func contents(
    of file: File, _ readsExports: Bool, _ reading: ReadingTime
  ) throws(SystemCallError) -> Parsed {
    // It may be another file than the one that was looked at: a FIFO must not keep the host waiting.
    let descriptor = try OwnedDescriptor.open(file.path, O_RDONLY | O_NONBLOCK)
    let identity = try descriptor.identity()
    guard identity.device == file.identity.device, identity.inode == file.identity.inode else {
      throw SystemCallError("open", code: ESTALE, subject: file.path)
    }
    var result = Parsed(digest: try digest(of: descriptor, count: Int(file.identity.size), reading))
    do throws(ELFFile.FormatError) {
      let view = FileWindows(descriptor: descriptor.number, count: UInt64(file.identity.size), reading: reading)
      let elf = try ELFFile(view, readsExports: readsExports)
      (result.elf, result.isCutShort) = (elf, elf.isCutShort)
    } catch {
      (result.formatError, result.isCutShort) = (error.description, error.isCutShort)
    }
    return result
  }

  private static func digest(
    of file: borrowing OwnedDescriptor, count: Int, _ reading: ReadingTime
  ) throws(SystemCallError) -> String {
    let number = file.number
    var hash = RunningHash(.sha256)
    var part = [UInt8](repeating: 0, count: 128 << 10)
    var left = count
    while left > 0, !reading.isOver {
      let wanted = min(left, part.count)
      let size = try checkErrno("read", "\(number)") { Glibc.read(number, &part, wanted) }
      if size == 0 { break }
      part.withUnsafeBytes { hash.update(UnsafeRawBufferPointer(rebasing: $0[..<size])) }
      left -= size
    }
    return Hexadecimal.text(hash.digest)
  }

  /// What DT_NEEDED reaches in the library's own directory, by the names in `seen` afterwards. A link there may lead to where only
  /// the host may read: what lies outside `top`, links resolved, is no neighbour.
  private static func closure(
    of needed: [String], in directory: String, within top: String, itself: String, _ reading: ReadingTime,
    _ room: inout Int64, _ seen: inout Set<ExactText>
  ) throws(HostError) -> [File] {
    // Not the whole path again for every name: a wake waits for this.
    guard let folder = try? OwnedDescriptor.open(directory, ol_open_path | O_DIRECTORY) else { return [] }
    var wanted = needed
    seen = [ExactText(itself)]
    var found: [File] = []
    var opened = 0
    while let name = wanted.popLast(), found.count < maxNeighbours, seen.count < maxLookedFor, opened < maxOpened {
      try reading.check("\(directory)/\(itself), with what it needs,")
      guard !name.hasSlash, seen.insert(ExactText(name)).inserted, let file = neighbour(name, in: folder, within: top)
      else { continue }
      opened += 1
      try admit(file, &room)
      guard let elf = try elf(of: file, reading), elf.isSharedObject else { continue }
      found.append(file)
      wanted += elf.needed
    }
    return found
  }

  private static let maxNeighbours = 64
  /// Files, whether or not they are libraries.
  private static let maxOpened = 256
  /// Names, whether or not there is anything of that name.
  private static let maxLookedFor = 4096

  /// Of a neighbour only what it needs is of interest: its digest isn't needed, and hashing all of them would take long.
  private static func elf(of file: File, _ reading: ReadingTime) throws(HostError) -> ELFFile? {
    if let known = neighbourELFs.withLock({ $0[file.identity] }) { return known }
    guard let descriptor = try? OwnedDescriptor.open(file.path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW),
      let identity = try? descriptor.identity(), identity.device == file.identity.device,
      identity.inode == file.identity.inode
    else { return nil }
    let view = FileWindows(
      descriptor: descriptor.number, count: UInt64(max(file.identity.size, 0)), reading: reading)
    let parsed = try? ELFFile(view, readsExports: false)
    // What wasn't read isn't missing.
    try reading.check(file.path)
    guard let found = parsed else { return nil }
    neighbourELFs.withLock { cache in
      if cache.count >= maxKnown { cache.removeAll() }
      cache[file.identity] = found
    }
    return found
  }

  private static let neighbourELFs = Mutex<[FileIdentity: ELFFile]>([:])

  private static func neighbour(
    _ name: String, in folder: borrowing OwnedDescriptor, within top: String
  ) -> File? {
    let number = openat(folder.number, name, ol_open_path | O_CLOEXEC)
    guard number >= 0 else { return nil }
    let file = OwnedDescriptor(taking: number)
    // Where the file lies that was opened, rather than where its name leads by now.
    guard let path = Files.link("/proc/self/fd/\(number)"), path.lies(below: top),
      let identity = try? file.identity(), identity.isRegularFile
    else { return nil }
    return File(path: path, identity: identity, name: name)
  }
}
