internal import Glibc
internal import HostProtocol
internal import LinuxSystem
internal import Sandbox

/// Makes the plan of a load: looks up what its policy grants, and reads what else it goes by.
struct SpawnPlanner {
  let machine: Machine
  /// Whether the host maps the owners of files, and so hands over a descriptor for each.
  let handsOverMounts: Bool
  let hasCgroups: Bool

  /// `containers`: at least one. `isContainerInMemory`: the host made it for this run alone, and in memory.
  func plan(
    for request: LoadRequest, in containers: [LoadRequest.Container], isContainerInMemory: Bool
  ) throws(HostError) -> SpawnPlan {
    let policy = Self.lowered(request.policy)
    let writable = RunPath.writable(under: policy, containers: containers.map(\.path))
    let manifest = try request.options.manifest.map { (path) throws(HostError) in
      try Manifest.open(path, writable: writable)
    }
    try Self.check(policy)
    var options = SpawnPlan.Options()
    options.isExtension = request.options.isExtension
    options.isProof = request.options.isProof
    options.showsPrivate = request.options.showsPrivate
    options.reading = request.reading
    options.open = request.options.withoutWalls
    options.isBare = request.isBare
    options.trace = request.options.trace
    options.onReadyForDebugger = request.options.onReadyForDebugger
    options.sharesMemory = request.options.sharesMemory && !request.isBare
    options.hasMemoryCgroup = hasCgroups && !request.isBare && !options.open.contains(.cgroup)
    options.isContainerInMemory = isContainerInMemory
    options.handsOverMounts = handsOverMounts
    let plan = try SpawnPlan(
      image: request.image, policy: policy,
      containers: GroupContainers(
        containers.map { ($0.group, $0.path, $0.identity) }, hidesFiles: machine.hidesFiles),
      folders: try containers.map { (container) throws(HostError) in try container.folder() }, writable: writable,
      manifest: manifest, grants: try Grant.all(of: policy, writable: writable, machine: machine), machine: machine,
      options: options,
      surroundings: SpawnPlan.Surroundings(
        reading: machine, withEnvironment: options.open.contains(.environment), granted: policy.environment))
    try OwnCode.check(plan)
    try LateCode.check(plan)
    try Self.mark(plan, containers)
    return plan
  }

  /// What the plugin may write to, for later runs. Last of all: a run that is refused leaves nothing behind.
  private static func mark(_ plan: SpawnPlan, _ containers: [LoadRequest.Container]) throws(HostError) {
    let named = containers.compactMap { container in
      container.identity.map { (path: container.path, identity: $0, subject: container.path) }
    }
    let granted = plan.grants.filter(\.isWritable).map {
      (path: $0.path, identity: $0.identity, subject: "\($0.path), which the policy grants under 'write',")
    }
    for (path, identity, subject) in named + granted {
      let found = try RunPath(opening: path, writable: plan.writable, subject: subject)
      guard found.identity.isSameFile(as: identity) else {
        throw .input("\(path) was replaced while the plugin was loaded; load it again")
      }
      try found.mark()
    }
  }

  /// The plan of a run that isn't started, to tell what its walls would be.
  func plan(of image: PluginImage, _ policy: Policy) throws(HostError) -> SpawnPlan {
    let root = LoadRequest.Container(group: "", path: "/")
    return try SpawnPlan(
      image: image, policy: policy, containers: GroupContainers([("", "/", nil)], hidesFiles: machine.hidesFiles),
      folders: [try root.folder()], manifest: nil, machine: machine, options: .init(isBare: true),
      surroundings: SpawnPlan.Surroundings(reading: machine, withEnvironment: false))
  }

  /// A stricter limit of this user's is the plugin's, too, and a report names the one that is in force.
  static func lowered(
    _ policy: Policy, hardLimit: (Int32) -> UInt64 = { Files.hardLimit($0) }
  ) -> Policy {
    var policy = policy
    policy.limits.fileSize = min(policy.limits.fileSize, Int(clamping: hardLimit(Int32(RLIMIT_FSIZE.rawValue))))
    // The kernel takes a limit of no seconds as one of one second (setrlimit(2)).
    let seconds = max(hardLimit(Int32(RLIMIT_CPU.rawValue)), 1)
    // Before the kernel, whose SIGKILL says nothing of its reason.
    let longest = Duration.seconds(Int64(clamping: seconds)) - .milliseconds(100)
    policy.limits.cpu = min(policy.limits.cpu, longest)
    policy.limits.cpuTotal = min(policy.limits.cpuTotal, longest)
    return policy
  }

  /// What no file says, but a program may.
  private static func check(_ policy: Policy) throws(HostError) {
    guard (0...Policy.maxProcesses).contains(policy.processes) else {
      throw .usage("processes is \(policy.processes); it is a number from 0 to \(Policy.maxProcesses)")
    }
    for name in policy.systemCalls.refused {
      if let rejectionReason = Policy.rejectionReason(forRefusing: name) {
        throw .usage("systemCalls.refused: \(rejectionReason)")
      }
    }
    if let rejectionReason = policy.callRulesRejectionReason { throw .usage("systemCalls.rules: \(rejectionReason)") }
    guard policy.environment.count <= PolicyVariable.maxCount else {
      throw .usage("the policy gives more than \(PolicyVariable.maxCount) variables")
    }
    for variable in policy.environment {
      if let rejectionReason = variable.rejectionReason { throw .usage("environment: \(rejectionReason)") }
    }
    for (name, action) in policy.systemCalls.onDenied where !policy.systemCalls.refused.contains(name) {
      if let rejectionReason = Policy.rejectionReason(for: action, of: name) {
        throw .usage("systemCalls.onDenied: \(rejectionReason)")
      }
    }
    if let rejectionReason = policy.limits.rejectionReason { throw .usage(rejectionReason) }
    let maxOpen = Files.maxOpen
    // The default wasn't chosen by the caller, so it is lowered instead of being refused.
    guard policy.limits.openFiles <= maxOpen || policy.limits.openFiles == Limits().openFiles else {
      throw .usage("openFiles is \(policy.limits.openFiles), but this user may have at most \(maxOpen) (ulimit -Hn)")
    }
  }
}

extension SpawnPlan {
  /// What a plan goes by besides what was asked: read once for each.
  struct Surroundings: Sendable, Equatable {
    var isRoot = false
    /// `TZ=` and the time zone, where the host has one.
    var zone: [String] = []
    /// What the policy gives, with the host's values where it says none.
    var granted: [String] = []
    /// The host's own, for a run that is to have it.
    var environment: [String] = []
    /// What this user can't go beyond, by the numbers of setrlimit(2).
    var hardLimits: [Int32: UInt64] = [:]
    /// Which paths of the runtime are files and no folders.
    var runtimeFiles: Set<String> = []
  }
}

extension SpawnPlan.Surroundings {
  /// The resources that a plan limits.
  private static let resources = [
    RLIMIT_CPU, RLIMIT_FSIZE, RLIMIT_DATA, RLIMIT_CORE, RLIMIT_NOFILE, __RLIMIT_MEMLOCK, __RLIMIT_SIGPENDING,
    __RLIMIT_MSGQUEUE, __RLIMIT_NICE, __RLIMIT_RTPRIO,
  ]
  private static let longestZone = 1024

  init(reading machine: Machine, withEnvironment: Bool, granted variables: [PolicyVariable] = []) {
    isRoot = geteuid() == 0
    granted = variables.compactMap { variable in
      (variable.value ?? Self.value(of: variable.name)).map { "\(variable.name)=\($0)" }
    }
    zone = Self.zone
    if withEnvironment { environment = Self.hostEnvironment }
    for resource in Self.resources { hardLimits[Int32(resource.rawValue)] = Files.hardLimit(Int32(resource.rawValue)) }
    // Only Landlock's rules need what follows.
    guard machine.landlockABI > 0 else { return }
    runtimeFiles = machine.runtimePaths.filter { (try? Files.identity(of: $0))?.isRegularFile == true }
  }

  /// The longest rule that tzset(3) takes has some fifty bytes; what is longer is none.
  static var zone: [String] {
    guard let zone = getenv("TZ"), strnlen(zone, longestZone + 1) <= longestZone else { return [] }
    return ["TZ=\(String(cString: zone))"]
  }

  /// What is longer than a policy could say isn't passed on.
  private static func value(of name: String) -> String? {
    guard let value = getenv(name), strnlen(value, PolicyVariable.longest + 1) <= PolicyVariable.longest else {
      return nil
    }
    return String(cString: value)
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
}
