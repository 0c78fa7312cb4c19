internal import Basics
internal import CLinux
internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// What one run is to be: what its fork server is told, and what of its policy is in force. An immutable value that was
/// validated as it was made, and reads neither files nor the environment: `SpawnPlanner` does, and hands in what it read.
struct SpawnPlan {
  let image: PluginImage
  let policy: Policy
  /// In their order each has its place in the view.
  let containers: GroupContainers
  /// Their folders on the machine, in the same order.
  let folders: [PluginImage.File]
  /// Folders that plugins of this run may write to.
  let writable: [FileIdentity]
  let manifest: PluginImage.File?
  /// What the policy grants.
  let grants: [Grant]
  let machine: Machine
  let options: Options
  let surroundings: Surroundings
  /// Paths in the runner's view.
  let view: View
  let replacements = ReplacementFolder()

  /// What the caller wants besides the policy, and what the host has for the run.
  struct Options {
    /// Whether the library must publish a table of entry points.
    var isExtension = false
    /// Whether the extension's log shows what is private (`LoadOptions.showsPrivate`).
    var showsPrivate = false
    /// How long the host read the plugin's files for this load.
    var reading = Duration.zero
    /// Left open on purpose (`LoadOptions.withoutWalls`).
    var open: Set<Wall> = []
    /// Whether the kernel charges everything that the run uses.
    var hasMemoryCgroup = false
    /// Whether the host made the container for this run alone, and in memory.
    var isContainerInMemory = false
    /// Whether the host hands over a descriptor for everything that is attached.
    var handsOverMounts = false
    /// Who wants to see its system calls.
    var trace: SystemCallTrace?
    /// Whether host and runner share memory for calls (`LoadOptions.sharesMemory`).
    var sharesMemory = true
    /// The host's own, to prove its limits: no embedder's to count.
    var isProof = false
    /// No wall at all (`LoadOptions.withoutSandbox`, and the baseline of a benchmark).
    var isBare = false
    /// Who is told that a debugger may attach, before anything is loaded (`LoadOptions.onReadyForDebugger`).
    var onReadyForDebugger: (@Sendable (Int32) -> Void)?
  }

  struct View {
    var library: String
    var bundle: String
    var container: String
    var manifest: String
    var temporary: String
  }

  /// Throws `.usage` or `.input` for what can't be asked of a runner, and `.ended` where nothing would keep it from root's files.
  init(
    image: PluginImage, policy: Policy, containers: GroupContainers, folders: [PluginImage.File],
    writable: [FileIdentity] = [], manifest: PluginImage.File?, grants: [Grant] = [], machine: Machine,
    options: Options, surroundings: Surroundings
  ) throws(HostError) {
    self.image = image
    self.policy = policy
    self.containers = containers
    self.folders = folders
    self.writable = writable
    self.manifest = manifest
    self.grants = grants
    self.machine = machine
    self.options = options
    self.surroundings = surroundings
    view = View(of: image, containers, manifest, hidesFiles: machine.hidesFiles)
    try checkName()
    try refuseWithoutGuard()
    try refuseWithoutFilter()
    try refuseWithoutLandlock()
    try refuseWithoutNetwork()
    try refuseWithoutTree()
    try checkCount()
  }

  /// The plugin's home.
  var container: String { containers.places[0].path }

  /// Then what a plugin writes to memory isn't counted, and the container is a bounded filesystem of the run's own, which
  /// the host doesn't see.
  var boundsContainer: Bool { options.isContainerInMemory && machine.hidesFiles && !options.hasMemoryCgroup }

  /// Whether its owner may look into the runner. Root may always.
  var isReadable: Bool { (policy.observesFiles || options.onReadyForDebugger != nil) && !surroundings.isRoot }

  /// Whether the runner's filter hands calls to the host.
  var expectsListener: Bool { machine.hasListener && !options.open.contains(.seccomp) }

  /// Whether the runner reports each file that was to become longer than the limit allows. A program that a plugin starts would
  /// end by the signal for it.
  var tellsFileLimit: Bool { expectsListener && !policy.startsPrograms }

  /// What the filter would let through, and hands over to be seen.
  var tracedCalls: Set<String> {
    guard let trace = options.trace else { return [] }
    return trace.calls.union(
      SystemCalls.granted(
        connects: network != nil, makesProcesses: mayStartProcesses,
        startsPrograms: policy.startsPrograms && machine.hidesFiles))
  }

  /// Whether the host has more than one process to look after. Without walls nothing is counted.
  var mayStartProcesses: Bool { policy.processes > 0 && !options.isBare }

  /// nil: none. A run without walls has the machine's.
  var network: NetworkPlan? {
    guard policy.hasNetwork || policy.observation.network, !options.isBare else { return nil }
    return NetworkPlan(policy.network, sockets: policy.limits.openFiles * (1 + policy.processes))
  }

  /// What the runner is asked for once its walls are closed.
  var loadRequest: HostMessage.LoadRequest {
    HostMessage.LoadRequest(
      path: view.library, device: image.library.identity.device, inode: image.library.identity.inode,
      isExtension: options.isExtension, bundleIdentifier: image.bundleIdentifier, bundlePath: view.bundle,
      containers: containers.places.map { .init(group: $0.group, path: $0.view) })
  }

  // MARK: What is attached

  private static let readOnly = UInt32(OL_MOUNT_READ_ONLY | OL_MOUNT_NO_DEVICES)
  private static let noExecution = UInt32(OL_MOUNT_NO_EXEC)
  private static let data = noExecution | UInt32(OL_MOUNT_NO_DEVICES)
  /// Where code may be mapped late, it lies in what is for code, and nowhere else.
  private var noLateCode: UInt32 { policy.mapsCodeLater ? Self.noExecution : 0 }

  /// One thing to attach, before it is known whether the host or the fork server clones it.
  struct Part {
    var file: PluginImage.File?
    var target: String
    var attributes: UInt32
    var memory: UInt64 = 0
    var createsFile = false
    var mustMap = false
  }

  var parts: [Part] {
    var parts: [Part] = []
    if let bundle = image.bundle {
      parts.append(Part(file: bundle, target: view.bundle, attributes: Self.readOnly))
      parts.append(Part(file: image.library, target: view.library, attributes: Self.readOnly))
      for file in image.neighbours {
        let target = view.bundle + file.path.rest(after: bundle.path)
        if file.path.lies(below: bundle.path) {
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
    let temporary = noLateCode | (policy.writesTemporary ? 0 : UInt32(OL_MOUNT_READ_ONLY))
    parts.append(Part(file: nil, target: view.temporary, attributes: temporary, memory: temporaryBytes))
    let home = Self.data | (policy.writesContainer ? 0 : UInt32(OL_MOUNT_READ_ONLY))
    if boundsContainer {
      parts.append(Part(file: nil, target: view.container, attributes: home, memory: temporaryBytes))
    } else {
      for (folder, place) in zip(folders, containers.places) {
        parts.append(Part(file: folder, target: place.view, attributes: home, mustMap: true))
      }
    }
    if let manifest {
      parts.append(Part(file: manifest, target: view.manifest, attributes: Self.readOnly | Self.noExecution))
    }
    for grant in grants {
      parts.append(
        Part(
          file: PluginImage.File(path: grant.path, identity: grant.identity), target: grant.place,
          attributes: attributes(of: grant),
          mustMap: grant.isWritable))
    }
    return parts
  }

  private func attributes(of grant: Grant) -> UInt32 {
    if grant.isWritable { return Self.data }
    if grant.mapsCode { return Self.readOnly }
    // What a plugin may have written is never code, also while another one is loaded.
    return Self.readOnly | (grant.isPlugins ? Self.noExecution : noLateCode)
  }

  /// What of the view is mounted so that nothing in it is executed, or mapped as code.
  var placesWithoutExecution: [String] {
    parts.filter { $0.attributes & Self.noExecution != 0 }.map(\.target)
  }

  /// Where what is attached lies on the machine.
  var places: ViewPlaces {
    guard machine.hidesFiles else { return ViewPlaces([]) }
    return ViewPlaces(parts.compactMap { part in part.file.map { (part.target, $0.path) } })
  }

  /// The scratch directory is memory. Charged it may be as large as the limit; otherwise nothing else counts it.
  private var temporaryBytes: UInt64 {
    let limit = UInt64(max(policy.limits.memory, 65536))
    return options.hasMemoryCgroup ? limit : min(limit, 1 << 20)
  }

  var freshPoints: [String] {
    // The template has the first one's.
    containers.places.dropFirst().map { $0.view + "/" }
      + grants.map { $0.identity.isDirectory ? $0.place + "/" : $0.place }
  }

  /// What it may read of its bundle. Of the folder that a library of its own lies in, which may be a home, that is the library and
  /// what it needs by name; in a mount namespace there is nothing else in it.
  var bundlePaths: [String] {
    machine.hidesFiles || image.bundle != nil
      ? [view.bundle] : [image.library.path] + image.neighbours.map(\.path)
  }

  func landlock() -> SpawnRequest.Landlock? {
    guard machine.landlockABI > 0, !options.open.contains(.landlock) else { return nil }
    let rights = LandlockRights(abi: machine.landlockABI)
    var rules: [SpawnRequest.PathRule] = []
    for path in machine.runtimePaths {
      let isFile = surroundings.runtimeFiles.contains(path)
      rules.append(.init(path: path, rights: isFile ? rights.forFile(rights.readable) : rights.readable))
    }
    rules.append(.init(path: "/etc/ld.so.cache", rights: LandlockRights.readFile))
    if machine.hidesFiles { rules.append(.init(path: RunnerView.memoryMap, rights: LandlockRights.readFile)) }
    let devices = policy.devices
    if machine.hidesFiles, devices.count == PolicyDevice.allCases.count {
      rules.append(.init(path: "/dev", rights: rights.device))
    } else {
      for path in RunnerView.devices where devices.contains(where: { $0.path == path }) {
        rules.append(.init(path: path, rights: rights.device))
      }
    }
    for path in bundlePaths {
      rules.append(.init(path: path, rights: path == view.bundle ? rights.readable : rights.forFile(rights.readable)))
    }
    func own(_ isWritable: Bool) -> UInt64 {
      isWritable ? rights.writable : LandlockRights.readFile | LandlockRights.readDirectory
    }
    for place in containers.places { rules.append(.init(path: place.view, rights: own(policy.writesContainer))) }
    if view.temporary != view.container {
      rules.append(.init(path: view.temporary, rights: own(policy.writesTemporary)))
    }
    if network != nil {
      rules += RunnerView.networkFiles.map { .init(path: $0, rights: LandlockRights.readFile) }
    }
    if manifest != nil { rules.append(.init(path: view.manifest, rights: LandlockRights.readFile)) }
    for grant in grants {
      let granted =
        grant.isListed ? LandlockRights.readDirectory : grant.isWritable ? rights.writable : rights.readable
      rules.append(
        .init(path: grant.place, rights: grant.identity.isDirectory ? granted : rights.forFile(granted)))
    }
    // In a namespace that leads nowhere else, a connection that isn't listed is refused where the host sees it.
    let refused = network == nil ? rights.network : rights.network & LandlockRights.bindPort
    return .init(filesystem: rights.filesystem, network: refused, scoped: rights.scoped, rules: rules)
  }

  func limits() -> [SpawnRequest.ResourceLimit] {
    if options.open.contains(.rlimits) { return [] }
    let limits = policy.limits
    // The host can't give a plugin more than its own hard limit.
    func fixed(_ resource: __rlimit_resource, _ value: UInt64) -> SpawnRequest.ResourceLimit {
      let number = Int32(resource.rawValue)
      let limit = min(value, surroundings.hardLimits[number] ?? .max)
      return .init(resource: number, soft: limit, hard: limit)
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

  var environment: [String] {
    if options.open.contains(.environment) { return surroundings.environment }
    let entries = [
      "HOME=\(view.container)", "TMPDIR=\(view.temporary)", "LANG=C.UTF-8", "SWIFT_BACKTRACE=enable=no",
      // As many arenas as threads would each reserve, and touch, memory of their own.
      "MALLOC_ARENA_MAX=4", "\(ReplacementFolder.variable)=\(replacements.name)",
    ]
    // The last of a name counts: a policy may say another language or time zone, and no variable of the host's own.
    return entries + (options.showsPrivate ? ["OUTRIDER_SHOW_PRIVATE=1"] : []) + surroundings.zone
      + surroundings.granted
  }

  /// Landlock guards a file's length in newer kernels only, and without a mount namespace nothing else does.
  var refusesTruncation: Bool {
    !machine.hidesFiles && machine.landlockABI < LandlockRights.firstWithTruncation && !options.open.contains(.landlock)
  }

  var programOptions: SeccompProgram.Options {
    var program = SeccompProgram.Options()
    program.observesFiles = policy.observesFiles
    program.traced = tracedCalls
    program.refused = policy.systemCalls.refused
    program.rules = policy.systemCalls.rules
    program.connects = network != nil
    program.makesProcesses = mayStartProcesses
    program.startsPrograms = policy.startsPrograms && machine.hidesFiles
    program.killing = Set(policy.systemCalls.onDenied.filter { $0.value == .kill }.keys)
    program.hidesFiles = machine.hidesFiles
    program.refusesTruncation = refusesTruncation
    program.countsSharedMemory = !options.hasMemoryCgroup
    program.hasListener = machine.hasListener
    program.isolatesProcesses =
      machine.isolatesProcesses
      || machine.landlockABI >= LandlockRights.firstWithScopes && !options.open.contains(.landlock)
    return program
  }
}

extension SpawnPlan.View {
  fileprivate init(
    of image: PluginImage, _ containers: GroupContainers, _ manifest: PluginImage.File?, hidesFiles: Bool
  ) {
    let container = containers.places[0].view
    let root = image.bundle?.path ?? PluginImage.directory(of: image.library.path)
    if hidesFiles {
      let inside = image.library.path.rest(after: root)
      self.init(
        library: image.isSystemLibrary
          ? image.library.path : RunnerView.bundle + (inside.isAbsolutePath ? inside : "/" + inside),
        bundle: RunnerView.bundle, container: container, manifest: RunnerView.manifest,
        temporary: RunnerView.temporary)
    } else {
      self.init(
        library: image.library.path, bundle: root, container: container, manifest: manifest?.path ?? "",
        temporary: container)
    }
  }
}
