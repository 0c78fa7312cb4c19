internal import Basics
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// Which of the paths that a plugin names are refused to it, as far as names tell: what is recorded with `--observe`.
/// The mount namespace and Landlock decide; this is for the report alone.
struct FileView {
  /// What a plugin sees, with everything in it.
  let shown: [String]
  /// Folders whose names it sees, and whose files it can't read.
  let listed: [String]
  /// What of `shown` may be executed.
  let executable: [String]
  /// What of `shown` is mounted without execution, so that no code of it is mapped either.
  let withoutExecution: [String]
  /// What of `shown` may be written. The rest is mounted read-only.
  let writable: [String]
  /// Of `shown`: opened for writing also on their read-only mounts, and changed in no other way.
  let devices: [String]
  /// What no policy lets a plugin write to: reported as a whole, however many files of it are tried.
  let runtime: [String]
  /// Where it has an empty folder of its own in the place of the machine's; nil where it sees the machine's.
  let temporary: String?
  /// Whether another mount namespace hides the machine's files.
  let hidesFiles: Bool
  let hasLandlock: Bool
  /// What is asked of the machine and of the plugin's own root, each time.
  let disk: Disk
  /// Follows links in what is the machine's.
  private let machines: GrantPlaces
  /// What of `shown` is the run's own.
  private let runFolders: [String]

  struct Disk {
    /// Where symbolic links in what is the machine's lead.
    var link: (String) -> String? = Files.link
    /// The same in the plugin's own root, for links that it may have made itself.
    var ownLink: (String) -> String? = { _ in nil }
    var isOnMachine: (String) -> Bool
    /// Whether it is a folder of the machine.
    var isFolderOnMachine: (String) -> Bool = { _ in false }
    /// Whether it is in the plugin's own root; true where that can't be told.
    var isInside: (String) -> Bool
    /// Whether it is a folder of the plugin's own root.
    var isFolder: (String) -> Bool = { _ in false }
    /// Whether it may be read by another name, by which it is granted: Landlock knows files and not names.
    var isGranted: (String) -> Bool = { _ in false }
  }

  init(
    shown: [String], listed: [String] = [], executable: [String] = [], withoutExecution: [String] = [],
    writable: [String] = [], devices: [String] = [], runtime: [String] = [], temporary: String?, hidesFiles: Bool,
    hasLandlock: Bool, disk: Disk
  ) {
    (self.shown, self.listed, self.writable) = (shown, listed, writable)
    (self.executable, self.withoutExecution) = (executable, withoutExecution)
    (self.devices, self.runtime, self.temporary) = (devices, runtime, temporary)
    (self.hidesFiles, self.hasLandlock, self.disk) = (hidesFiles, hasLandlock, disk)
    runFolders = shown.filter(RunnerView.isOwn)
    // Without a mount namespace all of the machine's links are there.
    machines = GrantPlaces(
      [], runtime: hidesFiles ? (shown + listed).filter { $0 != temporary && !RunnerView.isOwn($0) } : [""],
      link: disk.link)
  }

  /// What these name needn't be there.
  private static let makers: Set<String> = [
    "mkdir", "mkdirat", "creat", "rename", "renameat", "renameat2", "link", "linkat", "symlink", "symlinkat",
  ]

  /// What makes nothing of what is there already.
  private static let newcomers: Set<String> = ["mkdir", "mkdirat", "symlink", "symlinkat"]

  /// Links of the plugin's own that are followed for a report: more would only keep this thread busy.
  private static let maxOwnLinks = 8

  /// Where links in the plugin's own folders lead a call that names `path`; `path` itself where there are none. `followsLast`: whether
  /// it also goes through one that is the last part.
  func destination(of path: String, followsLast: Bool) -> String {
    guard hidesFiles, runFolders.contains(where: { path.lies(in: $0) }) else { return path }
    var parts = path.pathNames
    guard parts.count <= Self.maxComponents else { return path }
    let last = followsLast || parts.last == ".." ? nil : parts.popLast()
    let folder = "/" + parts.joined(separator: "/")
    var count = 0
    let place = GrantPlaces([folder], runtime: runFolders) { [runFolders, ownLink = disk.ownLink] found in
      guard count < Self.maxOwnLinks, runFolders.contains(where: { found.lies(in: $0) }),
        let target = ownLink(found),
        target.pathNames.count <= Self.maxComponents
      else { return nil }
      count += 1
      return target
    }.place(of: folder)
    guard count > 0 else { return path }
    return last.map { (place == "/" ? "" : place) + "/" + $0 } ?? place
  }

  /// Whether a call that names an absolute path doesn't get there. `makesFile`: an open(2) with O_CREAT. `followsLast`: whether it
  /// means what a link leads to that is the last part.
  func refuses(_ path: String, to call: String, makesFile: Bool = false, followsLast: Bool = true) -> Bool {
    guard hidesFiles || hasLandlock else { return false }
    let place = place(of: path, followsLast)
    // What is there is said before anything else is asked (mkdir(2), EEXIST).
    if Self.newcomers.contains(call), hidesFiles, disk.isInside(place) { return false }
    if call == "execve" { return !executable.contains { place.lies(in: $0) } }
    if shown.contains(where: { place.lies(in: $0) }) {
      guard let temporary, place.lies(in: temporary), !makesFile, !Self.makers.contains(call) else { return false }
      return disk.isOnMachine(place) && !disk.isInside(place)
    }
    if let holder = listed.first(where: { place.lies(in: $0) }) {
      return !SystemCalls.looks.contains(call) && !disk.isFolder(place) && !isGranted(place, below: holder)
    }
    // Links of the view's own, which are followed unless the call means them.
    if hidesFiles, RunnerView.links.contains(place), SystemCalls.looks.contains(call) { return false }
    // A folder that leads to something is there, empty but for that; to list it is refused.
    let leads = (shown + listed).contains { $0.lies(in: place) }
    guard SystemCalls.looks.contains(call) else { return !leads || hasLandlock }
    return hidesFiles && !leads
  }

  /// A folder before a `..` that isn't there inside.
  struct Missing: Equatable {
    var path: String
    /// A link that isn't shown, so that the path with `..` means another place inside than on the machine.
    var isLink: Bool
  }

  /// The first on the way to a path: the kernel looks up each folder before a `..` (path_resolution(7), ENOENT). nil: all are there.
  func missing(on path: String) -> Missing? {
    guard hidesFiles, let folder = detours(of: path).first(where: { refuses($0, to: "stat") }) else { return nil }
    var way = ""
    for name in folder.pathNames {
      way += "/" + name
      if !RunnerView.links.contains(way), disk.link(way) != nil { return Missing(path: way, isLink: true) }
    }
    return Missing(path: folder, isLink: false)
  }

  /// Where the folders before each `..` of a path lie. None in one of more parts than are looked at.
  private func detours(of path: String) -> [String] {
    let names = path.pathNames
    guard names.count <= Self.maxComponents, names.contains("..") else { return [] }
    var found: [String] = []
    var way = ""
    for name in names {
      if name == ".." {
        let folder = place(of: way, true)
        found.append(folder)
        way = folder.parentFolder.map { $0 == "/" ? "" : $0 } ?? ""
      } else {
        way += "/" + name
      }
    }
    return found
  }

  private func isGranted(_ place: String, below holder: String) -> Bool {
    var place = place
    while place.utf8.count > holder.utf8.count {
      if disk.isGranted(place) { return true }
      place = place.parentFolder ?? ""
    }
    return false
  }

  /// Whether the mount that a file of the view lies in has no execution: then the kernel maps none of it as code (mmap(2), EPERM).
  func refusesCode(_ file: String) -> Bool {
    guard hidesFiles else { return false }
    let holder = shown.filter { file.lies(in: $0) }.max { $0.utf8.count < $1.utf8.count }
    return holder.map(withoutExecution.contains) ?? false
  }

  /// What a call wants to change and may only read, as it is reported (EROFS, or EACCES by Landlock alone); nil: it isn't refused for
  /// that. `flags`: of an open(2). `asks`: it only asks whether it may, which Landlock answers as if it could.
  func refusesChange(
    _ path: String, by call: String, flags: UInt64?, asks: Bool = false, followsLast: Bool = true
  ) -> String? {
    guard hidesFiles || hasLandlock && !asks, asks || SystemCalls.writes(call, flags: flags) else { return nil }
    let place = place(of: path, followsLast)
    // What is granted by itself is a mount of its own: it can't be moved or taken away, nor anything be put in its place (rename(2), EBUSY).
    if SystemCalls.moves.contains(call) || SystemCalls.removes.contains(call), hidesFiles, writable.contains(place),
      !runFolders.contains(place)
    {
      return path
    }
    let holder = shown.filter { place.lies(in: $0) }.max { $0.utf8.count < $1.utf8.count }
    guard let holder, !writable.contains(holder), !((flags != nil || asks) && devices.contains(holder)),
      changes(place, call, flags)
    else { return nil }
    return runtime.contains(holder) ? holder : path
  }

  /// Whether the kernel comes as far as to ask whether it may be changed: what is there already, or isn't, is said before.
  private func changes(_ place: String, _ call: String, _ flags: UInt64?) -> Bool {
    let isThere = disk.isInside(place)
    let isFolderThere = place.parentFolder.map(disk.isInside) ?? false
    if let flags {
      let makes = SystemCalls.makesFile(call, flags: flags)
      let (exclusive, unnamed) = (flags & 0o200 != 0, flags & 0o20_000_000 != 0)
      guard isThere else { return makes && isFolderThere }
      return !(exclusive && makes) && (unnamed || !disk.isFolder(place))
        && SystemCalls.changesContent(call, flags: flags)
    }
    if Self.makers.contains(call), !SystemCalls.moves.contains(call) { return !isThere && isFolderThere }
    return SystemCalls.changesFolder(call, flags: nil) ? isFolderThere : isThere
  }

  /// Whether a call would have changed something had the plugin seen all of the machine's files. What takes a file that isn't there,
  /// or makes one that is, is only told so. `flags`: of an open(2). `source`: of a call that gives the file of another path this name.
  func wouldChange(_ path: String, by call: String, flags: UInt64?, to source: String? = nil) -> Bool {
    guard SystemCalls.writes(call, flags: flags) else { return false }
    let isThere = disk.isOnMachine(path)
    if let flags {
      let (makes, exclusive) = (SystemCalls.makesFile(call, flags: flags), flags & 0o200 != 0)
      guard isThere else { return makes }
      // A folder is opened for writing for a file without a name alone (open(2), EISDIR).
      let unnamed = flags & 0o20_000_000 != 0
      return !(makes && exclusive) && (unnamed || !disk.isFolderOnMachine(path))
    }
    let moves = SystemCalls.moves.contains(call)
    if let source { return (disk.isOnMachine(source) || disk.isInside(source)) && (moves || !isThere) }
    return moves || call.hasPrefix("link") ? isThere : Self.makers.contains(call) != isThere
  }

  /// What of all that it sees holds what a path leads to.
  func holder(of path: String, followsLast: Bool) -> String? { holder(of: place(of: path, followsLast)) }

  /// What holds the folders that a path with `..` leads through, which have to be there as well.
  func holdersOnTheWay(to path: String) -> [String] {
    hidesFiles ? detours(of: path).compactMap { holder(of: $0) } : []
  }

  private func holder(of place: String) -> String? {
    (shown + listed).filter { place.lies(in: $0) }.max { $0.utf8.count < $1.utf8.count }
  }

  /// Names longer than any library's are a plugin's that wants to keep this thread busy: their links aren't looked at.
  private static let maxComponents = 64

  private func place(of path: String, _ followsLast: Bool) -> String {
    let names = path.pathNames
    guard names.count <= Self.maxComponents else { return Self.withoutDetours(names) }
    return machines.destination(of: path, names: names, followsLast: followsLast)
  }

  private static func withoutDetours(_ parts: [String]) -> String {
    var left: [String] = []
    for part in parts { if part == ".." { _ = left.popLast() } else { left.append(part) } }
    return "/" + left.joined(separator: "/")
  }
}

extension FileView {
  /// `root`: of the plugin's process, as the host sees it.
  init(_ plan: SpawnPlan, root: String) {
    let hidesFiles = plan.machine.hidesFiles
    self.init(
      shown: (plan.bundlePaths + [plan.view.temporary, plan.view.manifest] + plan.containers.places.map(\.view))
        .filter { !$0.isEmpty } + RunnerView.runtime + plan.policy.devices.map(\.path) + plan.machine.hello.runtime
        + plan.grants.filter { !$0.isListed }.map(\.place) + (hidesFiles ? [RunnerView.memoryMap] : [])
        + (plan.network == nil ? [] : RunnerView.networkFiles),
      listed: plan.grants.filter(\.isListed).map(\.place),
      executable: plan.bundlePaths + RunnerView.runtime + plan.machine.hello.runtime
        + plan.grants.filter(\.mapsCode).map(\.place),
      // A scratch folder is memory, which runners always mount so.
      withoutExecution: plan.placesWithoutExecution + [plan.view.temporary],
      writable: (plan.policy.writesContainer ? plan.containers.places.map(\.view) : [])
        + (plan.policy.writesTemporary ? [plan.view.temporary] : [])
        + plan.grants.filter(\.isWritable).map(\.place),
      devices: plan.policy.devices.map(\.path), runtime: RunnerView.runtime + plan.machine.hello.runtime,
      temporary: hidesFiles ? plan.view.temporary : nil, hidesFiles: hidesFiles,
      hasLandlock: plan.machine.landlockABI > 0 && !plan.options.open.contains(.landlock),
      disk: Disk(
        ownLink: { Files.link(root + $0) },
        isOnMachine: { Files.isNamed($0) ?? false }, isFolderOnMachine: { Files.isFolder($0) ?? false },
        isInside: { Files.isNamed(root + $0) ?? true },
        isFolder: { Files.isFolder(root + $0) ?? false },
        isGranted: { path in
          guard let identity = try? Files.identity(of: root + path) else { return false }
          return plan.grants.contains { !$0.isListed && $0.identity.isSameFile(as: identity) }
        }))
  }
}
