internal import Basics
internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem

/// The root that every runner starts from: a memory filesystem with the runtime, read-only, and empty places for what is
/// a run's own. It is built once; a run's mount namespace is a copy of these few mounts instead of the whole machine's.
struct Template {
  private let paths: [String]
  private let links: [(String, String)]
  /// Of the stack of this thread, which every runner begins as a copy of.
  private let stack: String

  /// Leaves the machine's root for the template, in a new mount namespace. `devices`: a mount with the devices' nodes; without
  /// one they are the machine's.
  static func enter(runtime: [String], devices: Int32?) throws(SystemCallError) -> Template {
    // Cloned while the machine's mounts are still ours: a clone is only possible in the namespace that one is in.
    let readOnly = UInt32(OL_MOUNT_READ_ONLY | OL_MOUNT_NO_DEVICES)
    var parts: [(path: String, mount: Int32)] = []
    for path in covering(RunnerView.runtime + runtime) where Files.link(path) == nil {
      if let mount = try clone(path, attributes: readOnly) { parts.append((path, mount)) }
    }
    // Over the machine's, which no process needs any more in this namespace, for as long as it takes to clone them.
    if let devices { try check("move_mount", "/dev") { ol_attach_mount(devices, "/dev") } }
    for path in RunnerView.devices {
      // What is written to them changes nothing, but their times and modes would.
      let attributes = UInt32(OL_MOUNT_NO_EXEC | OL_MOUNT_READ_ONLY)
      if let mount = try clone(path, attributes: attributes) { parts.append((path, mount)) }
    }
    if devices != nil { try check("umount2", "/dev") { ol_detach_mount("/dev") } }
    let map = try Files.text(of: RunnerView.memoryMap, limit: 1 << 20)
    let template = Template(
      paths: parts.map(\.path), links: RunnerView.links.compactMap { path in Files.link(path).map { (path, $0) } },
      stack: map.split(separator: "\n").filter { $0.hasSuffix("[stack]") }.map { $0 + "\n" }.joined())
    try check("unshare", "CLONE_NEWNS") { ol_unshare(ol_new_mount) }
    try template.build(at: "/tmp", parts: parts)
    try check("pivot_root", "/tmp") { ol_pivot("/tmp") }
    try check("mount", "/ read-only") { ol_mount_read_only("/") }
    return template
  }

  /// The same root once more and writable, for a run whose policy grants paths of its own: they need mount points.
  /// Called in the run's own mount namespace, which makes it read-only in the end.
  func rebuild() throws(SystemCallError) {
    var parts: [(path: String, mount: Int32)] = []
    for path in paths {
      if let mount = try Self.clone(path, attributes: 0) { parts.append((path, mount)) }
    }
    try build(at: RunnerView.temporary, parts: parts)
    try check("pivot_root", RunnerView.temporary) { ol_pivot(RunnerView.temporary) }
  }

  private func build(
    at root: String, parts: [(path: String, mount: Int32)]
  ) throws(SystemCallError) {
    try check("mount tmpfs", root) { ol_mount_tmpfs(root, "mode=755,size=1m,nr_inodes=512", 1) }
    for directory in [RunnerView.bundle, RunnerView.container, RunnerView.temporary, "/dev", "/etc"] {
      mkdir(root + directory, 0o755)
    }
    try Self.place(root + RunnerView.manifest, isDirectory: false)
    try Self.place(root + RunnerView.memoryMap, isDirectory: false)
    try Files.control(root + RunnerView.memoryMap, stack)
    for (path, target) in links {
      Self.makeParents(of: root + path)
      symlink(target, root + path)
    }
    for (path, mount) in parts {
      var status = stat()
      fstat(mount, &status)
      try Self.place(root + path, isDirectory: status.st_mode & S_IFMT == S_IFDIR)
      try check("move_mount", path) { ol_attach_mount(mount, root + path) }
      close(mount)
    }
  }

  /// Makes an empty file or directory, and what leads to it.
  static func place(_ path: String, isDirectory: Bool) throws(SystemCallError) {
    makeParents(of: path)
    if isDirectory {
      if mkdir(path, 0o755) != 0, errno != EEXIST { throw SystemCallError("mkdir", code: errno, subject: path) }
    } else {
      // What is there isn't opened: a FIFO would keep its opener waiting.
      let file = open(path, O_CREAT | O_EXCL | O_RDONLY | O_CLOEXEC, 0o644)
      if file < 0, errno != EEXIST { throw SystemCallError("open", code: errno, subject: path) }
      if file >= 0 { close(file) }
    }
  }

  private static func makeParents(of path: String) {
    var index = path.startIndex
    while let slash = path.utf8[path.utf8.index(after: index)...].firstIndex(of: UInt8(ascii: "/")) {
      mkdir(String(path[..<slash]), 0o755)
      index = slash
    }
  }

  private static func clone(_ path: String, attributes: UInt32) throws(SystemCallError) -> Int32? {
    var mount: Int32 = -1
    switch ol_clone_mount(AT_FDCWD, path, 1, &mount) {
    case 0: break
    case ENOENT: return nil
    case let code: throw SystemCallError("open_tree", code: code, subject: path)
    }
    if attributes != 0 { try check("mount_setattr", path) { ol_restrict_mount(mount, attributes, 1) } }
    return mount
  }

  /// Drops paths that lie below another one.
  private static func covering(_ paths: [String]) -> [String] {
    var kept: [String] = []
    for path in Set(paths).sorted() where !kept.contains(where: { path.lies(in: $0) }) {
      kept.append(path)
    }
    return kept
  }
}
