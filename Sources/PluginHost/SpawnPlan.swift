internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// What the host found out about its machine and its fork server, once.
struct Machine {
  var landlockABI: Int
  var hasListener: Bool
  var hello: ServerEvent.Hello

  /// The namespaces, by the name that a fork server has for each.
  static let namespaces: [(name: String, wall: Wall)] = [
    ("user", .userNamespace), ("mount", .mountNamespace), ("pid", .pidNamespace), ("network", .networkNamespace),
    ("ipc", .ipcNamespace), ("uts", .utsNamespace),
  ]

  var hidesFiles: Bool { !lacks("mount") }
  var isolatesProcesses: Bool { !lacks("pid") }

  func failure(_ name: String) -> RunnerMessage.WallReport.Failure? {
    hello.missing.first { $0.step == name || $0.step.hasPrefix(name + ":") }
  }

  func lacks(_ name: String) -> Bool { failure(name) != nil }
}

/// Turns a policy into what a fork server is told: the pure part of a wake.
struct SpawnPlan {
  var image: PluginImage
  var policy: Policy
  /// In their order each has its place in the view.
  var containers: GroupContainers
  /// The plugin's home.
  var container: String { containers.places[0].path }
  /// Folders that plugins of this run may write to.
  var writable: [FileIdentity] = []
  var manifest: PluginImage.File?
  var machine: Machine
  /// Paths in the runner's view.
  var view: View
  /// What the policy grants.
  var grants: [Grant] = []
  /// Whether the extension's log shows what is private (`LoadOptions.showsPrivate`).
  var showsPrivate = false
  /// How long the host read the plugin's files for this load.
  var reading = Duration.zero
  /// Left open on purpose (`LoadOptions.withoutWalls`).
  var open: Set<Wall> = []
  let replacements = ReplacementFolder()
  /// Whether the kernel charges everything that the run uses.
  var hasMemoryCgroup = false
  /// Whether the host made the container for this run alone, and in memory.
  var isContainerInMemory = false
  /// What a plugin writes to memory nobody counts then, and the container is a bounded filesystem of the run's own, which
  /// the host doesn't see.
  var boundsContainer: Bool { isContainerInMemory && machine.hidesFiles && !hasMemoryCgroup }

  struct View {
    var library: String
    var bundle: String
    var container: String
    var manifest: String
    var temporary: String
  }

  init(
    image: PluginImage, policy: Policy, containers: GroupContainers, manifest: PluginImage.File?, machine: Machine
  ) {
    self.image = image
    self.policy = policy
    self.containers = containers
    let container = containers.places[0]
    self.manifest = manifest
    self.machine = machine
    if machine.hidesFiles {
      let root = image.bundle?.path ?? PluginImage.directory(of: image.library.path)
      let inside = String(image.library.path.dropFirst(root.count))
      view = View(
        library: image.isSystemLibrary
          ? image.library.path : RunnerView.bundle + (inside.hasPrefix("/") ? inside : "/" + inside),
        bundle: RunnerView.bundle, container: container.view, manifest: RunnerView.manifest,
        temporary: RunnerView.temporary)
    } else {
      view = View(
        library: image.library.path, bundle: image.bundle?.path ?? PluginImage.directory(of: image.library.path),
        container: container.view, manifest: manifest?.path ?? "", temporary: container.view)
    }
  }

  private static let readOnly = UInt32(OL_MOUNT_READ_ONLY | OL_MOUNT_NO_DEVICES)
  private static let noExecution = UInt32(OL_MOUNT_NO_EXEC)
  private static let data = noExecution | UInt32(OL_MOUNT_NO_DEVICES)
  /// Where code may be mapped late, it lies in what is for code, and nowhere else.
  private var noLateCode: UInt32 { policy.libraries.isEmpty ? 0 : Self.noExecution }

  /// One thing to attach, before it is known whether the host or the fork server clones it.
  struct Part {
    var file: PluginImage.File?
    var target: String
    var attributes: UInt32
    var memory: UInt64 = 0
    var createsFile = false
    var mustMap = false
  }

  /// `folders`: the containers, in their order.
  func parts(containers folders: [PluginImage.File]) -> [Part] {
    var parts: [Part] = []
    if let bundle = image.bundle {
      parts.append(Part(file: bundle, target: view.bundle, attributes: Self.readOnly))
      parts.append(Part(file: image.library, target: view.library, attributes: Self.readOnly))
      for file in image.neighbours {
        let target = view.bundle + file.path.dropFirst(bundle.path.count)
        if file.path.hasPrefix(bundle.path + "/") {
          parts.append(Part(file: file, target: target, attributes: Self.readOnly))
        }
      }
    } else if !image.isSystemLibrary {
      // A directory of this run's own that holds nothing but the library and what it needs of its neighbours.
      parts.append(Part(file: nil, target: view.bundle, attributes: Self.readOnly, memory: 65536))
      for file in [image.library] + image.neighbours {
        parts.append(
          Part(file: file, target: "\(view.bundle)/\(file.name)", attributes: Self.readOnly, createsFile: true))
      }
    }
    parts.append(Part(file: nil, target: view.temporary, attributes: noLateCode, memory: temporaryBytes))
    if boundsContainer {
      parts.append(Part(file: nil, target: view.container, attributes: Self.data, memory: temporaryBytes))
    } else {
      for (folder, place) in zip(folders, containers.places) {
        parts.append(Part(file: folder, target: place.view, attributes: Self.data, mustMap: true))
      }
    }
    if let manifest {
      parts.append(Part(file: manifest, target: view.manifest, attributes: Self.readOnly | Self.noExecution))
    }
    for grant in grants {
      parts.append(
        Part(
          file: PluginImage.File(path: grant.path, identity: grant.identity), target: grant.place,
          attributes: grant.isWritable ? Self.data : Self.readOnly | (grant.mapsCode ? 0 : noLateCode),
          mustMap: grant.isWritable))
    }
    return parts
  }

  /// Where what is attached lies on the machine.
  var places: ViewPlaces {
    guard machine.hidesFiles, let folders = try? containerFolders() else { return ViewPlaces([]) }
    return ViewPlaces(
      parts(containers: folders).compactMap { part in
        part.file.map { (part.target, $0.path) }
      })
  }

  /// What is attached as the containers.
  func containerFolders() throws(SystemCallError) -> [PluginImage.File] {
    try containers.places.map { (place) throws(SystemCallError) in
      let identity = if let named = place.identity { named } else { try Files.identity(of: place.path) }
      return PluginImage.File(path: place.path, identity: identity)
    }
  }

  /// The scratch directory is memory. Charged it may be as large as the limit; otherwise nothing else counts it.
  private var temporaryBytes: UInt64 {
    let limit = UInt64(max(policy.limits.memory, 65536))
    return hasMemoryCgroup ? limit : min(limit, 1 << 20)
  }

  var freshPoints: [String] {
    // The template has the first one's.
    containers.places.dropFirst().map { $0.view + "/" }
      + grants.map { $0.identity.isDirectory ? $0.place + "/" : $0.place }
  }

  func landlock() -> SpawnRequest.Landlock? {
    guard machine.landlockABI > 0, !open.contains(.landlock) else { return nil }
    let rights = LandlockRights(abi: machine.landlockABI)
    var rules: [SpawnRequest.PathRule] = []
    // What lies below another rule needs none of its own; each costs the run some microseconds.
    let directories = RunnerView.runtime.filter { !$0.hasSuffix(".cache") } + machine.hello.runtime
    for path in Set(directories) where !directories.contains(where: { path.hasPrefix($0 + "/") }) {
      let isFile = (try? Files.identity(of: path))?.isRegularFile == true
      rules.append(.init(path: path, rights: isFile ? rights.forFile(rights.readable) : rights.readable))
    }
    rules.append(.init(path: "/etc/ld.so.cache", rights: LandlockRights.readFile))
    if machine.hidesFiles {
      rules.append(.init(path: "/dev", rights: LandlockRights.readFile | LandlockRights.writeFile))
    } else {
      for path in RunnerView.devices {
        rules.append(.init(path: path, rights: LandlockRights.readFile | LandlockRights.writeFile))
      }
    }
    rules.append(.init(path: view.bundle, rights: rights.readable))
    for place in containers.places { rules.append(.init(path: place.view, rights: rights.writable)) }
    if view.temporary != view.container { rules.append(.init(path: view.temporary, rights: rights.writable)) }
    if manifest != nil { rules.append(.init(path: view.manifest, rights: LandlockRights.readFile)) }
    for grant in grants {
      let granted = grant.isWritable ? rights.writable : rights.readable
      rules.append(
        .init(path: grant.place, rights: grant.identity.isDirectory ? granted : rights.forFile(granted)))
    }
    return .init(filesystem: rights.filesystem, network: rights.network, scoped: rights.scoped, rules: rules)
  }

  func limits() -> [SpawnRequest.ResourceLimit] {
    if open.contains(.rlimits) { return [] }
    let limits = policy.limits
    // Whoever has a lower one himself can't give more, and the plugin has no more for it.
    func fixed(_ resource: __rlimit_resource, _ value: UInt64) -> SpawnRequest.ResourceLimit {
      let number = Int32(resource.rawValue)
      let least = min(value, Files.hardLimit(number))
      return .init(resource: number, soft: least, hard: least)
    }
    // A backstop only: the watchdog ends a run long before.
    let cpu = UInt64(max(limits.cpuTotal.inSeconds.rounded(.up), 1)) + 2
    return [
      fixed(RLIMIT_CPU, cpu), fixed(RLIMIT_FSIZE, UInt64(limits.fileSize)),
      fixed(RLIMIT_DATA, UInt64(max(4 << 30, limits.memory * 2))), fixed(RLIMIT_CORE, 0),
      fixed(RLIMIT_NOFILE, UInt64(limits.openFiles)), fixed(__RLIMIT_MEMLOCK, 0), fixed(__RLIMIT_SIGPENDING, 256),
      fixed(__RLIMIT_MSGQUEUE, 0), fixed(__RLIMIT_NICE, 0), fixed(__RLIMIT_RTPRIO, 0),
    ]
  }

  private static let longestZone = 1024

  var environment: [String] {
    if open.contains(.environment) { return Self.hostEnvironment }
    let entries = [
      "HOME=\(view.container)", "TMPDIR=\(view.temporary)", "LANG=C.UTF-8", "SWIFT_BACKTRACE=enable=no",
      // As many arenas as threads would each reserve, and touch, memory of their own.
      "MALLOC_ARENA_MAX=4", "\(ReplacementFolder.variable)=\(replacements.name)",
    ]
    return entries + (showsPrivate ? ["OUTRIDER_SHOW_PRIVATE=1"] : []) + Self.zone
  }

  /// The longest rule that tzset(3) takes has some fifty bytes; what is longer is none.
  static var zone: [String] {
    guard let zone = getenv("TZ"), strnlen(zone, longestZone + 1) <= longestZone else { return [] }
    return ["TZ=\(String(cString: zone))"]
  }

  private static var hostEnvironment: [String] {
    var entries: [String] = []
    var next = environ
    while let entry = next.pointee {
      entries.append(String(cString: entry))
      next += 1
    }
    return entries
  }

  var programOptions: SeccompProgram.Options {
    var options = SeccompProgram.Options()
    options.observesFiles = policy.observesFiles
    options.killing = Set(policy.onDenied.filter { $0.value == .kill }.keys)
    options.hidesFiles = machine.hidesFiles
    options.countsSharedMemory = !hasMemoryCgroup
    options.hasListener = machine.hasListener
    options.isolatesProcesses =
      machine.isolatesProcesses || machine.landlockABI >= LandlockRights.firstWithScopes && !open.contains(.landlock)
    return options
  }

  /// What is in force, wall by wall.
  func walls(cgroup: WallState, proof: [Canary.Finding]) -> [Wall: WallState] {
    func namespace(_ name: String, _ full: String) -> WallState {
      guard let failure = machine.failure(name) else { return WallState(.full, full) }
      return WallState(.absent, "\(failure.step): \(SystemCallError.message(failure.code))")
    }
    let rights = machine.landlockABI
    let states: [Wall: WallState] = [
      .userNamespace: namespace("user", "one unprivileged id, no capabilities"),
      .mountNamespace: namespace("mount", "an empty root with the run's own files and the runtime, read-only"),
      .pidNamespace: namespace("pid", "the runner is its only process"),
      .networkNamespace: namespace("network", "no interface but a loopback that is down"),
      .ipcNamespace: namespace("ipc", "shared among runners; no call that reaches it is allowed"),
      .utsNamespace: namespace("uts", "shared among runners"),
      .landlock: rights == 0
        ? WallState(.absent, "the kernel has no Landlock")
        : WallState(
          rights >= LandlockRights.firstWithScopes ? .full : .partial,
          "ABI \(rights)"
            + (rights >= LandlockRights.firstWithScopes ? "" : ": no scopes for signals and abstract sockets")),
      .seccomp: WallState(
        machine.hasListener ? .full : .partial,
        machine.hasListener
          ? "allow-list, denied calls are seen" : "allow-list; denied calls can't be seen on this kernel"),
      .rlimits: WallState(
        .full, "open files, file size, timers and signals, memory locks, core, CPU backstop, data at 4 GiB"),
      .cgroup: cgroup,
      .environment: WallState(.full, environment.map { $0.prefix { $0 != "=" } }.joined(separator: " ")),
      .descriptors: WallState(.full, "two channels, the output pipe and /dev/null"),
      .watchdog: WallState(.full, "wall and CPU time on a thread of its own, memory where no cgroup counts it"),
    ]
    return states.merging(disproved(by: proof, states)) { $1 }.merging(
      open.map { ($0, WallState(.absent, "left open on purpose")) }
    ) { $1 }
  }

  /// The walls whose limit the canary exceeded without being stopped, or couldn't try: a policy that requires those fails.
  private func disproved(by proof: [Canary.Finding], _ states: [Wall: WallState]) -> [(Wall, WallState)] {
    // The last of several for one wall counts: what was seen rather than what wasn't.
    (proof.filter { !$0.wasTried } + proof.filter(\.wasTried)).compactMap { finding in
      guard !finding.isInForce, let wall = finding.wall else { return nil }
      let bearer = wall == .cgroup && states[.cgroup]?.state != .full ? .watchdog : wall
      guard states[bearer]?.state != .absent else { return nil }
      guard finding.wasTried else { return (bearer, WallState(.partial, "\(finding.limit): \(finding.detail)")) }
      return (bearer, WallState(.absent, "\(finding.limit) isn't in force: \(finding.detail)"))
    }
  }
}
